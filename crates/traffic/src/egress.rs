//! The device by which this node's packets to the peer leave, and the test for super-packets on it.

use std::io;

use sixbench_netlink::{Client, Link};

use crate::session::Endpoint;
use crate::{Error, Result};

/// A device that packets leave by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress {
    /// Its name.
    pub device: String,
    /// True if packets wait in a queue of it before they leave.
    pub has_queue: bool,
    /// True if it leads to another device of this node. The devices of tunnels and translators do, and their programs
    /// get packets before the kernel cuts any.
    pub leads_on: bool,
    /// True if it takes super-packets; else the kernel cuts them behind the queue, before the device (`gso_max_segs`
    /// 1).
    pub takes_super_packets: bool,
}

impl Egress {
    /// The present device of packets to the endpoint's peer.
    pub fn towards(endpoint: &Endpoint) -> Result<Self> {
        let link = || -> io::Result<Link> {
            let mut client = Client::open()?;
            let route = client.route(endpoint.peer, Some(endpoint.address.ip()), endpoint.address.interface())?;
            client.link(route.and_then(|route| route.link).ok_or(io::ErrorKind::NotFound)?)
        };
        link().and_then(|link| Self::of(link).ok_or_else(|| io::ErrorKind::InvalidData.into())).map_err(|error| {
            Error::system(format!("asking by which device packets to {} leave", endpoint.peer), "rtnetlink", error)
        })
    }

    fn of(link: Link) -> Option<Self> {
        Some(Self {
            device: link.name,
            has_queue: link.queue? != "noqueue",
            leads_on: link.joined_to.is_some(),
            takes_super_packets: link.max_segments? > 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv6Addr};

    use super::*;

    #[test]
    fn loopback_has_no_queue_and_takes_super_packets() {
        for address in [IpAddr::from([127, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let endpoint = Endpoint::on_loopback(address);
            let egress = Egress::towards(&endpoint).unwrap();
            assert_eq!(
                egress,
                Egress { device: "lo".into(), has_queue: false, leads_on: false, takes_super_packets: true }
            );
        }
    }

    #[test]
    fn a_device_that_gets_only_packets() {
        let link = Link {
            index: 7,
            name: "to-r1".into(),
            is_up: true,
            carrier_losses: None,
            queue: Some("tbf".into()),
            max_segments: Some(1),
            joined_to: None,
            ethernet: None,
            mtu_bytes: None,
            kind: None,
            hardware_type: 1,
        };
        let expected = Egress { device: "to-r1".into(), has_queue: true, leads_on: false, takes_super_packets: false };
        assert_eq!(Egress::of(link.clone()), Some(expected.clone()));
        assert_eq!(
            Egress::of(Link { joined_to: Some(8), ..link.clone() }),
            Some(Egress { leads_on: true, ..expected })
        );
        assert_eq!(Egress::of(Link { max_segments: None, ..link }), None);
    }
}

//! The device by which this node's packets to the peer leave, and whether super-packets would cross it (rtnetlink(7)).

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::session::Endpoint;
use crate::{Error, Result};

/// `linux/rtnetlink.h`, `linux/if_link.h`, `linux/netlink.h`.
const NETLINK_ROUTE: i32 = 0;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const IFLA_IFNAME: u16 = 3;
const IFLA_QDISC: u16 = 6;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const HEADER_BYTES: usize = 16;
const ROUTE_BYTES: usize = 12;
const LINK_BYTES: usize = 16;
/// The kernel answers within the call that asks; this is for the case that it does not.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
/// More than the description of any device.
const ANSWER_BYTES: usize = 64 << 10;

/// A device that packets leave by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress {
    /// Its name.
    pub device: String,
    /// Whether packets wait in a queue of it before they leave.
    pub has_queue: bool,
    /// Whether it takes super-packets; else the kernel cuts them behind the queue, before the device (`gso_max_segs` 1).
    pub takes_super_packets: bool,
}

impl Egress {
    /// That to the endpoint's peer, now.
    pub fn towards(endpoint: &Endpoint) -> Result<Self> {
        let doing = || format!("asking by which device packets to {} leave", endpoint.peer);
        let failed = |e: io::Error| Error::system(doing(), "rtnetlink", e);
        let route = ask(&route_request(endpoint.peer, endpoint.address)).map_err(failed)?;
        let index = attribute(&route, libc::RTM_NEWROUTE, ROUTE_BYTES, RTA_OIF).and_then(number);
        let index = index.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let link = ask(&link_request(index)).map_err(failed)?;
        Self::parse(&link).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))
    }

    fn parse(link: &[u8]) -> Option<Self> {
        let value = |kind| attribute(link, libc::RTM_NEWLINK, LINK_BYTES, kind);
        Some(Self {
            device: value(IFLA_IFNAME).map(text)?,
            has_queue: value(IFLA_QDISC).map(text)? != "noqueue",
            takes_super_packets: value(IFLA_GSO_MAX_SEGS).and_then(number)? > 1,
        })
    }
}

fn ask(request: &[u8]) -> io::Result<Vec<u8>> {
    let mut socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(NETLINK_ROUTE)))?;
    socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
    socket.write_all(request)?;
    let mut answer = vec![0; ANSWER_BYTES];
    let length = socket.read(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// RTM_GETROUTE: `struct rtmsg`, and both addresses.
fn route_request(to: IpAddr, from: IpAddr) -> Vec<u8> {
    let (family, bits) = if to.is_ipv4() { (libc::AF_INET, 32) } else { (libc::AF_INET6, 128) };
    let mut body = vec![family as u8, bits, bits];
    body.resize(ROUTE_BYTES, 0);
    for (kind, address) in [(RTA_DST, to), (RTA_SRC, from)] {
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        body.extend((4 + octets.len() as u16).to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(octets);
    }
    message(libc::RTM_GETROUTE, &body)
}

/// RTM_GETLINK: `struct ifinfomsg`.
fn link_request(index: u32) -> Vec<u8> {
    let mut body = vec![0; LINK_BYTES];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    message(libc::RTM_GETLINK, &body)
}

/// `struct nlmsghdr`: length, type, flags, sequence number, port; and the body.
fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut message = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// An attribute of an answer of that type, whose fixed part has this length.
fn attribute(answer: &[u8], answer_kind: u16, fixed_bytes: usize, kind: u16) -> Option<&[u8]> {
    let short = |bytes: &[u8]| bytes.first_chunk().map(|&bytes| u16::from_ne_bytes(bytes));
    if answer.get(4..6).and_then(short)? != answer_kind {
        return None;
    }
    let mut rest = answer.get(HEADER_BYTES + fixed_bytes..)?;
    loop {
        let length = usize::from(short(rest)?);
        let found = rest.get(2..4).and_then(short)?;
        let value = rest.get(4..length)?;
        if found == kind {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn loopback_has_no_queue_and_takes_super_packets() {
        for address in [IpAddr::from([127, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let endpoint = Endpoint::on_loopback(address);
            let egress = Egress::towards(&endpoint).unwrap();
            assert_eq!(egress, Egress { device: "lo".into(), has_queue: false, takes_super_packets: true });
        }
    }

    #[test]
    fn a_device_that_gets_only_packets() {
        let mut link = message(libc::RTM_NEWLINK, &[0; LINK_BYTES]);
        for (kind, value) in
            [(IFLA_IFNAME, &b"to-r1\0"[..]), (IFLA_QDISC, b"tbf\0"), (IFLA_GSO_MAX_SEGS, &[1, 0, 0, 0])]
        {
            link.extend((4 + value.len() as u16).to_ne_bytes());
            link.extend(kind.to_ne_bytes());
            link.extend(value);
            link.resize(link.len().next_multiple_of(4), 0);
        }
        let expected = Egress { device: "to-r1".into(), has_queue: true, takes_super_packets: false };
        assert_eq!(Egress::parse(&link), Some(expected));
        for length in 0..link.len() - 1 {
            assert_eq!(Egress::parse(&link[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(mut answer in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(kind) = answer.get_mut(4..6) {
                kind.copy_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
            }
            Egress::parse(&answer);
        }
    }
}

//! Interfaces: `linux/if_link.h`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::Client;
use crate::message::{Attributes, NetlinkRequest, half, number};

/// `struct ifinfomsg`: family, type, index, flags, change.
const LINK_BYTES: usize = 16;
const TYPE_AT: usize = 2;
const INDEX_AT: usize = 4;
const FLAGS_AT: usize = 8;
/// `linux/if_link.h`: attributes of an interface that it is of a kind. Not in the `libc` crate.
const IFLA_INFO_KIND: u16 = 1;

/// An interface. Properties that the kernel does not tell are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number in the namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// True if the interface is set up (`IFF_UP`).
    pub is_up: bool,
    /// Number of times it has lost its carrier since it was made (Linux 4.16): a veth does when either end is set down.
    pub carrier_losses: Option<u32>,
    /// The kind of its queueing discipline, such as `tbf`.
    pub queue: Option<String>,
    /// Number of packets into which a super-packet may be cut that it takes; 1: it takes none.
    pub max_segments: Option<u32>,
    /// The interface of the same namespace that it is joined to: a veth's other end, or what it stands on.
    pub joined_to: Option<u32>,
    /// Its Ethernet address; absent where it has no such link layer (`ARPHRD_ETHER`).
    pub ethernet: Option<[u8; 6]>,
    /// Its MTU.
    pub mtu_bytes: Option<u32>,
    /// The kind of a device that the kernel makes, such as `veth` or `wireguard`; absent of hardware.
    pub kind: Option<String>,
    /// The type of its link layer (`ARPHRD_`).
    pub hardware_type: u16,
}

impl Link {
    /// Reads a `struct ifinfomsg` with its attributes.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let attributes = Attributes::after(LINK_BYTES, body)?;
        Some(Self {
            index: number(body, INDEX_AT)?,
            name: attributes.text(libc::IFLA_IFNAME)?,
            is_up: number(body, FLAGS_AT)? & libc::IFF_UP as u32 != 0,
            carrier_losses: attributes.number(libc::IFLA_CARRIER_DOWN_COUNT),
            queue: attributes.text(libc::IFLA_QDISC),
            max_segments: attributes.number(libc::IFLA_GSO_MAX_SEGS),
            joined_to: attributes
                .number(libc::IFLA_LINK)
                .filter(|index| *index != 0 && attributes.get(libc::IFLA_LINK_NETNSID).is_none()),
            ethernet: is_ethernet(body).then(|| attributes.get(libc::IFLA_ADDRESS)).flatten().and_then(six),
            mtu_bytes: attributes.number(libc::IFLA_MTU),
            kind: attributes
                .get(libc::IFLA_LINKINFO)
                .and_then(|about| Attributes::after(0, about))
                .and_then(|about| about.text(IFLA_INFO_KIND)),
            hardware_type: half(body, TYPE_AT)?,
        })
    }
}

/// True if the type of a `struct ifinfomsg` is Ethernet.
fn is_ethernet(body: &[u8]) -> bool {
    half(body, TYPE_AT) == Some(libc::ARPHRD_ETHER)
}

/// An Ethernet address.
pub(crate) fn six(bytes: &[u8]) -> Option<[u8; 6]> {
    bytes.try_into().ok()
}

impl Client {
    /// The namespace's interfaces, as `ip -s -d link` asks for them.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        let request = NetlinkRequest::new(libc::RTM_GETLINK, &[0; LINK_BYTES]);
        self.dump(request, libc::RTM_NEWLINK, |body| links.extend(Link::parse(body)))?;
        Ok(links)
    }

    /// The interface of that index.
    pub fn link(&mut self, index: u32) -> io::Result<Link> {
        let mut structure = [0; LINK_BYTES];
        structure[INDEX_AT..FLAGS_AT].copy_from_slice(&index.to_ne_bytes());
        self.ask(NetlinkRequest::new(libc::RTM_GETLINK, &structure), libc::RTM_NEWLINK, Link::parse)
    }

    /// Moves the interface of that index to another namespace, down. There it has the name and the number that it had,
    /// if they are free.
    pub fn move_to(&mut self, index: u32, namespace: BorrowedFd) -> io::Result<()> {
        let mut structure = [0; LINK_BYTES];
        structure[INDEX_AT..FLAGS_AT].copy_from_slice(&index.to_ne_bytes());
        let request = NetlinkRequest::new(libc::RTM_SETLINK, &structure);
        self.change(request.with(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's description of an interface `e0` that is up and has lost its carrier 3 times.
    fn e0() -> NetlinkRequest {
        let structure: Vec<u8> = [0_u32, 7, 0x1043, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        NetlinkRequest::new(libc::RTM_NEWLINK, &structure)
            .with(libc::IFLA_IFNAME, b"e0\0")
            .with(libc::IFLA_QDISC, b"tbf\0")
            .with(libc::IFLA_CARRIER_DOWN_COUNT, &3_u32.to_ne_bytes())
            .with(libc::IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes())
    }

    #[test]
    fn an_interface_is_read() {
        let link = Link {
            index: 7,
            name: "e0".to_owned(),
            is_up: true,
            carrier_losses: Some(3),
            queue: Some("tbf".to_owned()),
            max_segments: Some(1),
            joined_to: None,
            ethernet: None,
            mtu_bytes: None,
            kind: None,
            hardware_type: 0,
        };
        assert_eq!(Link::parse(e0().body()), Some(link.clone()));
        let kind = [&9_u16.to_ne_bytes()[..], &IFLA_INFO_KIND.to_ne_bytes(), b"veth\0"].concat();
        let of_kind = e0().with(libc::IFLA_MTU, &1_500_u32.to_ne_bytes()).with(libc::IFLA_LINKINFO, &kind);
        let expected = Link { mtu_bytes: Some(1_500), kind: Some("veth".to_owned()), ..link.clone() };
        assert_eq!(Link::parse(of_kind.body()), Some(expected));
        let joined = |index: u32| e0().with(libc::IFLA_LINK, &index.to_ne_bytes());
        assert_eq!(Link::parse(joined(8).body()), Some(Link { joined_to: Some(8), ..link.clone() }));
        assert_eq!(Link::parse(joined(0).body()), Some(link.clone()));
        let elsewhere = joined(8).with(libc::IFLA_LINK_NETNSID, &0_u32.to_ne_bytes());
        assert_eq!(Link::parse(elsewhere.body()), Some(link.clone()));
        let mut older = e0().body()[..LINK_BYTES + 8].to_vec();
        older[FLAGS_AT..LINK_BYTES].fill(0);
        let expected = Link { is_up: false, carrier_losses: None, queue: None, max_segments: None, ..link };
        assert_eq!(Link::parse(&older), Some(expected));
    }

    #[test]
    fn this_machine_has_a_loopback() {
        let mut client = Client::open().expect("a socket");
        let links = client.links().expect("a dump");
        let loopback = links.iter().find(|link| link.name == "lo").expect("a loopback");
        assert_eq!(client.link(loopback.index).expect("an answer").name, "lo");
        assert_eq!(client.link(u32::MAX).map_err(|error| error.raw_os_error()), Err(Some(libc::EINVAL)));
    }
}

//! Routes, and the removal of all that the kernel has learned about them by ICMP.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use crate::Client;
use crate::message::{Attributes, NetlinkRequest, number};

/// `struct rtmsg`: family, lengths of destination and source, TOS, table, protocol, scope, type, flags.
const ROUTE_BYTES: usize = 12;
const KIND_AT: usize = 7;
const FLAGS_AT: usize = 8;
/// A gateway of another family than the destination's (Linux 5.2). Not in the `libc` crate.
const RTA_VIA: u16 = 18;
/// `linux/rtnetlink.h`: the MTU among the metrics of a route. Not in the `libc` crate.
const RTAX_MTU: u16 = 2;
/// The errors by which the kernel refuses to send there: no route, or one that is unreachable, prohibited or a black
/// hole (`fib_props`).
const NO_WAY: [i32; 4] = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES, libc::EINVAL];

/// The route that a namespace has for packets to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The kind of the route.
    pub kind: RouteKind,
    /// The index of the interface by which they leave.
    pub link: Option<u32>,
    /// True if a gateway gets the packets, rather than the host with the address.
    pub has_gateway: bool,
    /// The gateway's address.
    pub gateway: Option<IpAddr>,
    /// The address that packets are sent from.
    pub source: Option<IpAddr>,
    /// The MTU of the route, where it has one of its own.
    pub mtu_bytes: Option<u32>,
}

/// The kind of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// Packets are sent.
    Unicast,
    /// The address is the node's own.
    Local,
    /// Something else, such as being dropped.
    Other,
}

impl Route {
    /// Reads a `struct rtmsg` with its attributes.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let attributes = Attributes::after(ROUTE_BYTES, body)?;
        Some(Self {
            kind: match *body.get(KIND_AT)? {
                libc::RTN_UNICAST => RouteKind::Unicast,
                libc::RTN_LOCAL => RouteKind::Local,
                _ => RouteKind::Other,
            },
            link: attributes.number(libc::RTA_OIF),
            has_gateway: [libc::RTA_GATEWAY, RTA_VIA].iter().any(|&kind| attributes.get(kind).is_some()),
            // `struct rtvia` has the family before the address.
            gateway: attributes
                .get(libc::RTA_GATEWAY)
                .or_else(|| attributes.get(RTA_VIA).and_then(|via| via.get(2..)))
                .and_then(address),
            source: attributes.get(libc::RTA_PREFSRC).and_then(address),
            mtu_bytes: attributes
                .get(libc::RTA_METRICS)
                .and_then(|metrics| Attributes::after(0, metrics))
                .and_then(|metrics| metrics.number(RTAX_MTU)),
        })
    }

    /// The interface by which packets leave, where they are for somebody on its link or behind it.
    pub fn through(&self) -> Option<u32> {
        self.link.filter(|_| self.kind == RouteKind::Unicast)
    }

    /// The interface by which packets leave, where no gateway gets them.
    pub fn on_link(&self) -> Option<u32> {
        self.through().filter(|_| !self.has_gateway)
    }
}

impl Client {
    /// The route of packets to `to`, with that source address or by that interface where they are given. `None`: the
    /// namespace does not send them.
    pub fn route(&mut self, to: IpAddr, from: Option<IpAddr>, link: Option<u32>) -> io::Result<Option<Route>> {
        let mut structure = [0; ROUTE_BYTES];
        let (family, bits) = if to.is_ipv4() { (libc::AF_INET, 32) } else { (libc::AF_INET6, 128) };
        structure[..3].copy_from_slice(&[family as u8, bits, if from.is_some() { bits } else { 0 }]);
        let mut request = with_address(NetlinkRequest::new(libc::RTM_GETROUTE, &structure), libc::RTA_DST, to);
        if let Some(from) = from {
            request = with_address(request, libc::RTA_SRC, from);
        }
        if let Some(link) = link {
            request = request.with(libc::RTA_OIF, &link.to_ne_bytes());
        }
        match self.ask(request, libc::RTM_NEWROUTE, Route::parse) {
            Err(error) if error.raw_os_error().is_some_and(|errno| NO_WAY.contains(&errno)) => Ok(None),
            route => route.map(Some),
        }
    }

    /// Has the kernel forget what it has learned of the path to `to`, as `ip -6 route flush cache` does. Returns true
    /// if there was something to forget.
    pub fn forget_path(&mut self, to: Ipv6Addr) -> io::Result<bool> {
        let mut structure = [0; ROUTE_BYTES];
        structure[..5].copy_from_slice(&[libc::AF_INET6 as u8, 128, 0, 0, libc::RT_TABLE_MAIN]);
        structure[FLAGS_AT..].copy_from_slice(&libc::RTM_F_CLONED.to_ne_bytes());
        let request = NetlinkRequest::new(libc::RTM_DELROUTE, &structure);
        self.forget(request.with(libc::RTA_DST, &to.octets()))
    }

    /// Has the kernel forget what it has learned of all IPv6 paths. Returns the number of forgotten routes.
    ///
    /// Nothing else than deleting them one by one does it (`net.ipv6.route.flush` only removes those that have
    /// expired).
    pub fn forget_ipv6_paths(&mut self) -> io::Result<usize> {
        let mut structure = [0; ROUTE_BYTES];
        structure[0] = libc::AF_INET6 as u8;
        structure[FLAGS_AT..].copy_from_slice(&libc::RTM_F_CLONED.to_ne_bytes());
        let mut exceptions = Vec::new();
        self.dump(NetlinkRequest::new(libc::RTM_GETROUTE, &structure), libc::RTM_NEWROUTE, |body| {
            exceptions.extend(is_exception(body).then(|| body.to_vec()));
        })?;
        for exception in &exceptions {
            self.forget(NetlinkRequest::new(libc::RTM_DELROUTE, exception))?;
        }
        Ok(exceptions.len())
    }

    fn forget(&mut self, request: NetlinkRequest) -> io::Result<bool> {
        match self.change(request) {
            // There is none, or it has expired meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            done => done.map(|()| true),
        }
    }
}

pub(crate) fn with_address(request: NetlinkRequest, kind: u16, address: IpAddr) -> NetlinkRequest {
    match address {
        IpAddr::V4(address) => request.with(kind, &address.octets()),
        IpAddr::V6(address) => request.with(kind, &address.octets()),
    }
}

/// An address of either family.
pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let of_four = <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    of_four.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

/// A route that ICMP made. The kernel may dump all other routes too, and those of IPv4 where it has no IPv6.
fn is_exception(body: &[u8]) -> bool {
    body.first() == Some(&(libc::AF_INET6 as u8))
        && number(body, FLAGS_AT).is_some_and(|flags| flags & libc::RTM_F_CLONED != 0)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const OIF: (u16, &[u8]) = (libc::RTA_OIF, &7_u32.to_ne_bytes());

    fn route(kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut structure = [0; ROUTE_BYTES];
        structure[KIND_AT] = kind;
        let request = NetlinkRequest::new(libc::RTM_NEWROUTE, &structure);
        attributes.iter().fold(request, |request, (kind, value)| request.with(*kind, value)).body().to_vec()
    }

    #[test]
    fn routes_are_told_apart() {
        let read = |body: &[u8]| Route::parse(body).map(|route| (route.kind, route.through(), route.on_link()));
        let on_link = route(libc::RTN_UNICAST, &[(99, &[1]), OIF]);
        assert_eq!(read(&on_link), Some((RouteKind::Unicast, Some(7), Some(7))));
        for gateway in [libc::RTA_GATEWAY, RTA_VIA] {
            let behind = route(libc::RTN_UNICAST, &[OIF, (gateway, &[0; 16])]);
            assert_eq!(read(&behind), Some((RouteKind::Unicast, Some(7), None)));
        }
        assert_eq!(read(&route(libc::RTN_LOCAL, &[OIF])), Some((RouteKind::Local, None, None)));
        assert_eq!(read(&route(libc::RTN_UNREACHABLE, &[OIF])), Some((RouteKind::Other, None, None)));
    }

    #[test]
    fn the_nodes_own_addresses_are_local() {
        let mut client = Client::open().expect("a socket");
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            for from in [None, Some(address)] {
                let route = client.route(address, from, None).expect("an answer").expect("a route");
                assert_eq!(route.kind, RouteKind::Local);
            }
        }
    }

    #[test]
    fn only_exceptions_of_ipv6_are_deleted() {
        let route = |family: i32, flags: u32| [&[family as u8, 0, 0, 0, 0, 0, 0, 0][..], &flags.to_ne_bytes()].concat();
        assert!(is_exception(&route(libc::AF_INET6, libc::RTM_F_CLONED | 1)));
        assert!(!is_exception(&route(libc::AF_INET6, 0)));
        assert!(!is_exception(&route(libc::AF_INET, libc::RTM_F_CLONED)));
        assert!(!is_exception(&[libc::AF_INET6 as u8; 3]));
    }
}

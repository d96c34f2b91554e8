//! The path MTU that the kernel knows: asks for it, and makes the kernel forget it.

use std::fs;
use std::io;
use std::net::IpAddr;

use sixbench_netlink::Client;
use socket2::Socket;

use crate::df::Df;
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::{Error, Result, datagram_socket, sys};

/// The path MTU to the peer as the kernel knows it: that of the route, or less where it has learned so (`IP_MTU`,
/// `IPV6_MTU` of a connected socket). Nothing is sent.
pub fn known_bytes(endpoint: &Endpoint) -> Result<u32> {
    // A new socket: one that was connected before keeps the route as it was, also when that has become obsolete.
    let socket = datagram_socket::udp(endpoint.address, Buffers::default(), Df::Kernel)?;
    datagram_socket::connect(&socket, (endpoint.peer, endpoint.port))?;
    of_connected(&socket, endpoint.address.is_ipv6())
        .map_err(|e| Error::system(format!("asking for the path MTU to {}", endpoint.peer), "getsockopt(MTU)", e))
}

/// The path MTU of a connected socket, with what the kernel has learned from errors about its own datagrams.
pub fn of_connected(socket: &Socket, is_ipv6: bool) -> io::Result<u32> {
    let (level, name) = if is_ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    let mut value = [0; 4];
    sys::socket_option(socket, level, name, &mut value)?;
    Ok(u32::from_ne_bytes(value))
}

/// Has the kernel forget what it has learned of the path MTU to the peer; over IPv4 that is to all destinations, for
/// the kernel can only forget all. Needs CAP_NET_ADMIN; a failure says that it may not, and leaves things as they are.
pub fn forget(peer: IpAddr) -> io::Result<()> {
    match peer {
        IpAddr::V4(_) => forget_ipv4(),
        IpAddr::V6(peer) => Client::open()?.forget_path(peer).map(|_| ()),
    }
}

/// Whatever is written: the kernel counts up the generation of the namespace's routes, and what was learned in an
/// earlier one is void (`rt_cache_flush`), as by `ip route flush cache`.
pub const FLUSH_IPV4: &str = "/proc/sys/net/ipv4/route/flush";

/// Has the kernel forget all IPv4 path MTUs and redirects of the namespace.
pub fn forget_ipv4() -> io::Result<()> {
    fs::write(FLUSH_IPV4, "-1")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn the_mtu_of_loopback_is_known() {
        // No IPv4 packet is longer.
        for (address, mtu) in [(IpAddr::from([127, 0, 0, 1]), 65_535), (IpAddr::V6(Ipv6Addr::LOCALHOST), 65_536)] {
            let endpoint = Endpoint::on_loopback(address);
            assert_eq!(known_bytes(&endpoint).unwrap(), mtu);
        }
    }
}

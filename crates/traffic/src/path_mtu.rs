//! The path MTU as the kernel knows it: asked for, and forgotten.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::df::Df;
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::{Error, Result, datagram_socket, sys};

/// What the kernel takes for the path MTU to the peer: that of the route, or less where it has learned so (`IP_MTU`,
/// `IPV6_MTU` of a connected socket). Nothing is sent.
pub fn known_bytes(endpoint: &Endpoint) -> Result<u32> {
    // A new socket: one that was connected before keeps the route as it was, also when that has become obsolete.
    let socket = datagram_socket::udp(endpoint.address, Buffers::default(), Df::Kernel)?;
    datagram_socket::connect(&socket, endpoint.peer, endpoint.port)?;
    of_connected(&socket, endpoint.address.is_ipv6())
        .map_err(|e| Error::system(format!("asking for the path MTU to {}", endpoint.peer), "getsockopt(MTU)", e))
}

/// The path MTU by which a connected socket goes: what errors about its own datagrams said is in it.
pub fn of_connected(socket: &Socket, is_ipv6: bool) -> io::Result<u32> {
    let (level, name) = if is_ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    let mut value = [0; 4];
    sys::socket_option(socket, level, name, &mut value)?;
    Ok(u32::from_ne_bytes(value))
}

/// Has the kernel forget what it has learned of the path MTU to the peer; over IPv4 that is to all destinations, for the
/// kernel can only forget all. Needs CAP_NET_ADMIN; a failure says that it may not, and leaves things as they are.
pub fn forget(peer: IpAddr) -> io::Result<()> {
    match peer {
        // As `ip route flush cache` does it.
        IpAddr::V4(_) => fs::write("/proc/sys/net/ipv4/route/flush", "-1"),
        IpAddr::V6(peer) => forget_ipv6(peer),
    }
}

/// `NETLINK_ROUTE`, and `linux/rtnetlink.h`.
const NETLINK_ROUTE: i32 = 0;
const RT_TABLE_MAIN: u8 = 254;
const RTA_DST: u16 = 1;
const HEADER_BYTES: usize = 16;
/// The answer comes at once; this is for a kernel that gives none.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// As `ip -6 route flush cache` does it for each: the deletion of a route that was cloned for one destination.
fn forget_ipv6(peer: Ipv6Addr) -> io::Result<()> {
    let mut socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(NETLINK_ROUTE)))?;
    socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
    socket.write_all(&deletion(peer))?;
    let mut answer = [0; 128];
    let length = socket.read(&mut answer)?;
    // NLMSG_ERROR: the header, then 0 or a negative errno.
    let error = answer.get(..length).and_then(|answer| answer.get(HEADER_BYTES..)?.first_chunk());
    match error.map(|error| i32::from_ne_bytes(*error)) {
        // There was nothing to forget.
        Some(0) => Ok(()),
        Some(error) if error == -libc::ESRCH => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// RTM_DELROUTE with RTM_F_CLONED, of the main table.
fn deletion(peer: Ipv6Addr) -> Vec<u8> {
    let mut message = Vec::new();
    // struct nlmsghdr: length (below), type, flags, sequence number, port.
    message.extend_from_slice(&0_u32.to_ne_bytes());
    message.extend_from_slice(&libc::RTM_DELROUTE.to_ne_bytes());
    message.extend_from_slice(&((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    // struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type, flags.
    message.extend_from_slice(&[libc::AF_INET6 as u8, 128, 0, 0, RT_TABLE_MAIN, 0, 0, 0]);
    message.extend_from_slice(&libc::RTM_F_CLONED.to_ne_bytes());
    // struct rtattr: length, type, and the destination.
    message.extend_from_slice(&20_u16.to_ne_bytes());
    message.extend_from_slice(&RTA_DST.to_ne_bytes());
    message.extend_from_slice(&peer.octets());
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

#[cfg(test)]
mod tests {
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

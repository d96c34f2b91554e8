//! What a tunnel says to those whose packets it cannot carry.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sixbench_wire::checksum;
use socket2::{Domain, Protocol, Socket, Type};

use super::rules::Inner;

/// How much of a packet an ICMPv6 error quotes: what fits 1280 bytes. RFC 4443 section 2.4.
const QUOTED_IPV6_BYTES: usize = 1280 - 40 - 8;
/// RFC 1812 section 4.3.2.3.
const QUOTED_IPV4_BYTES: usize = 576 - 20 - 8;

/// Tells the source that its packet is longer than the tunnel now takes: RFC 8201, RFC 1191. The kernel chooses the source address and the way.
pub fn too_big(packet: &[u8], inner: &Inner, mtu_bytes: u32) -> io::Result<()> {
    if inner.version == 6 {
        // RFC 8200 section 5.
        let mtu_bytes = mtu_bytes.max(1280);
        let mut message = vec![2, 0, 0, 0];
        message.extend(mtu_bytes.to_be_bytes());
        message.extend(&packet[..packet.len().min(QUOTED_IPV6_BYTES)]);
        // The kernel writes ICMPv6 checksums: RFC 3542 section 3.1.
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        send(&socket, &message, Ipv6Addr::from(inner.source.0).into())
    } else {
        let mut message = vec![3, 4, 0, 0, 0, 0];
        message.extend(u16::try_from(mtu_bytes).unwrap_or(u16::MAX).to_be_bytes());
        message.extend(&packet[..packet.len().min(QUOTED_IPV4_BYTES)]);
        let sum = checksum::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        let [a, b, c, d, ..] = inner.source.0;
        send(&socket, &message, Ipv4Addr::new(a, b, c, d).into())
    }
}

/// Tells the source that the tunnel's path does not carry its packet: RFC 4213 section 3.4, RFC 2473 section 8. Of the carrier's errors only
/// unreachable and exceeded ones are passed on; that a packet is too long, the kernel remembers and the next packet is told.
pub fn unreachable(packet: &[u8], inner: &Inner) -> io::Result<()> {
    if inner.version == 6 {
        let mut message = vec![1, 3, 0, 0, 0, 0, 0, 0]; // Address unreachable.
        message.extend(&packet[..packet.len().min(QUOTED_IPV6_BYTES)]);
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        send(&socket, &message, Ipv6Addr::from(inner.source.0).into())
    } else {
        let mut message = vec![3, 1, 0, 0, 0, 0, 0, 0]; // Host unreachable.
        message.extend(&packet[..packet.len().min(QUOTED_IPV4_BYTES)]);
        let sum = checksum::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        let [a, b, c, d, ..] = inner.source.0;
        send(&socket, &message, Ipv4Addr::new(a, b, c, d).into())
    }
}

fn send(socket: &Socket, message: &[u8], to: IpAddr) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.send_to(message, &SocketAddr::new(to, 0).into()).map(|_| ())
}

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

/// The message to the source of a packet that is longer than the tunnel now takes: RFC 8201, RFC 1191.
pub fn too_big(packet: &[u8], inner: &Inner, mtu_bytes: u32) -> Vec<u8> {
    if inner.version == 6 {
        // RFC 8200 section 5.
        message([2, 0], mtu_bytes.max(1280).to_be_bytes(), packet, inner)
    } else {
        let [high, low] = u16::try_from(mtu_bytes).unwrap_or(u16::MAX).to_be_bytes();
        message([3, 4], [0, 0, high, low], packet, inner)
    }
}

/// The message to the source of a packet that the tunnel's path does not carry: RFC 4213 section 3.4, RFC 2473 section 8. Address unreachable, host
/// unreachable.
pub fn unreachable(packet: &[u8], inner: &Inner) -> Vec<u8> {
    message(if inner.version == 6 { [1, 3] } else { [3, 1] }, [0; 4], packet, inner)
}

/// Sends a message to the source of a packet. The kernel chooses the source address and the way.
pub fn send(message: &[u8], inner: &Inner) -> io::Result<()> {
    let (domain, protocol, to): (_, _, IpAddr) = if inner.version == 6 {
        (Domain::IPV6, Protocol::ICMPV6, Ipv6Addr::from(inner.source.0).into())
    } else {
        let [a, b, c, d, ..] = inner.source.0;
        (Domain::IPV4, Protocol::ICMPV4, Ipv4Addr::new(a, b, c, d).into())
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.set_nonblocking(true)?;
    socket.send_to(message, &SocketAddr::new(to, 0).into()).map(|_| ())
}

/// Type and code, the second word, and the beginning of the packet.
fn message(kind: [u8; 2], rest: [u8; 4], packet: &[u8], inner: &Inner) -> Vec<u8> {
    let quoted_bytes = if inner.version == 6 { QUOTED_IPV6_BYTES } else { QUOTED_IPV4_BYTES };
    let mut message = vec![kind[0], kind[1], 0, 0];
    message.extend(rest);
    message.extend(&packet[..packet.len().min(quoted_bytes)]);
    if inner.version == 4 {
        // ICMPv6's is the kernel's to write: RFC 3542 section 3.1.
        let sum = checksum::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    message
}

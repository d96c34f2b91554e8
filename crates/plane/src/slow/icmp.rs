//! What a tunnel says to those whose packets it cannot carry.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sixbench_wire::checksum;
use sixbench_wire::icmp::{V4Repr, V6Repr};
use socket2::{Domain, Protocol, Socket, Type};

use super::rules::Inner;

/// How much of a packet an ICMPv6 error quotes: what fits 1280 bytes. RFC 4443 section 2.4.
const QUOTED_IPV6_BYTES: usize = 1280 - 40 - 8;
/// RFC 1812 section 4.3.2.3.
const QUOTED_IPV4_BYTES: usize = 576 - 20 - 8;

/// Codes of Unreachable: RFC 792, RFC 1191, RFC 4443 section 3.1.
const HOST_UNREACHABLE: u8 = 1;
const FRAGMENTATION_NEEDED: u8 = 4;
const ADDRESS_UNREACHABLE: u8 = 3;

/// The message to the source of a packet that is longer than the tunnel now takes: RFC 8201, RFC 1191.
pub fn too_big(packet: &[u8], inner: &Inner, mtu_bytes: u32) -> Vec<u8> {
    let next_hop_bytes = u16::try_from(mtu_bytes).unwrap_or(u16::MAX);
    // RFC 8200 section 5.
    let message = V6Repr::PacketTooBig { mtu_bytes: mtu_bytes.max(1280) };
    let message_v4 = V4Repr::Unreachable { code: FRAGMENTATION_NEEDED, quoted_words: 0, mtu_bytes: next_hop_bytes };
    quoting(packet, inner, message_v4, message)
}

/// The message to the source of a packet that the tunnel's path does not carry: RFC 4213 section 3.4, RFC 2473 section 8. Address unreachable, host
/// unreachable.
pub fn unreachable(packet: &[u8], inner: &Inner) -> Vec<u8> {
    let message = V6Repr::Unreachable { code: ADDRESS_UNREACHABLE, quoted_words: 0 };
    let message_v4 = V4Repr::Unreachable { code: HOST_UNREACHABLE, quoted_words: 0, mtu_bytes: 0 };
    quoting(packet, inner, message_v4, message)
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

/// The message of the packet's family, and the beginning of the packet. ICMPv6's checksum is the kernel's to write: RFC 3542 section 3.1.
fn quoting(packet: &[u8], inner: &Inner, message_v4: V4Repr, message_v6: V6Repr) -> Vec<u8> {
    let most_bytes = if inner.version == 6 { QUOTED_IPV6_BYTES } else { QUOTED_IPV4_BYTES };
    let quote = &packet[..packet.len().min(most_bytes)];
    let header = if inner.version == 6 { message_v6.emit(0) } else { message_v4.emit_summed(checksum::sum(quote)) };
    [&header, quote].concat()
}

//! Echo requests to the node itself: RFC 1122 section 3.2.2.6, RFC 4443 section 4.2.

use std::net::IpAddr;

use crate::icmp::{Message, V4Repr, V6Repr, Version};
use crate::{Span, checksum, ipv4, ipv6, protocol};

const HOP_LIMIT: u8 = 64;

/// The reply to a packet that is an echo request to an address of the node's. `None`: it is none.
pub fn reply(packet: &[u8], is_own: impl Fn(IpAddr) -> bool) -> Option<Vec<u8>> {
    match packet.first()? >> 4 {
        4 => reply4(packet, is_own),
        6 => reply6(packet, is_own),
        _ => None,
    }
}

fn reply4(bytes: &[u8], is_own: impl Fn(IpAddr) -> bool) -> Option<Vec<u8>> {
    let packet = ipv4::Packet::parse(Span::whole(bytes)).ok()?;
    if packet.protocol() != protocol::ICMP || packet.fragment().is_some() || !is_own(packet.destination().into()) {
        return None;
    }
    let message = packet.payload().captured();
    if !checksum::is_valid(&bytes[..packet.header_bytes()]) || !checksum::is_valid(message) {
        return None;
    }
    let read = Message::parse(Version::V4, packet.payload()).ok()?;
    let mut echo = read.echo().filter(|echo| !echo.is_reply)?;
    echo.is_reply = true;
    let data = read.payload().captured();
    let header = ipv4::Repr {
        source: packet.destination(),
        destination: packet.source(),
        hop_limit: HOP_LIMIT,
        payload_bytes: message.len(),
        ..ipv4::Repr::parse(&packet)
    };
    Some([&header.emit()[..], &V4Repr::Echo(echo).emit_summed(checksum::sum(data)), data].concat())
}

fn reply6(bytes: &[u8], is_own: impl Fn(IpAddr) -> bool) -> Option<Vec<u8>> {
    let packet = ipv6::Packet::parse(Span::whole(bytes)).ok()?;
    if packet.next_header() != protocol::ICMPV6 || !is_own(packet.destination().into()) {
        return None;
    }
    let message = packet.payload().captured();
    let pseudo_header =
        checksum::pseudo_header_v6(packet.source(), packet.destination(), protocol::ICMPV6, message.len() as u32);
    if !checksum::is_valid_upper_layer(pseudo_header, message) {
        return None;
    }
    let read = Message::parse(Version::V6, packet.payload()).ok()?;
    let mut echo = read.echo().filter(|echo| !echo.is_reply)?;
    echo.is_reply = true;
    let data = read.payload().captured();
    let header = ipv6::Repr {
        source: packet.destination(),
        destination: packet.source(),
        hop_limit: HOP_LIMIT,
        ..ipv6::Repr::parse(&packet)
    };
    let message = V6Repr::Echo(echo).emit_summed(pseudo_header, checksum::sum(data));
    Some([&header.emit()[..], &message, data].concat())
}

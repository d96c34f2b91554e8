//! A port or identifier in the place of another, with the checksums that cover it. A field that is not there is left
//! alone, and a checksum that is wrong stays wrong.

use std::ops::Range;

use crate::siit::Upper;
use crate::{Span, checksum, ipv4, ipv6, protocol};

/// The end of a packet whose port is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}

/// Gives a packet of either family another port. A later fragment has none.
pub fn port(packet: &mut [u8], end: End, new: u16) {
    if let Some((number, message)) = upper(packet, false) {
        set(packet, number, message.start, end, new);
    }
}

/// The same for the packet in an ICMP error.
pub fn quoted_port(packet: &mut [u8], end: End, new: u16) {
    let Some((_, outer)) = upper(packet, false) else { return };
    let at = outer.start + crate::icmp::HEADER_BYTES;
    let Some(quoted) = packet.get_mut(at..) else { return };
    let before = checksum::sum(quoted);
    if let Some((number, message)) = upper(quoted, true) {
        set(quoted, number, message.start, end, new);
    }
    let after = checksum::sum(quoted);
    update(packet, outer.start + 2, before, after);
}

/// The number and place of a packet's message, unless it is a later fragment. `is_quoted`: the packet may have been
/// cut.
fn upper(packet: &[u8], is_quoted: bool) -> Option<(u8, Range<usize>)> {
    let span = Span::whole(packet);
    let span = if is_quoted { span.open_ended() } else { span };
    match packet.first()? >> 4 {
        4 => {
            let parsed = ipv4::Packet::parse(span).ok()?;
            let is_later = parsed.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
            (!is_later).then(|| (parsed.protocol(), parsed.header_bytes()..packet.len()))
        }
        _ => {
            let parsed = ipv6::Packet::parse(span).ok()?;
            let upper = Upper::read(&parsed).ok()?;
            (!upper.is_later_fragment()).then(|| (upper.protocol, ipv6::HEADER_BYTES + upper.bytes..packet.len()))
        }
    }
}

fn set(packet: &mut [u8], number: u8, start: usize, end: End, new: u16) {
    let (field, sum) = match (number, end) {
        (protocol::ICMP | protocol::ICMPV6, _) => (4, 2),
        (protocol::TCP, End::Source) => (0, 16),
        (protocol::TCP, End::Destination) => (2, 16),
        (_, End::Source) => (0, 6),
        (_, End::Destination) => (2, 6),
    };
    let Some(bytes) = packet.get_mut(start + field..start + field + 2) else { return };
    let old = u16::from_be_bytes([bytes[0], bytes[1]]);
    bytes.copy_from_slice(&new.to_be_bytes());
    let is_without = number == protocol::UDP && packet.get(start + 6..start + 8) == Some(&[0, 0]);
    if !is_without {
        update(packet, start + sum, old, new);
        let of_udp = packet.get_mut(start + 6..start + 8).filter(|sum| number == protocol::UDP && **sum == [0, 0]);
        if let Some(sum) = of_udp {
            sum.fill(0xff);
        }
    }
}

fn update(packet: &mut [u8], at: usize, old: u16, new: u16) {
    let Some(field) = packet.get_mut(at..at + 2).filter(|_| old != new) else { return };
    let updated = checksum::update_sum(u16::from_be_bytes([field[0], field[1]]), old, new);
    field.copy_from_slice(&updated.to_be_bytes());
}

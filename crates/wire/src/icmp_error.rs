//! Errors of ICMP and ICMPv6 for the source of a packet, with as much of that packet as there is room for.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::icmp::{HEADER_BYTES, V4Repr, V6Repr};
use crate::{checksum, ipv4, ipv6, protocol};

/// The largest ICMP error with its IP header: RFC 1812 section 4.3.2.3.
const MOST_V4_BYTES: usize = 576;
/// The most of a packet that an ICMP error quotes.
const QUOTED_V4_BYTES: usize = MOST_V4_BYTES - ipv4::HEADER_BYTES - HEADER_BYTES;
/// The same for ICMPv6: what fits IPv6's least MTU, by RFC 4443 section 2.4 (c).
pub const QUOTED_V6_BYTES: usize = 1280 - ipv6::HEADER_BYTES - HEADER_BYTES;

/// The hop limit of errors: RFC 1700.
const HOP_LIMIT: u8 = 64;

/// The most of a packet that an ICMP error quotes which a link of this MTU carries whole.
pub fn quoted_v4_bytes(mtu_bytes: usize) -> usize {
    mtu_bytes.saturating_sub(ipv4::HEADER_BYTES + HEADER_BYTES).min(QUOTED_V4_BYTES)
}

/// An error about a packet, without an IP header.
pub fn v4_message(error: V4Repr, about: &[u8]) -> Vec<u8> {
    summed(error, quote(about, QUOTED_V4_BYTES))
}

fn summed(error: V4Repr, quoted: &[u8]) -> Vec<u8> {
    [&error.emit_summed(checksum::sum(quoted)), quoted].concat()
}

/// The same for ICMPv6. It lacks its checksum, which raw sockets write: RFC 3542 section 3.1.
pub fn v6_message(error: V6Repr, about: &[u8]) -> Vec<u8> {
    [&error.emit(0), quote(about, QUOTED_V6_BYTES)].concat()
}

/// An error about a packet, with an IPv4 header that has this type of service and identification. A link of that MTU
/// carries it whole.
pub fn v4_packet(
    error: V4Repr,
    about: &[u8],
    (source, destination): (Ipv4Addr, Ipv4Addr),
    tos: u8,
    identification: u16,
    mtu_bytes: usize,
) -> Vec<u8> {
    let message = summed(error, quote(about, quoted_v4_bytes(mtu_bytes)));
    let header = ipv4::Repr {
        source,
        destination,
        traffic_class: tos,
        identification,
        dont_fragment: false,
        more_fragments: false,
        offset_bytes: 0,
        hop_limit: HOP_LIMIT,
        protocol: protocol::ICMP,
        payload_bytes: message.len(),
    };
    [&header.emit()[..], &message].concat()
}

/// An error about a packet, with an IPv6 header.
pub fn v6_packet(error: V6Repr, about: &[u8], (source, destination): (Ipv6Addr, Ipv6Addr)) -> Vec<u8> {
    let quoted = quote(about, QUOTED_V6_BYTES);
    let payload_bytes = HEADER_BYTES + quoted.len();
    let pseudo = checksum::pseudo_header_v6(source, destination, protocol::ICMPV6, payload_bytes as u32);
    let header = ipv6::Repr {
        source,
        destination,
        traffic_class: 0,
        flow_label: 0,
        hop_limit: HOP_LIMIT,
        next_header: protocol::ICMPV6,
        payload_bytes,
    };
    [&header.emit()[..], &error.emit_summed(pseudo, checksum::sum(quoted)), quoted].concat()
}

fn quote(packet: &[u8], most_bytes: usize) -> &[u8] {
    &packet[..packet.len().min(most_bytes)]
}

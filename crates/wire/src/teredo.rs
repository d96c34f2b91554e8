//! Teredo: IPv6 in UDP over IPv4 (RFC 4380).

use std::net::Ipv6Addr;

use crate::{Span, ipv6};

/// The UDP port of servers: RFC 4380 section 2.7. Clients and relays have any.
pub const PORT: u16 = 3544;

/// The prefix of Teredo addresses, 2001::/32: RFC 4380 section 2.6.
const PREFIX: [u8; 4] = [0x20, 0x01, 0, 0];

/// Length of an origin indication: RFC 4380 section 5.1.1.
const ORIGIN_BYTES: usize = 8;

/// Length of an authentication encapsulation without client identifier and authentication value: RFC 4380 section
/// 5.1.1.
const AUTHENTICATION_BYTES: usize = 13;

/// The header and payload of a datagram in which an IPv6 packet follows.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header_bytes: usize,
    payload: Span<'a>,
}

impl<'a> Packet<'a> {
    /// Reads the payload of a datagram. `None` for what is no Teredo: any program may send UDP between these ports.
    /// Teredo ends with its IPv6 packet, which has the address of a Teredo client in it unless it goes to a server or
    /// comes from one.
    pub fn parse(span: Span<'a>, ports: [u16; 2]) -> Option<Self> {
        let (mut header_bytes, mut payload) = (0, span);
        for bytes_of in [authentication_bytes, origin_bytes] {
            let bytes = bytes_of(payload);
            (_, payload) = payload.split(bytes).ok()?;
            header_bytes += bytes;
        }
        let inner = ipv6::Packet::parse(payload).ok()?;
        let is_whole = payload.length().is_none_or(|length| length == inner.total_bytes());
        let is_known = ports.contains(&PORT) || is_client(inner.source()) || is_client(inner.destination());
        (is_whole && is_known).then_some(Self { header_bytes, payload })
    }

    /// Length of the authentication and the origin indication before the packet: most packets have none.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// The IPv6 packet.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

/// The length of the authentication with which a payload begins; 0 where it has none.
fn authentication_bytes(span: Span<'_>) -> usize {
    match span.first::<4>() {
        Ok(&[0, 1, identifier, value]) => AUTHENTICATION_BYTES + usize::from(identifier) + usize::from(value),
        _ => 0,
    }
}

/// The length of the origin indication with which it begins; 0 where it has none.
fn origin_bytes(span: Span<'_>) -> usize {
    if span.first::<2>() == Ok(&[0, 0]) { ORIGIN_BYTES } else { 0 }
}

fn is_client(address: Ipv6Addr) -> bool {
    address.octets().starts_with(&PREFIX)
}

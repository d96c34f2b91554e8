//! The ports by which MAP tells customer edges apart: RFC 7597 section 8.

use super::headers::Upper;
use crate::{Span, ipv4, ipv6, protocol};

/// Protocols whose messages begin with two ports: RFC 9293, RFC 768, RFC 4340, RFC 9260, RFC 3828.
const WITH_PORTS: [u8; 5] = [protocol::TCP, protocol::UDP, 33, 132, 136];

/// The port of a packet, or what is in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// It is this one.
    Known(u16),
    /// The first fragment has it, and this is a later one.
    Elsewhere,
    /// Messages of its protocol have none.
    Absent,
}

/// A packet's ports, that of the source first. Those of an ICMP error are as if the packet inside were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports(pub [Port; 2]);

impl Ports {
    /// The ports of an IPv4 packet.
    pub fn of_ipv4(packet: &ipv4::Packet<'_>) -> Self {
        let payload = packet.payload().captured();
        match packet.fragment() {
            Some(fragment) if fragment.offset_bytes != 0 => Self([Port::Elsewhere; 2]),
            _ if packet.protocol() != protocol::ICMP => Self::of_message(packet.protocol(), payload),
            _ => match payload {
                [0 | 8, ..] => Self::of_echo(payload),
                [3 | 4 | 5 | 11 | 12, _, _, _, _, _, _, _, quoted @ ..] => {
                    let quoted = ipv4::Packet::parse(Span::whole(quoted).open_ended());
                    quoted.map_or(Self::ABSENT, |quoted| Self::of_quoted_ipv4(&quoted))
                }
                _ => Self::ABSENT,
            },
        }
    }

    /// The ports of an IPv6 packet.
    pub fn of_ipv6(packet: &ipv6::Packet<'_>) -> Self {
        let Ok(upper) = Upper::read(packet) else { return Self::ABSENT };
        if upper.is_later_fragment() {
            return Self([Port::Elsewhere; 2]);
        }
        match (upper.protocol, upper.payload) {
            (protocol::ICMPV6, [128 | 129, ..]) => Self::of_echo(upper.payload),
            (protocol::ICMPV6, [0..=127, _, _, _, _, _, _, _, quoted @ ..]) => {
                let quoted = ipv6::Packet::parse(Span::whole(quoted).open_ended());
                quoted.map_or(Self::ABSENT, |quoted| Self::of_quoted_ipv6(&quoted))
            }
            (protocol::ICMPV6, _) => Self::ABSENT,
            (number, payload) => Self::of_message(number, payload),
        }
    }

    /// The ports of an error about a packet: it goes where that came from. An error in it has none, as none may be
    /// about it.
    fn of_quoted_ipv4(quoted: &ipv4::Packet<'_>) -> Self {
        let kind = quoted.payload().captured().first();
        let is_error = quoted.protocol() == protocol::ICMP && !matches!(kind, Some(0 | 8));
        if is_error { Self::ABSENT } else { Self::of_ipv4(quoted).turned() }
    }

    fn of_quoted_ipv6(quoted: &ipv6::Packet<'_>) -> Self {
        let is_error = Upper::read(quoted)
            .is_ok_and(|upper| upper.protocol == protocol::ICMPV6 && !matches!(upper.payload, [128 | 129, ..]));
        if is_error { Self::ABSENT } else { Self::of_ipv6(quoted).turned() }
    }

    /// The ports of a packet that has none.
    pub const ABSENT: Self = Self([Port::Absent; 2]);

    fn turned(self) -> Self {
        let Self([source, destination]) = self;
        Self([destination, source])
    }

    /// The identifier takes the place of both: RFC 7597 section 8.2.
    fn of_echo(message: &[u8]) -> Self {
        match message {
            [_, _, _, _, high, low, ..] => Self([Port::Known(u16::from_be_bytes([*high, *low])); 2]),
            _ => Self::ABSENT,
        }
    }

    fn of_message(number: u8, message: &[u8]) -> Self {
        match message {
            [a, b, c, d, ..] if WITH_PORTS.contains(&number) => {
                Self([[*a, *b], [*c, *d]].map(|port| Port::Known(u16::from_be_bytes(port))))
            }
            _ => Self::ABSENT,
        }
    }
}

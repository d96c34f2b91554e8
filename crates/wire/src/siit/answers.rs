//! Errors that the translator sends itself: RFC 7915 sections 4.4 and 5.4.

use std::net::Ipv4Addr;

use super::{Prohibited, Translator};
use crate::addresses::{is_host4, is_host6};
use crate::icmp::{V4Repr, V6Repr};
use crate::ipv6::Extension;
use crate::{icmp_error, ipv4, ipv6, protocol};

/// The type of service of errors: internetwork control (RFC 1812 section 4.3.2.5).
const TOS: u8 = 0xc0;

impl Prohibited for V4Repr {
    const PROHIBITED: Self = Self::Unreachable { code: 13, quoted_words: 0, mtu_bytes: 0 };
}

impl Prohibited for V6Repr {
    const PROHIBITED: Self = Self::Unreachable { code: 1, quoted_words: 0 };
}

impl Translator {
    /// An error for the source of an IPv4 packet, unless it must not get any.
    pub(super) fn answer4(&mut self, bytes: &[u8], packet: &ipv4::Packet<'_>, error: V4Repr) -> Option<Vec<u8>> {
        if !may_get_error4(packet) {
            return None;
        }
        let about = &bytes[..packet.total_bytes().min(bytes.len())];
        let ends = (self.settings.own4, packet.source());
        Some(icmp_error::v4_packet(error, about, ends, TOS, self.identifications.next(), self.settings.mtu4 as usize))
    }

    /// An error for the source of an IPv6 packet, unless it must not get any.
    pub(super) fn answer6(&self, bytes: &[u8], packet: &ipv6::Packet<'_>, error: V6Repr) -> Option<Vec<u8>> {
        let source = self.own6.filter(|_| may_get_error6(packet, error))?;
        let about = &bytes[..packet.total_bytes().min(bytes.len())];
        Some(icmp_error::v6_packet(error, about, (source, packet.source())))
    }
}

/// True unless the packet is an ICMP error, goes to many, comes from nobody, or is a later fragment: RFC 1812 section
/// 4.3.2.7.
pub(super) fn may_get_error4(packet: &ipv4::Packet<'_>) -> bool {
    let is_later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
    let kind = packet.payload().captured().first();
    let is_query = packet.protocol() != protocol::ICMP || matches!(kind, Some(0 | 8 | 9 | 10 | 13..=18 | 42 | 43));
    let (source, destination) = (packet.source(), packet.destination());
    let is_to_one = !destination.is_multicast() && destination != Ipv4Addr::BROADCAST;
    !is_later && is_query && is_to_one && is_host4(source, true)
}

/// True unless the packet is an ICMPv6 error, goes to many, or comes from nobody: RFC 4443 section 2.4 (e). Sources of
/// ICMPv6 messages other than echo requests get only errors that the messages need to arrive (by RFC 7915 section 5.4
/// they would get none). Later fragments are answered too, unlike in IPv4, unless they may be an error's.
pub(super) fn may_get_error6(packet: &ipv6::Packet<'_>, error: V6Repr) -> bool {
    let upper = packet.upper_layer();
    let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
    let is_told = match (upper.protocol, upper.payload.captured().first()) {
        (number, _) if is_later => number != protocol::ICMPV6 && Extension::of(number).is_none(),
        (protocol::ICMPV6, Some(128)) => true,
        (protocol::ICMPV6, Some(129..)) => matches!(error, V6Repr::PacketTooBig { .. }),
        (protocol::ICMPV6, _) => false,
        _ => upper.flaw.is_none(),
    };
    is_told && is_host6(packet.source()) && !packet.destination().is_multicast()
}

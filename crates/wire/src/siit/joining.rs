//! Packets that cannot be translated fragment by fragment, if a node can put them together: RFC 6146 section 3.4.

use super::context::Context;
use super::headers::Upper;
use super::{Decision, Translator, ZeroChecksum};
use crate::{Span, checksum, ipv4, ipv6, protocol};

impl Translator {
    /// True if a packet is a fragment that waits for the others, provided that the caller can put them together.
    /// Fragments of ICMP do, as its checksum covers the length in IPv6 alone. So do those of a UDP datagram over IPv4
    /// without a checksum, which gets one or is dropped as a whole: the first fragment shows that it has none, and a
    /// later one waits if others do (`others_wait`).
    pub fn joins(&self, packet: &[u8], others_wait: bool) -> bool {
        let span = Span::whole(packet);
        match packet.first().map(|octet| octet >> 4) {
            Some(4) => ipv4::Packet::parse(span).is_ok_and(|parsed| {
                let is_right = checksum::is_valid(&packet[..parsed.header_bytes()]);
                parsed.fragment().filter(|_| is_right).is_some_and(|fragment| match parsed.protocol() {
                    protocol::ICMP => true,
                    protocol::UDP => others_wait || (fragment.offset_bytes == 0 && self.minds_checksum(&parsed)),
                    _ => false,
                })
            }),
            Some(6) => ipv6::Packet::parse(span).is_ok_and(|parsed| {
                Upper::read(&parsed).is_ok_and(|upper| {
                    upper.protocol == protocol::ICMPV6 && upper.is_fragment() && !upper.is_extended_fragment
                })
            }),
            _ => false,
        }
    }

    /// Decides the fate of a packet whose fragments were put together. It may be cut again.
    pub fn translate_joined(&mut self, packet: &[u8]) -> Decision {
        self.translate_in(&Context::JOINED, packet)
    }

    /// True if a datagram has no checksum and cannot be forwarded without one.
    fn minds_checksum(&self, packet: &ipv4::Packet<'_>) -> bool {
        self.settings.zero_checksum != ZeroChecksum::Forward && packet.payload().captured().get(6..8) == Some(&[0, 0])
    }
}

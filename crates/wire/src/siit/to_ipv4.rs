//! From IPv6 to IPv4: RFC 7915 section 5.

use std::net::Ipv4Addr;

use super::{Clause, Ends, HOP_LIMIT, LEAST_MTU6, Outcome, Stop, Translator, checksum_at, icmp, update_checksum};
use crate::icmp::V6Repr;
use crate::ipv6::{self, Extensions};
use crate::{Span, checksum, ipv4, protocol};

/// IPv4 packets of at most this have DF clear, as they may pass links of less: RFC 7915 section 5.1.
const SMALL_BYTES: usize = 1260;

impl Translator {
    pub(super) fn packet_to_ipv4(&mut self, bytes: &[u8], packet: &ipv6::Packet<'_>) -> Outcome {
        let upper = packet.upper_layer();
        let is_error =
            upper.protocol == protocol::ICMPV6 && upper.payload.captured().first().is_some_and(|&kind| kind < 128);
        let ends = self.ends_of_ipv6(packet, is_error)?;
        if packet.hop_limit() <= 1 {
            let told = V6Repr::TimeExceeded { code: 0, quoted_words: 0 };
            return Err(self.answer6(Clause::HopLimit, bytes, packet, &upper, told));
        }
        if upper.flaw.is_some() {
            return Err(Clause::Malformed.into());
        }
        if let Some(pointer) = segments_left_at(bytes) {
            let told = V6Repr::ParameterProblem { code: 0, pointer };
            return Err(self.answer6(Clause::RoutingHeader, bytes, packet, &upper, told));
        }
        let (clause, number, payload) = self.payload_to_ipv4(&upper, &ends)?;
        let total_bytes = ipv4::HEADER_BYTES + payload.len();
        if total_bytes > self.settings.mtu4 as usize && upper.fragment.is_none() && total_bytes > SMALL_BYTES {
            // RFC 8200 section 5: a source need not make its packets shorter than this.
            let mtu_bytes = (self.settings.mtu4 + 20).max(LEAST_MTU6 as u32).min(self.settings.mtu6);
            return Err(self.answer6(Clause::PacketTooBig, bytes, packet, &upper, V6Repr::PacketTooBig { mtu_bytes }));
        }
        if total_bytes > usize::from(u16::MAX) {
            return Err(Clause::Malformed.into());
        }
        let fragment = upper.fragment;
        let header = ipv4::Repr {
            source: ends.ipv4[0],
            destination: ends.ipv4[1],
            traffic_class: packet.traffic_class(),
            identification: match fragment {
                Some(fragment) => fragment.identification as u16,
                None => self.next_identification(),
            },
            dont_fragment: fragment.is_none() && total_bytes > SMALL_BYTES,
            more_fragments: fragment.is_some_and(|fragment| fragment.more),
            offset_bytes: fragment.map_or(0, |fragment| fragment.offset_bytes as u16),
            hop_limit: packet.hop_limit() - 1,
            protocol: number,
            payload_bytes: payload.len(),
        };
        let clause = if fragment.is_some() { Clause::FragmentToIpv4 } else { clause };
        Ok((clause, vec![[&header.emit()[..], &payload].concat()]))
    }

    /// The source of an error may be a router that IPv4 has no address for: RFC 6791 section 2.
    fn ends_of_ipv6(&self, packet: &ipv6::Packet<'_>, is_error: bool) -> Result<Ends, Clause> {
        let ipv6 = [packet.source(), packet.destination()];
        let source = match self.to_ipv4(ipv6[0]) {
            Err(Clause::NoMapping) if is_error => self.settings.own4,
            found => found?,
        };
        Ok(Ends { ipv4: [source, self.to_ipv4(ipv6[1])?], ipv6 })
    }

    fn payload_to_ipv4(&self, upper: &Extensions<'_>, ends: &Ends) -> Result<(Clause, u8, Vec<u8>), Clause> {
        let is_fragment = upper.fragment.is_some_and(|fragment| fragment.more || fragment.offset_bytes != 0);
        let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        let payload = upper.payload.captured();
        match upper.protocol {
            protocol::ICMPV6 if is_fragment => Err(Clause::FragmentedIcmp),
            protocol::ICMPV6 => {
                let (clause, message) = icmp::to_ipv4(self, ends, payload)?;
                Ok((clause, protocol::ICMP, message))
            }
            number => {
                let mut payload = payload.to_vec();
                let is_right = is_later || update_checksum(number, &mut payload, &ends.octets6(), &ends.octets4());
                if is_right { Ok((Clause::ToIpv4, number, payload)) } else { Err(Clause::Malformed) }
            }
        }
    }

    /// A packet that an ICMPv6 error quotes, or the first part of one: RFC 7915 section 5.3. Its hop limit stays.
    pub(super) fn quoted_to_ipv4(&self, bytes: &[u8]) -> Result<Vec<u8>, Clause> {
        let packet = ipv6::Packet::parse(Span::whole(bytes).open_ended()).map_err(|_| Clause::QuotedPacket)?;
        let upper = packet.upper_layer();
        let mapped = |address| self.to_ipv4(address).map_err(|_| Clause::QuotedPacket);
        let ipv4: [Ipv4Addr; 2] = [mapped(packet.source())?, mapped(packet.destination())?];
        let ends = Ends { ipv4, ipv6: [packet.source(), packet.destination()] };
        let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        let mut payload = upper.payload.captured().to_vec();
        let payload_bytes = (packet.total_bytes() - ipv6::HEADER_BYTES).saturating_sub(upper.bytes);
        let number = if upper.protocol == protocol::ICMPV6 { protocol::ICMP } else { upper.protocol };
        if !is_later && upper.protocol == protocol::ICMPV6 {
            let pseudo = checksum::pseudo_header_v6(ends.ipv6[0], ends.ipv6[1], upper.protocol, payload_bytes as u32);
            icmp::quoted_echo(&mut payload, [128, 129], [8, 0], [pseudo, 0])?;
        } else if !is_later && checksum_at(number).is_some() {
            update_checksum(number, &mut payload, &ends.octets6(), &ends.octets4());
        }
        let header = ipv4::Repr {
            source: ends.ipv4[0],
            destination: ends.ipv4[1],
            traffic_class: packet.traffic_class(),
            identification: upper.fragment.map_or(0, |fragment| fragment.identification as u16),
            dont_fragment: upper.fragment.is_none() && ipv4::HEADER_BYTES + payload_bytes > SMALL_BYTES,
            more_fragments: upper.fragment.is_some_and(|fragment| fragment.more),
            offset_bytes: upper.fragment.map_or(0, |fragment| fragment.offset_bytes as u16),
            hop_limit: packet.hop_limit(),
            protocol: number,
            payload_bytes: payload_bytes.min(usize::from(u16::MAX) - ipv4::HEADER_BYTES),
        };
        Ok([&header.emit()[..], &payload].concat())
    }

    /// An error for the source of an IPv6 packet, unless it must not be told of any (RFC 4443 section 2.4).
    fn answer6(
        &self,
        clause: Clause,
        bytes: &[u8],
        packet: &ipv6::Packet<'_>,
        upper: &Extensions<'_>,
        told: V6Repr,
    ) -> Stop {
        let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        let kind = upper.payload.captured().first();
        let is_error = upper.protocol == protocol::ICMPV6 && kind.is_none_or(|&kind| kind < 128);
        if is_later || is_error {
            return clause.into();
        }
        let room = LEAST_MTU6 - ipv6::HEADER_BYTES - crate::icmp::HEADER_BYTES;
        let quoted = &bytes[..packet.total_bytes().min(room).min(bytes.len())];
        let (source, destination) = (self.settings.own6, packet.source());
        let message_bytes = quoted.len() + crate::icmp::HEADER_BYTES;
        let pseudo = checksum::pseudo_header_v6(source, destination, protocol::ICMPV6, message_bytes as u32);
        let header = ipv6::Repr {
            source,
            destination,
            traffic_class: 0,
            flow_label: 0,
            hop_limit: HOP_LIMIT,
            next_header: protocol::ICMPV6,
            payload_bytes: message_bytes,
        };
        let answer = [&header.emit()[..], &told.emit_summed(pseudo, checksum::sum(quoted)), quoted].concat();
        Stop { clause, answer: Some(answer) }
    }
}

/// Where a routing header says that more nodes are to be passed: RFC 8200 section 4.4.
fn segments_left_at(bytes: &[u8]) -> Option<u32> {
    let (mut number, mut at) = (*bytes.get(6)?, ipv6::HEADER_BYTES);
    while matches!(number, protocol::HOP_BY_HOP | protocol::DESTINATION_OPTIONS | protocol::ROUTING) {
        let [next, length, _, left] = *bytes.get(at..at + 4)? else { return None };
        if number == protocol::ROUTING && left != 0 {
            return Some(at as u32 + 3);
        }
        number = next;
        at += 8 * (usize::from(length) + 1);
    }
    None
}

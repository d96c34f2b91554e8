//! From IPv4 to IPv6: RFC 7915 section 4.

use super::{
    Clause, ERROR4_BYTES, Ends, HOP_LIMIT, Outcome, Stop, Translator, ZeroChecksum, checksum_at, icmp, update_checksum,
};
use crate::icmp::V4Repr;
use crate::ipv4::{self, Fragment};
use crate::ipv6::{self, FRAGMENT_HEADER_BYTES, FragmentHeader};
use crate::{Span, checksum, protocol};

/// Options that name routers which the packet is to pass: RFC 791 section 3.1.
const SOURCE_ROUTES: [u8; 2] = [131, 137];
/// Fragment offsets count these.
const FRAGMENT_UNIT_BYTES: usize = 8;

impl Translator {
    pub(super) fn packet_to_ipv6(&mut self, bytes: &[u8], packet: &ipv4::Packet<'_>) -> Outcome {
        let payload = packet.payload().captured();
        let ends = self.ends_of_ipv4(packet)?;
        if has_source_route(&bytes[ipv4::HEADER_BYTES..packet.header_bytes()]) {
            let told = V4Repr::Unreachable { code: 5, quoted_words: 0, mtu_bytes: 0 };
            return Err(self.answer4(Clause::SourceRoute, bytes, packet, told));
        }
        if packet.hop_limit() <= 1 {
            let told = V4Repr::TimeExceeded { code: 0, quoted_words: 0 };
            return Err(self.answer4(Clause::HopLimit, bytes, packet, told));
        }
        let fragment = packet.fragment();
        let (mut clause, next_header, payload) = self.payload_to_ipv6(packet, &ends, payload)?;
        let header = ipv6::Repr {
            source: ends.ipv6[0],
            destination: ends.ipv6[1],
            traffic_class: packet.traffic_class(),
            flow_label: 0,
            hop_limit: packet.hop_limit() - 1,
            next_header,
            payload_bytes: 0,
        };
        let (mtu6, lowest) = (self.settings.mtu6 as usize, self.settings.lowest_ipv6_mtu as usize);
        let headers_bytes = ipv6::HEADER_BYTES + if fragment.is_some() { FRAGMENT_HEADER_BYTES } else { 0 };
        if packet.dont_fragment() && headers_bytes + payload.len() > mtu6 {
            let mtu_bytes = (mtu6 - headers_bytes + ipv4::HEADER_BYTES).min(self.settings.mtu4 as usize);
            let told = V4Repr::Unreachable { code: 4, quoted_words: 0, mtu_bytes: mtu_bytes as u16 };
            return Err(self.answer4(Clause::FragmentationNeeded, bytes, packet, told));
        }
        let most = if packet.dont_fragment() { mtu6 } else { lowest.min(mtu6) };
        let is_cut = headers_bytes + payload.len() > most;
        if is_cut {
            clause = Clause::Fragmented;
        } else if fragment.is_some() {
            clause = Clause::FragmentToIpv6;
        }
        let whole = Fragment {
            offset_bytes: 0,
            more: false,
            identification: u32::from(ipv4::Repr::parse(packet).identification),
        };
        let packets = match fragment.or(is_cut.then_some(whole)) {
            Some(fragment) => cut(&header, fragment, &payload, most),
            None => vec![join(&header, &[], &payload)],
        };
        Ok((clause, packets))
    }

    fn ends_of_ipv4(&self, packet: &ipv4::Packet<'_>) -> Result<Ends, Clause> {
        let ipv4 = [packet.source(), packet.destination()];
        Ok(Ends { ipv4, ipv6: [self.to_ipv6(ipv4[0])?, self.to_ipv6(ipv4[1])?] })
    }

    /// The transport header and what follows it, with its number in IPv6.
    fn payload_to_ipv6(
        &self,
        packet: &ipv4::Packet<'_>,
        ends: &Ends,
        payload: &[u8],
    ) -> Result<(Clause, u8, Vec<u8>), Clause> {
        let is_fragment = packet.fragment().is_some();
        let is_later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
        let number = packet.protocol();
        match number {
            protocol::ICMP if is_fragment => return Err(Clause::FragmentedIcmp),
            protocol::ICMP => {
                let (clause, message) = icmp::to_ipv6(self, ends, payload)?;
                return Ok((clause, protocol::ICMPV6, message));
            }
            protocol::IGMP => return Err(Clause::UntranslatedIcmp),
            _ => {}
        }
        let mut payload = payload.to_vec();
        if is_later {
            return Ok((Clause::ToIpv6, number, payload));
        }
        if number == protocol::UDP && payload.get(6..8) == Some(&[0, 0]) {
            if is_fragment || self.settings.zero_checksum == ZeroChecksum::Drop {
                return Err(Clause::ZeroChecksum);
            }
            let pseudo = checksum::pseudo_header_v6(ends.ipv6[0], ends.ipv6[1], number, payload.len() as u32);
            let computed = checksum::never_zero(checksum::upper_layer(pseudo, &payload));
            payload[6..8].copy_from_slice(&computed.to_be_bytes());
            return Ok((Clause::ChecksumComputed, number, payload));
        }
        if !update_checksum(number, &mut payload, &ends.octets4(), &ends.octets6()) {
            return Err(Clause::Malformed);
        }
        Ok((Clause::ToIpv6, number, payload))
    }

    /// A packet that an ICMP error quotes, or the first part of one: RFC 7915 section 4.3. Its hop limit stays.
    pub(super) fn quoted_to_ipv6(&self, bytes: &[u8]) -> Result<Vec<u8>, Clause> {
        let wrong = |_| Clause::QuotedPacket;
        let packet = ipv4::Packet::parse(Span::whole(bytes).open_ended()).map_err(wrong)?;
        let ends = self.ends_of_ipv4(&packet).map_err(|_| Clause::QuotedPacket)?;
        let fragment = packet.fragment();
        let is_later = fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        let mut payload = packet.payload().captured().to_vec();
        let next_header = if packet.protocol() == protocol::ICMP { protocol::ICMPV6 } else { packet.protocol() };
        let payload_bytes = packet.total_bytes() - packet.header_bytes();
        if !is_later && packet.protocol() == protocol::ICMP {
            let pseudo = checksum::pseudo_header_v6(ends.ipv6[0], ends.ipv6[1], next_header, payload_bytes as u32);
            icmp::quoted_echo(&mut payload, [8, 0], [128, 129], [0, pseudo])?;
        } else if !is_later && checksum_at(packet.protocol()).is_some() {
            update_checksum(packet.protocol(), &mut payload, &ends.octets4(), &ends.octets6());
        }
        let header = ipv6::Repr {
            source: ends.ipv6[0],
            destination: ends.ipv6[1],
            traffic_class: packet.traffic_class(),
            flow_label: 0,
            hop_limit: packet.hop_limit(),
            next_header: if fragment.is_some() { protocol::FRAGMENT } else { next_header },
            payload_bytes: payload_bytes + if fragment.is_some() { FRAGMENT_HEADER_BYTES } else { 0 },
        };
        let between = fragment.map(|fragment| FragmentHeader { next_header, fragment }.emit());
        Ok([&header.emit()[..], between.as_ref().map_or(&[][..], |header| &header[..]), &payload].concat())
    }

    /// An error for the source of an IPv4 packet, unless it must not be told of any (RFC 1122 section 3.2.2).
    fn answer4(&mut self, clause: Clause, bytes: &[u8], packet: &ipv4::Packet<'_>, told: V4Repr) -> Stop {
        let is_later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
        let kind = packet.payload().captured().first();
        let is_error = packet.protocol() == protocol::ICMP && !matches!(kind, Some(0 | 8));
        if is_later || is_error {
            return clause.into();
        }
        let room = ERROR4_BYTES - ipv4::HEADER_BYTES - crate::icmp::HEADER_BYTES;
        let quoted = &bytes[..packet.total_bytes().min(room).min(bytes.len())];
        let message = [&told.emit_summed(checksum::sum(quoted))[..], quoted].concat();
        let header = ipv4::Repr {
            source: self.settings.own4,
            destination: packet.source(),
            traffic_class: 0,
            identification: self.next_identification(),
            dont_fragment: false,
            more_fragments: false,
            offset_bytes: 0,
            hop_limit: HOP_LIMIT,
            protocol: protocol::ICMP,
            payload_bytes: message.len(),
        };
        Stop { clause, answer: Some([&header.emit()[..], &message].concat()) }
    }
}

fn has_source_route(mut options: &[u8]) -> bool {
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest) {
            (0, _) => return false,
            (1, _) => rest,
            // The pointer is beyond the length where the route was followed to its end.
            (kind, [length, pointer, ..]) if SOURCE_ROUTES.contains(&kind) && pointer <= length => return true,
            (_, [length, ..]) if *length >= 2 => options.get(usize::from(*length)..).unwrap_or_default(),
            _ => return false,
        };
    }
    false
}

/// A packet in fragments of at most `most` bytes. It may be a fragment itself.
fn cut(header: &ipv6::Repr, fragment: Fragment, payload: &[u8], most: usize) -> Vec<Vec<u8>> {
    let room = (most - ipv6::HEADER_BYTES - FRAGMENT_HEADER_BYTES) / FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES;
    let count = payload.len().div_ceil(room).max(1);
    let part = |index: usize| {
        let start = index * room;
        let piece = &payload[start..payload.len().min(start + room)];
        let more = fragment.more || index + 1 < count;
        let fragment = Fragment { offset_bytes: fragment.offset_bytes + start as u32, more, ..fragment };
        let between = FragmentHeader { next_header: header.next_header, fragment }.emit();
        join(&ipv6::Repr { next_header: protocol::FRAGMENT, ..*header }, &between, piece)
    };
    (0..count).map(part).collect()
}

fn join(header: &ipv6::Repr, between: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Repr { payload_bytes: between.len() + payload.len(), ..*header };
    [&header.emit()[..], between, payload].concat()
}

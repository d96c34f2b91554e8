//! Translation from IPv4 to IPv6: RFC 7915 section 4.

use super::context::Context;
use super::ends::Ends;
use super::headers::{check_source_route, is_of_ipv6_alone};
use super::icmp::{ECHO4, ECHO6};
use super::transport::{self, Sums, blank};
use super::{Clause, MORE_BYTES, MOST_BYTES, Outcome, Stop, Translator, icmp};
use crate::icmp::{HEADER_BYTES, V4Repr};
use crate::ipv4::{self, Fragment};
use crate::ipv6::{self, FRAGMENT_HEADER_BYTES, FragmentHeader};
use crate::{Span, protocol};

impl Translator {
    pub(super) fn packet_to_ipv6(
        &mut self,
        context: &Context,
        bytes: &[u8],
        packet: &ipv4::Packet<'_>,
    ) -> Outcome<V4Repr> {
        let ends = self.ends_of_ipv4(context, packet, is_error(packet))?;
        let ends = match self.settings.errors_from_destination {
            true => self.sent_from_destination(context, packet, ends),
            false => ends,
        };
        check_source_route(&bytes[ipv4::HEADER_BYTES..packet.header_bytes()])?;
        let Some(hop_limit) = self.next_hop_limit(context, packet.hop_limit()) else {
            return Err(Stop::with_error(Clause::HopLimit, V4Repr::TimeExceeded { code: 0, quoted_words: 0 }));
        };
        let fragment = packet.fragment();
        let room = ipv6::HEADER_BYTES + fragment.map_or(0, |_| FRAGMENT_HEADER_BYTES);
        let (clause, next_header, mut out) = self.payload_to_ipv6(context, packet, &ends, room)?;
        let end_bytes = fragment.map_or(0, |fragment| fragment.offset_bytes as usize) + out.len() - room;
        if end_bytes > MOST_BYTES {
            return Err(Clause::Malformed.into());
        }
        let mtu6 = self.settings.mtu6 as usize;
        let dont_fragment = packet.dont_fragment() && !context.was_joined;
        if dont_fragment && out.len() > mtu6 {
            return Err(Stop::with_error(Clause::FragmentationNeeded, self.needed(room - ipv6::HEADER_BYTES)));
        }
        let header = ipv6::Repr {
            source: ends.ipv6[0],
            destination: ends.ipv6[1],
            traffic_class: self.settings.traffic_class.unwrap_or(packet.traffic_class()),
            flow_label: 0,
            hop_limit,
            next_header,
            payload_bytes: out.len() - ipv6::HEADER_BYTES,
        };
        let lowest = self.settings.lowest_ipv6_mtu as usize;
        let most = if dont_fragment || context.is_back { mtu6 } else { lowest.min(mtu6) };
        if out.len() > most {
            let identification = u32::from(ipv4::Repr::parse(packet).identification);
            let whole = Fragment { offset_bytes: 0, more: false, identification };
            let parts = crate::fragments::cut6(&header, fragment.unwrap_or(whole), &out[room..], most);
            return Ok((Clause::Fragmented, parts));
        }
        let Some(fragment) = fragment else {
            out[..room].copy_from_slice(&header.emit());
            return Ok((clause, vec![out]));
        };
        let header = ipv6::Repr { next_header: protocol::FRAGMENT, ..header };
        out[..ipv6::HEADER_BYTES].copy_from_slice(&header.emit());
        out[ipv6::HEADER_BYTES..room].copy_from_slice(&FragmentHeader { next_header, fragment }.emit());
        Ok((Clause::FragmentToIpv6, vec![out]))
    }

    /// The ends of an ICMP error with the destination of the packet that it quotes in place of its source. The ends of
    /// other packets, and of errors whose quoted packet cannot be read, stay.
    fn sent_from_destination(&self, context: &Context, packet: &ipv4::Packet<'_>, ends: Ends) -> Ends {
        let quoted = packet.payload().captured().get(HEADER_BYTES..).filter(|_| is_error(packet));
        let quoted = quoted.and_then(|quoted| ipv4::Packet::parse(Span::whole(quoted).open_ended()).ok());
        match quoted.and_then(|quoted| self.ends_of_quoted_ipv4(context, &quoted).ok()) {
            Some(quoted) => Ends { ipv6: [quoted.ipv6[1], ends.ipv6[1]], ..ends },
            None => ends,
        }
    }

    /// The error about a packet that is too long for the IPv6 link, where it has a Fragment header of this many bytes
    /// or none.
    fn needed(&self, fragment_bytes: usize) -> V4Repr {
        let mtu6 = self.settings.mtu6 as usize;
        let mtu_bytes = (mtu6 - MORE_BYTES - fragment_bytes).min(self.settings.mtu4 as usize) as u16;
        V4Repr::Unreachable { code: 4, quoted_words: 0, mtu_bytes }
    }

    /// The transport header and what follows it, behind `room` for headers, with its number in IPv6.
    fn payload_to_ipv6(
        &self,
        context: &Context,
        packet: &ipv4::Packet<'_>,
        ends: &Ends,
        room: usize,
    ) -> Result<(Clause, u8, Vec<u8>), Clause> {
        let payload = packet.payload().captured();
        let fragment = packet.fragment();
        match packet.protocol() {
            protocol::ICMP if fragment.is_some() => Err(Clause::FragmentedIcmp),
            protocol::ICMP => {
                let (clause, out) = icmp::to_ipv6(self, context, ends, payload, room)?;
                Ok((clause, protocol::ICMPV6, out))
            }
            protocol::IGMP => Err(Clause::Igmp),
            number if is_of_ipv6_alone(number) => Err(Clause::OtherFamily),
            number => {
                let mut out = blank(room, payload);
                let is_later = fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
                if !is_later && transport::lacks_checksum(number, payload) {
                    let clause = self.no_checksum(Clause::ToIpv6, fragment.is_some())?;
                    if clause == Clause::ChecksumComputed {
                        transport::compute(&mut out[room..], Sums::of(ends).ipv6)?;
                    }
                    return Ok((clause, number, out));
                }
                if !is_later && !transport::update(number, &mut out[room..], Sums::of(ends).to_ipv6()) {
                    return Err(Clause::Malformed);
                }
                Ok((Clause::ToIpv6, number, out))
            }
        }
    }

    /// A packet that an ICMP error quotes, or the first part of one, and how much of the bytes it is: RFC 7915 section
    /// 4.3. Its hop limit stays.
    pub(super) fn quoted_to_ipv6(&self, context: &Context, bytes: &[u8]) -> Result<(Vec<u8>, usize), Clause> {
        let packet = ipv4::Packet::parse(Span::whole(bytes).open_ended()).map_err(|_| Clause::QuotedPacket)?;
        let number = packet.protocol();
        if is_of_ipv6_alone(number) || number == protocol::IGMP {
            return Err(Clause::QuotedPacket);
        }
        let ends = self.ends_of_quoted_ipv4(context, &packet).map_err(|_| Clause::QuotedPacket)?;
        let fragment = packet.fragment();
        let room = ipv6::HEADER_BYTES + fragment.map_or(0, |_| FRAGMENT_HEADER_BYTES);
        let mut out = blank(room, packet.payload().captured());
        let next_header = if number == protocol::ICMP { protocol::ICMPV6 } else { number };
        let payload_bytes = packet.total_bytes() - packet.header_bytes();
        let is_later = fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        if !is_later && number == protocol::ICMP {
            let sums = Sums::of(&ends).icmp(payload_bytes);
            icmp::quoted_echo(&mut out[room..], ECHO4, ECHO6, sums.to_ipv6())?;
        } else if !is_later {
            transport::update(number, &mut out[room..], Sums::of(&ends).to_ipv6());
        }
        let header = ipv6::Repr {
            source: ends.ipv6[0],
            destination: ends.ipv6[1],
            traffic_class: packet.traffic_class(),
            flow_label: 0,
            hop_limit: packet.hop_limit(),
            next_header: if fragment.is_some() { protocol::FRAGMENT } else { next_header },
            payload_bytes: payload_bytes + room - ipv6::HEADER_BYTES,
        };
        out[..ipv6::HEADER_BYTES].copy_from_slice(&header.emit());
        if let Some(fragment) = fragment {
            out[ipv6::HEADER_BYTES..room].copy_from_slice(&FragmentHeader { next_header, fragment }.emit());
        }
        Ok((out, packet.total_bytes()))
    }
}

/// True if a packet is an ICMP error: RFC 1122 section 3.2.2.
fn is_error(packet: &ipv4::Packet<'_>) -> bool {
    let is_later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
    let kind = packet.payload().captured().first();
    packet.protocol() == protocol::ICMP && !is_later && matches!(kind, Some(3 | 4 | 5 | 11 | 12))
}

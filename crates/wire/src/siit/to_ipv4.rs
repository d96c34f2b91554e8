//! Translation from IPv6 to IPv4: RFC 7915 section 5.

use super::context::Context;
use super::ends::Ends;
use super::headers::{Upper, is_of_ipv4_alone};
use super::icmp::{ECHO4, ECHO6};
use super::transport::{self, Sums, blank};
use super::{Clause, LEAST_MTU6, MORE_BYTES, MOST_BYTES, Outcome, Stop, Translator, ZeroChecksum, icmp};
use crate::icmp::V6Repr;
use crate::{Span, ipv4, ipv6, protocol};

/// IPv4 packets of at most this length have DF clear, as they may pass links with a lower MTU: RFC 7915 section 5.1.
const SMALL_BYTES: usize = 1260;

impl Translator {
    pub(super) fn packet_to_ipv4(&mut self, context: &Context, packet: &ipv6::Packet<'_>) -> Outcome<V6Repr> {
        let upper = Upper::read(packet)?;
        let ends = self.ends_of_ipv6(context, packet, is_error(&upper))?;
        let Some(hop_limit) = self.next_hop_limit(context, packet.hop_limit()) else {
            return Err(Stop::with_error(Clause::HopLimit, V6Repr::TimeExceeded { code: 0, quoted_words: 0 }));
        };
        if upper.is_extended_fragment {
            return Err(Clause::HeaderAfterFragment.into());
        }
        if let Some(pointer) = upper.segments_left_at {
            return Err(Stop::with_error(Clause::RoutingHeader, V6Repr::ParameterProblem { code: 0, pointer }));
        }
        let (clause, number, mut out) = self.payload_to_ipv4(context, &upper, &ends)?;
        let offset_bytes = upper.fragment.map_or(0, |fragment| fragment.offset_bytes as usize);
        if upper.fragment.is_some() && offset_bytes + out.len() > MOST_BYTES {
            return Err(Clause::Malformed.into());
        }
        let comes_back = self.comes_back(context, ends.ipv6[1], ends.ipv4[1]);
        let mtu4 = self.settings.mtu4 as usize;
        if out.len() > SMALL_BYTES.max(mtu4) && !comes_back && !context.was_joined {
            // RFC 8200 section 5: a source need not make its packets shorter than this.
            let mtu_bytes = (mtu4 + MORE_BYTES).max(LEAST_MTU6).min(self.settings.mtu6 as usize) as u32;
            return Err(Stop::with_error(Clause::PacketTooBig, V6Repr::PacketTooBig { mtu_bytes }));
        }
        if out.len() > MOST_BYTES {
            return Err(Clause::Malformed.into());
        }
        let dont_fragment = upper.fragment.is_none() && out.len() > SMALL_BYTES && !context.was_joined;
        if comes_back && dont_fragment && out.len() + MORE_BYTES > self.settings.mtu6 as usize {
            // The packet is as long again behind the translator, where its sender is, too.
            return Err(Stop::with_error(Clause::PacketTooBig, V6Repr::PacketTooBig { mtu_bytes: self.settings.mtu6 }));
        }
        let header = ipv4::Repr {
            source: ends.ipv4[0],
            destination: ends.ipv4[1],
            traffic_class: self.settings.tos.unwrap_or(packet.traffic_class()),
            identification: match upper.fragment {
                Some(fragment) => fragment.identification as u16,
                None if dont_fragment => 0, // It says nothing then: RFC 6864 section 4.1.
                None => self.identifications.next(),
            },
            dont_fragment,
            more_fragments: upper.fragment.is_some_and(|fragment| fragment.more),
            offset_bytes: offset_bytes as u16,
            hop_limit,
            protocol: number,
            payload_bytes: out.len() - ipv4::HEADER_BYTES,
        };
        if out.len() > mtu4 && !comes_back {
            return Ok((Clause::FragmentedToIpv4, crate::fragments::cut4(&header, &out[ipv4::HEADER_BYTES..], mtu4)));
        }
        out[..ipv4::HEADER_BYTES].copy_from_slice(&header.emit());
        if comes_back && context.given.is_some() {
            return Ok((Clause::Hairpin, vec![out]));
        }
        if comes_back {
            return self.back_to_ipv6(context, &out);
        }
        Ok((if upper.fragment.is_some() { Clause::FragmentToIpv4 } else { clause }, vec![out]))
    }

    /// Translates a packet back to IPv6: RFC 7757 section 4.2.2. Nobody in IPv4 has sent it, so nobody gets an error
    /// about it.
    fn back_to_ipv6(&mut self, context: &Context, bytes: &[u8]) -> Outcome<V6Repr> {
        let packet = ipv4::Packet::parse(Span::whole(bytes)).map_err(|_| Clause::Malformed)?;
        let (_, packets) = self.packet_to_ipv6(&context.back(), bytes, &packet).map_err(|stop| stop.clause)?;
        Ok((Clause::Hairpin, packets))
    }

    /// The transport header and what follows it, behind room for the IPv4 header, with its number in IPv4.
    fn payload_to_ipv4(
        &self,
        context: &Context,
        upper: &Upper<'_>,
        ends: &Ends,
    ) -> Result<(Clause, u8, Vec<u8>), Clause> {
        let room = ipv4::HEADER_BYTES;
        match upper.protocol {
            protocol::ICMPV6 if upper.is_fragment() => Err(Clause::FragmentedIcmp),
            protocol::ICMPV6 => {
                let (clause, out) = icmp::to_ipv4(self, context, ends, upper.payload, room)?;
                Ok((clause, protocol::ICMP, out))
            }
            number if is_of_ipv4_alone(number) => Err(Clause::OtherFamily),
            number => {
                let mut out = blank(room, upper.payload);
                if upper.is_later_fragment() {
                    return Ok((Clause::ToIpv4, number, out));
                }
                if transport::lacks_checksum(number, upper.payload) {
                    let clause = self.no_checksum(Clause::ToIpv4, upper.is_fragment())?;
                    if clause == Clause::ChecksumComputed {
                        transport::compute(&mut out[room..], Sums::of(ends).ipv4)?;
                    }
                    return Ok((clause, number, out));
                }
                if !transport::update(number, &mut out[room..], Sums::of(ends).to_ipv4()) {
                    return Err(Clause::Malformed);
                }
                Ok((Clause::ToIpv4, number, out))
            }
        }
    }

    /// The clause by which UDP without a checksum goes on, if it does. `otherwise`: that of other packets.
    pub(super) fn no_checksum(&self, otherwise: Clause, is_fragment: bool) -> Result<Clause, Clause> {
        match self.settings.zero_checksum {
            ZeroChecksum::Forward => Ok(otherwise),
            ZeroChecksum::Compute if !is_fragment => Ok(Clause::ChecksumComputed),
            ZeroChecksum::Compute | ZeroChecksum::Drop => Err(Clause::ZeroChecksum),
        }
    }

    /// A packet that an ICMPv6 error quotes, or the first part of one, and how much of the bytes it is: RFC 7915
    /// section 5.3. Its hop limit stays.
    pub(super) fn quoted_to_ipv4(&self, context: &Context, bytes: &[u8]) -> Result<(Vec<u8>, usize), Clause> {
        let packet = ipv6::Packet::parse(Span::whole(bytes).open_ended()).map_err(|_| Clause::QuotedPacket)?;
        let upper = Upper::read(&packet).map_err(|_| Clause::QuotedPacket)?;
        if upper.is_extended_fragment || is_of_ipv4_alone(upper.protocol) {
            return Err(Clause::QuotedPacket);
        }
        let ends = self.ends_of_quoted_ipv6(context, &packet).map_err(|_| Clause::QuotedPacket)?;
        let room = ipv4::HEADER_BYTES;
        let mut out = blank(room, upper.payload);
        let payload_bytes = (packet.total_bytes() - ipv6::HEADER_BYTES).saturating_sub(upper.bytes);
        let number = if upper.protocol == protocol::ICMPV6 { protocol::ICMP } else { upper.protocol };
        if !upper.is_later_fragment() && number == protocol::ICMP {
            let sums = Sums::of(&ends).icmp(payload_bytes);
            icmp::quoted_echo(&mut out[room..], ECHO6, ECHO4, sums.to_ipv4())?;
        } else if !upper.is_later_fragment() {
            transport::update(number, &mut out[room..], Sums::of(&ends).to_ipv4());
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
            payload_bytes: payload_bytes.min(MOST_BYTES - ipv4::HEADER_BYTES),
        };
        out[..room].copy_from_slice(&header.emit());
        Ok((out, packet.total_bytes()))
    }
}

/// True if a packet is an ICMPv6 error: RFC 4443 section 2.1.
fn is_error(upper: &Upper<'_>) -> bool {
    let kind = upper.payload.first();
    upper.protocol == protocol::ICMPV6 && !upper.is_later_fragment() && kind.is_some_and(|&kind| kind < 128)
}

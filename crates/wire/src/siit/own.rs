//! Packets to the translator's own addresses, treated as by a node on which nothing listens: RFC 1122, RFC 4443.

use super::headers::{Upper, check_source_route};
use super::{Clause, Decision, Stop, Translator, Verdict};
use crate::addresses::{is_host4, is_host6};
use crate::icmp::{V4Repr, V6Repr};
use crate::{Span, checksum, echo, ipv4, ipv6, protocol, tcp, udp};

/// The packet to send to the source of a packet; or the ICMP error for it, or the reason why it gets nothing.
type Received<T> = Result<Vec<u8>, Stop<T>>;

/// RFC 792, RFC 4443 section 3.1: nothing listens on the port.
const NO_PORT4: V4Repr = unreachable(3);
const NO_PORT6: V6Repr = V6Repr::Unreachable { code: 4, quoted_words: 0 };
/// RFC 1122 section 3.2.2.1: nothing takes the protocol.
const NO_PROTOCOL4: V4Repr = unreachable(2);
/// RFC 4443 section 3.4: the Next Header is not known.
const UNKNOWN_NEXT_HEADER: u8 = 1;

/// RFC 3168 section 6.1.1: a reset has no ECN.
const ECN: u8 = 3;

const fn unreachable(code: u8) -> V4Repr {
    V4Repr::Unreachable { code, quoted_words: 0, mtu_bytes: 0 }
}

impl Translator {
    /// The decision about an IPv4 packet to the translator itself. `None`: it is to another address.
    pub(crate) fn receive4(&mut self, bytes: &[u8], packet: &ipv4::Packet<'_>) -> Option<Decision> {
        if packet.destination() != self.settings.own4 {
            return None;
        }
        Some(match received4(bytes, packet) {
            Ok(reply) => Decision::replied(reply),
            Err(stop) => self.decide(Err(stop), |translator, error| translator.answer4(bytes, packet, error)),
        })
    }

    /// The same for an IPv6 packet.
    pub(crate) fn receive6(&mut self, bytes: &[u8], packet: &ipv6::Packet<'_>) -> Option<Decision> {
        if Some(packet.destination()) != self.own6 {
            return None;
        }
        Some(match received6(packet) {
            Ok(reply) => Decision::replied(reply),
            Err(stop) => self.decide(Err(stop), |translator, error| translator.answer6(bytes, packet, error)),
        })
    }

    /// True if a packet is a fragment of one to the translator itself, which is put together before it is received: RFC
    /// 1122 section 3.3.2.
    pub fn is_own_fragment(&self, packet: &[u8]) -> bool {
        let span = Span::whole(packet);
        match packet.first().map(|octet| octet >> 4) {
            Some(4) => ipv4::Packet::parse(span).is_ok_and(|parsed| {
                let is_right = checksum::is_valid(&packet[..parsed.header_bytes()]);
                is_right && parsed.fragment().is_some() && parsed.destination() == self.settings.own4
            }),
            Some(6) => ipv6::Packet::parse(span).is_ok_and(|parsed| {
                let is_own = Some(parsed.destination()) == self.own6;
                is_own && Upper::read(&parsed).is_ok_and(|upper| upper.is_fragment())
            }),
            _ => false,
        }
    }
}

impl Decision {
    fn replied(reply: Vec<u8>) -> Self {
        Self { verdict: Verdict::Answered, clause: Clause::OwnAddress, packets: vec![reply] }
    }
}

/// The answer to an IPv4 packet. A packet from an address that is no host's, or the translator's, gets none: RFC 1122
/// section 3.2.1.3.
fn received4(bytes: &[u8], packet: &ipv4::Packet<'_>) -> Received<V4Repr> {
    check_source_route(&bytes[ipv4::HEADER_BYTES..packet.header_bytes()])?;
    let (source, own) = (packet.source(), packet.destination());
    if !is_host4(source, true) || source == own {
        return Err(Clause::NotUnicast.into());
    }
    if packet.fragment().is_some() {
        return Err(Clause::OwnAddress.into());
    }
    let payload = packet.payload().captured();
    let number = packet.protocol();
    let pseudo = |length: u16| checksum::pseudo_header_v4(source, own, number, length);
    match number {
        protocol::ICMP => echo::reply(bytes, |_| true).ok_or(Clause::OwnAddress.into()),
        protocol::IGMP => Err(Clause::Igmp.into()),
        protocol::TCP => {
            let reset = reset(payload, pseudo(payload.len() as u16), pseudo(tcp::HEADER_BYTES as u16))?;
            let header = ipv4::Repr::new([own, source], number, reset.len());
            let header = ipv4::Repr { dont_fragment: true, traffic_class: packet.traffic_class() & !ECN, ..header };
            Ok([&header.emit()[..], &reset].concat())
        }
        protocol::UDP => {
            let datagram = datagram(payload)?;
            let is_right =
                datagram[6..8] == [0, 0] || checksum::is_valid_upper_layer(pseudo(datagram.len() as u16), datagram);
            if is_right { Err(Stop::with_error(Clause::OwnAddress, NO_PORT4)) } else { Err(Clause::Malformed.into()) }
        }
        _ => Err(Stop::with_error(Clause::OwnAddress, NO_PROTOCOL4)),
    }
}

/// The same for IPv6: RFC 4443 section 2.2.
fn received6(packet: &ipv6::Packet<'_>) -> Received<V6Repr> {
    let (source, own) = (packet.source(), packet.destination());
    if !is_host6(source) || source == own {
        return Err(Clause::NotUnicast.into());
    }
    let upper = Upper::read(packet)?;
    if upper.is_fragment() {
        return Err(Clause::OwnAddress.into());
    }
    if let Some(pointer) = upper.segments_left_at {
        return Err(Stop::with_error(Clause::RoutingHeader, V6Repr::ParameterProblem { code: 0, pointer }));
    }
    let (payload, number) = (upper.payload, upper.protocol);
    let header = ipv6::Repr { next_header: number, payload_bytes: payload.len(), ..ipv6::Repr::parse(packet) };
    let pseudo = |length: usize| checksum::pseudo_header_v6(source, own, number, length as u32);
    match number {
        protocol::ICMPV6 => {
            let without_extensions = [&header.emit()[..], payload].concat();
            echo::reply(&without_extensions, |_| true).ok_or(Clause::OwnAddress.into())
        }
        protocol::NO_NEXT_HEADER => Err(Clause::OwnAddress.into()),
        protocol::TCP => {
            let reset = reset(payload, pseudo(payload.len()), pseudo(tcp::HEADER_BYTES))?;
            let header = ipv6::Repr::new([own, source], number, reset.len());
            let header = ipv6::Repr { traffic_class: packet.traffic_class() & !ECN, ..header };
            Ok([&header.emit()[..], &reset].concat())
        }
        protocol::UDP => {
            let datagram = datagram(payload)?;
            let is_right = datagram[6..8] != [0, 0] && checksum::is_valid_upper_layer(pseudo(datagram.len()), datagram);
            if is_right { Err(Stop::with_error(Clause::OwnAddress, NO_PORT6)) } else { Err(Clause::Malformed.into()) }
        }
        _ => {
            let error = V6Repr::ParameterProblem { code: UNKNOWN_NEXT_HEADER, pointer: upper.number_at };
            Err(Stop::with_error(Clause::OwnAddress, error))
        }
    }
}

/// The reset that answers a segment, with its checksum. `asked`, `answered`: the sums of the pseudo headers.
fn reset(segment: &[u8], asked: u16, answered: u16) -> Result<[u8; tcp::HEADER_BYTES], Clause> {
    if !checksum::is_valid_upper_layer(asked, segment) {
        return Err(Clause::Malformed);
    }
    let segment = tcp::Segment::parse(Span::whole(segment)).map_err(|_| Clause::Malformed)?;
    let mut reset = segment.reset().ok_or(Clause::OwnAddress)?;
    let sum = checksum::upper_layer(answered, &reset);
    reset[16..18].copy_from_slice(&sum.to_be_bytes());
    Ok(reset)
}

/// The datagram without what follows it in its packet.
fn datagram(payload: &[u8]) -> Result<&[u8], Clause> {
    let datagram = udp::Datagram::parse(Span::whole(payload)).map_err(|_| Clause::Malformed)?;
    payload.get(..udp::HEADER_BYTES + datagram.payload_bytes()).ok_or(Clause::Malformed)
}

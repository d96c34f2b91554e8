//! ICMP and ICMPv6 messages (RFC 792, RFC 4443) in the form of raw sockets.
//!
//! Pure: bytes in, values out; no bytes make it panic.

use std::net::IpAddr;

use sixbench_wire::icmp::{self, Echo, V4Repr, V6Repr, Version};
use sixbench_wire::{Span, checksum, ipv4, ipv6, protocol};

use crate::error_queue::icmp_error_name;

/// Length of type, code, checksum, identifier and sequence number.
pub const ECHO_HEADER_BYTES: usize = icmp::HEADER_BYTES;
/// The start of an echo's payload: token, number of the request, send time on the realtime clock.
pub const MARK_BYTES: usize = 24;

/// The contents of a ping's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The first bytes of the trial's token.
    pub token: u64,
    /// Number of the request, from 0; its low 16 bits are the sequence number of the ICMP header.
    pub number: u64,
    /// Time of sending.
    pub sent_realtime_ns: u64,
}

impl Mark {
    fn parse(payload: &[u8]) -> Option<Self> {
        let mut words = payload.first_chunk::<MARK_BYTES>()?.chunks_exact(8).filter_map(|word| word.first_chunk());
        let mut word = || words.next().map(|word| u64::from_be_bytes(*word));
        Some(Self { token: word()?, number: word()?, sent_realtime_ns: word()? })
    }
}

/// A message of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// An echo reply with our identifier and our form.
    Reply {
        /// The mark that it brings back.
        mark: Mark,
        /// The TTL it came with; in IPv6 the socket tells.
        ttl: Option<u8>,
    },
    /// An error about one of our requests, by the name its RFC gives it.
    Error(&'static str),
}

/// Builds the requests of one ping.
pub struct Requests {
    packet: Vec<u8>,
    is_ipv4: bool,
    /// The sum of all that does not change.
    constant_sum: u16,
}

impl Requests {
    /// Requests to that family with this identifier and payload, which is cut or filled up to the mark's length.
    pub fn new(is_ipv4: bool, identifier: u16, mut payload: Vec<u8>) -> Self {
        payload.resize(payload.len().max(MARK_BYTES), 0);
        payload[..MARK_BYTES].fill(0);
        let echo = Echo { is_reply: false, identifier, sequence: 0 };
        let header = if is_ipv4 { V4Repr::Echo(echo).emit(0) } else { V6Repr::Echo(echo).emit(0) };
        let packet = [&header[..], &payload].concat();
        let constant_sum = checksum::sum(&packet);
        Self { packet, is_ipv4, constant_sum }
    }

    /// The request of this mark. In ICMPv6 the kernel fills in the checksum (RFC 3542 section 3.1).
    pub fn request(&mut self, mark: Mark) -> &[u8] {
        self.packet[6..8].copy_from_slice(&(mark.number as u16).to_be_bytes());
        let words = [mark.token, mark.number, mark.sent_realtime_ns];
        for (place, word) in self.packet[ECHO_HEADER_BYTES..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        if self.is_ipv4 {
            let changing = &self.packet[6..ECHO_HEADER_BYTES + MARK_BYTES];
            let checksum = checksum::upper_layer(self.constant_sum, changing);
            self.packet[2..4].copy_from_slice(&checksum.to_be_bytes());
        }
        &self.packet
    }
}

/// Reads what a raw socket of this family received: IPv4 comes with its header, IPv6 without. `peer` is whom the
/// requests went to, and `payload_bytes` the length of their payload.
pub fn parse(bytes: &[u8], peer: IpAddr, identifier: u16, payload_bytes: usize) -> Option<Message> {
    let received = Span::whole(bytes);
    let (message, ttl) = match peer {
        IpAddr::V4(_) => {
            let packet = ipv4::Packet::parse(received).ok()?;
            (icmp::Message::parse(Version::V4, packet.payload()).ok()?, Some(packet.hop_limit()))
        }
        IpAddr::V6(_) => (icmp::Message::parse(Version::V6, received).ok()?, None),
    };
    let payload = message.payload();
    if let Some(reply) = message.echo().filter(|echo| echo.is_reply) {
        let mark = Mark::parse(payload.captured()).filter(|_| payload.captured().len() == payload_bytes)?;
        let is_ours = message.code() == 0 && reply.identifier == identifier && reply.sequence == mark.number as u16;
        return is_ours.then_some(Message::Reply { mark, ttl });
    }
    let name = icmp_error_name(peer.is_ipv4(), message.kind(), message.code())?;
    let request = quoted(peer, payload.open_ended())?.echo()?;
    (!request.is_reply && request.identifier == identifier).then_some(Message::Error(name))
}

/// Message types that [`parse`] knows: those to let through the socket's filter.
pub fn types_of_interest(is_ipv4: bool) -> &'static [u8] {
    if is_ipv4 { &[0, 3, 4, 5, 11, 12] } else { &[1, 2, 3, 4, 129] }
}

/// The message to `peer` that an error quotes. A later fragment has no ICMP header to tell by.
fn quoted(peer: IpAddr, quote: Span<'_>) -> Option<icmp::Message<'_>> {
    let (to, upper_layer, is_icmp, version) = match peer {
        IpAddr::V4(_) => {
            let packet = ipv4::Packet::parse(quote).ok()?;
            let is_first = packet.fragment().is_none_or(|fragment| fragment.offset_bytes == 0);
            let is_icmp = is_first && packet.protocol() == protocol::ICMP;
            (packet.destination().into(), packet.payload(), is_icmp, Version::V4)
        }
        IpAddr::V6(_) => {
            let packet = ipv6::Packet::parse(quote).ok()?;
            let upper_layer = packet.upper_layer();
            let is_first = upper_layer.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
            let is_icmp = is_first && upper_layer.protocol == protocol::ICMPV6;
            (IpAddr::from(packet.destination()), upper_layer.payload, is_icmp, Version::V6)
        }
    };
    icmp::Message::parse(version, upper_layer).ok().filter(|_| is_icmp && to == peer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9));
    const MARK: Mark = Mark { token: 0x0102_0304_0506_0708, number: 0x1_0002, sent_realtime_ns: 77 };

    fn ipv4(protocol: u8, ttl: u8, offset_bytes: u16, payload: &[u8]) -> Vec<u8> {
        let header = ipv4::Repr {
            offset_bytes,
            hop_limit: ttl,
            ..ipv4::Repr::new([[192, 0, 2, 1].into(), [192, 0, 2, 9].into()], protocol, payload.len())
        };
        [&header.emit(), payload].concat()
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let IpAddr::V6(destination) = V6 else { unreachable!() };
        let (source, payload_bytes) = (std::net::Ipv6Addr::UNSPECIFIED, payload.len());
        let header = ipv6::Repr::new([source, destination], next, payload_bytes);
        [&header.emit(), payload].concat()
    }

    fn echo(is_ipv4: bool, payload_bytes: usize) -> Vec<u8> {
        Requests::new(is_ipv4, 0x1234, vec![0xab; payload_bytes]).request(MARK).to_vec()
    }

    #[test]
    fn the_layout_of_a_request() {
        let packet = echo(true, 26);
        assert_eq!(packet[..2], [8, 0]);
        assert_eq!(packet[4..8], [0x12, 0x34, 0, 2]);
        assert_eq!(packet[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(packet[16..32], [0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 77]);
        assert_eq!(packet[32..], [0xab; 2]);
        assert_eq!(echo(false, 26)[..4], [128, 0, 0, 0]);
    }

    #[test]
    fn the_reply_to_a_request_is_read() {
        let mut icmp = echo(true, 31);
        icmp[0] = 0;
        let packet = ipv4(1, 61, 0, &icmp);
        assert_eq!(parse(&packet, V4, 0x1234, 31), Some(Message::Reply { mark: MARK, ttl: Some(61) }));
        assert_eq!(parse(&packet, V4, 0x1235, 31), None);
        assert_eq!(parse(&packet, V4, 0x1234, 30), None);
        let mut icmp = echo(false, 31);
        icmp[0] = 129;
        assert_eq!(parse(&icmp, V6, 0x1234, 31), Some(Message::Reply { mark: MARK, ttl: None }));
        // The sequence number of the header must be that of the mark.
        icmp[7] ^= 1;
        assert_eq!(parse(&icmp, V6, 0x1234, 31), None);
    }

    #[test]
    fn errors_count_where_they_quote_one_of_our_requests() {
        let error =
            |kind: u8, code: u8, quote: &[u8]| ipv4(1, 64, 0, &[&[kind, code, 0, 0, 0, 0, 0, 0], quote].concat());
        let quote = ipv4(1, 1, 0, &echo(true, 24)[..8]);
        for (kind, code, name) in [
            (3, 1, "destination-unreachable"),
            (3, 4, "fragmentation-needed"),
            (11, 0, "time-exceeded"),
            (12, 0, "parameter-problem"),
        ] {
            assert_eq!(parse(&error(kind, code, &quote), V4, 0x1234, 24), Some(Message::Error(name)));
        }
        let other = [
            ipv4(17, 1, 0, &echo(true, 24)[..8]),
            ipv4(1, 1, 800, &echo(true, 24)[..8]),
            ipv4(1, 1, 0, &echo(true, 24)[..5]),
            Vec::new(),
        ];
        for quote in other {
            assert_eq!(parse(&error(3, 1, &quote), V4, 0x1234, 24), None);
        }
        assert_eq!(parse(&error(3, 1, &quote), V4, 0x4321, 24), None);
    }

    #[test]
    fn icmpv6_errors_quote_fragments_too() {
        let error = |kind: u8, quote: &[u8]| [&[kind, 0, 0, 0, 0, 0, 5, 0], quote].concat();
        let icmp = &echo(false, 24)[..8];
        let whole = ipv6(58, icmp);
        let first = ipv6(44, &[&[58, 0, 0, 1, 0, 0, 0, 1], icmp].concat());
        let later = ipv6(44, &[&[58, 0, 1, 1, 0, 0, 0, 1], icmp].concat());
        assert_eq!(parse(&error(2, &whole), V6, 0x1234, 24), Some(Message::Error("packet-too-big")));
        assert_eq!(parse(&error(3, &first), V6, 0x1234, 24), Some(Message::Error("time-exceeded")));
        assert_eq!(parse(&error(2, &later), V6, 0x1234, 24), None);
        assert_eq!(parse(&error(2, &ipv6(17, icmp)), V6, 0x1234, 24), None);
    }

    proptest! {
        #[test]
        fn checksums_are_right(payload in prop::collection::vec(any::<u8>(), 24..200), number in any::<u64>()) {
            let mut requests = Requests::new(true, 77, payload);
            for number in [number, number.wrapping_add(1)] {
                // RFC 1071: the sum over a packet with its checksum is all ones.
                let request = requests.request(Mark { number, ..MARK });
                prop_assert!(checksum::is_valid(request));
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0_u8..13) {
            parse(&bytes, V6, 0, 24);
            parse(&bytes, V4, 0, 24);
            let error = ipv4(1, 1, 0, &[&[kind, 0][..], &bytes].concat());
            parse(&error, V4, 0, 24);
            parse(&[&[kind][..], &bytes].concat(), V6, 0, 24);
        }
    }
}

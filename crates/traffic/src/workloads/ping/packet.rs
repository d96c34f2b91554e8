//! ICMP and ICMPv6 messages (RFC 792, RFC 4443) as raw sockets take and give them.
//!
//! Pure: bytes in, values out; no bytes make it panic.

use std::net::IpAddr;

use crate::error_queue::icmp_error_name;

/// Type, code, checksum, identifier, sequence number.
pub const ECHO_HEADER_BYTES: usize = 8;
/// The start of an echo's payload: token, number of the request, send time on the realtime clock.
pub const MARK_BYTES: usize = 24;

const IPV6_HEADER_BYTES: usize = 40;
const FRAGMENT_HEADER_BYTES: usize = 8;
/// Protocol numbers.
const ICMP: u8 = 1;
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;

/// What a ping's payload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The first bytes of the trial's token.
    pub token: u64,
    /// Number of the request, from 0; its low 16 bits are the sequence number of the ICMP header.
    pub number: u64,
    /// When it was sent.
    pub sent_realtime_ns: u64,
}

/// A message of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// An echo reply with our identifier and our form.
    Reply {
        /// What it brings back.
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
    constant_sum: u64,
}

impl Requests {
    /// Requests to that family with this identifier and payload, which is cut or filled up to the mark's length.
    pub fn new(is_ipv4: bool, identifier: u16, mut payload: Vec<u8>) -> Self {
        payload.resize(payload.len().max(MARK_BYTES), 0);
        let mut packet = vec![if is_ipv4 { 8 } else { 128 }, 0, 0, 0];
        packet.extend_from_slice(&identifier.to_be_bytes());
        packet.extend_from_slice(&[0, 0]);
        packet.append(&mut payload);
        packet[ECHO_HEADER_BYTES..ECHO_HEADER_BYTES + MARK_BYTES].fill(0);
        let constant_sum = sum(&packet);
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
            let checksum = !fold(self.constant_sum + sum(changing));
            self.packet[2..4].copy_from_slice(&checksum.to_be_bytes());
        }
        &self.packet
    }
}

/// Reads what a raw socket of this family received: IPv4 comes with its header, IPv6 without. `peer` is whom the
/// requests went to, and `payload_bytes` the length of their payload.
pub fn parse(bytes: &[u8], peer: IpAddr, identifier: u16, payload_bytes: usize) -> Option<Message> {
    match peer {
        IpAddr::V4(_) => {
            let (icmp, _) = ipv4_payload(bytes)?;
            match icmp.first()? {
                0 => reply(icmp, identifier, payload_bytes, bytes.get(8).copied()),
                kind => error(true, *kind, *icmp.get(1)?).filter(|_| quotes_ipv4(icmp, peer, identifier)),
            }
        }
        IpAddr::V6(_) => match bytes.first()? {
            129 => reply(bytes, identifier, payload_bytes, None),
            kind => error(false, *kind, *bytes.get(1)?).filter(|_| quotes_ipv6(bytes, peer, identifier)),
        },
    }
}

/// Message types that [`parse`] knows: those to let through the socket's filter.
pub fn types_of_interest(is_ipv4: bool) -> &'static [u8] {
    if is_ipv4 { &[0, 3, 4, 5, 11, 12] } else { &[1, 2, 3, 4, 129] }
}

fn reply(icmp: &[u8], identifier: u16, payload_bytes: usize, ttl: Option<u8>) -> Option<Message> {
    if icmp.len() != ECHO_HEADER_BYTES + payload_bytes || icmp.get(1) != Some(&0) || u16_at(icmp, 4)? != identifier {
        return None;
    }
    let mark = Mark { token: u64_at(icmp, 8)?, number: u64_at(icmp, 16)?, sent_realtime_ns: u64_at(icmp, 24)? };
    (u16_at(icmp, 6)? == mark.number as u16).then_some(Message::Reply { mark, ttl })
}

fn error(is_ipv4: bool, kind: u8, code: u8) -> Option<Message> {
    icmp_error_name(is_ipv4, kind, code).map(Message::Error)
}

/// Whether an ICMP error quotes an echo request of ours. A later fragment has no ICMP header to tell by.
fn quotes_ipv4(error: &[u8], peer: IpAddr, identifier: u16) -> bool {
    let quote = || {
        let (icmp, header) = ipv4_payload(error.get(ECHO_HEADER_BYTES..)?)?;
        let is_first = u16_at(header, 6)? & 0x1fff == 0;
        let to = IpAddr::from(*header.get(16..20)?.first_chunk::<4>()?);
        Some(is_first && header[9] == ICMP && to == peer && icmp.first()? == &8 && u16_at(icmp, 4)? == identifier)
    };
    quote().unwrap_or(false)
}

fn quotes_ipv6(error: &[u8], peer: IpAddr, identifier: u16) -> bool {
    let quote = || {
        let header = error.get(ECHO_HEADER_BYTES..)?;
        let to = IpAddr::from(*header.get(24..40)?.first_chunk::<16>()?);
        let mut next = *header.get(6)?;
        let mut rest = header.get(IPV6_HEADER_BYTES..)?;
        if next == FRAGMENT {
            if u16_at(rest, 2)? >> 3 != 0 {
                return None;
            }
            next = *rest.first()?;
            rest = rest.get(FRAGMENT_HEADER_BYTES..)?;
        }
        Some(next == ICMPV6 && to == peer && rest.first()? == &128 && u16_at(rest, 4)? == identifier)
    };
    quote().unwrap_or(false)
}

/// What follows an IPv4 header, and the header.
fn ipv4_payload(packet: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = *packet.first()?;
    let header_bytes = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    packet.split_at_checked(header_bytes).map(|(header, payload)| (payload, header))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The sum of the Internet checksum (RFC 1071), not folded.
fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let sum: u64 = words.by_ref().map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    sum + words.remainder().first().map_or(0, |last| u64::from(*last) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9));
    const MARK: Mark = Mark { token: 0x0102_0304_0506_0708, number: 0x1_0002, sent_realtime_ns: 77 };

    fn ipv4(protocol: u8, ttl: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, ttl, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 9];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet.extend_from_slice(payload);
        packet
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        packet.extend_from_slice(&[0; 16]);
        let IpAddr::V6(to) = V6 else { unreachable!() };
        packet.extend_from_slice(&to.octets());
        packet.extend_from_slice(payload);
        packet
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
            ipv4(1, 1, 100, &echo(true, 24)[..8]),
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
                prop_assert_eq!(fold(sum(requests.request(Mark { number, ..MARK }))), 0xffff);
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

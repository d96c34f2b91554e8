//! The bytes of a frame: Ethernet, IP, UDP and the mark. Pure.
//!
//! A frame of 64 bytes over IPv4, and one of 84 over IPv6 (RFC 8219 section 3.1), has 18 bytes for UDP's payload, its frame check sequence
//! counted. The mark is as long: the token's first eight bytes inverted, so that it is no datagram of another workload; the sequence number
//! (u32); one bit that is set in the warm-up; 47 bits of the realtime clock in nanoseconds, which begin anew after 39 hours.

use std::net::IpAddr;

use sixbench_wire::{checksum, ethernet, ethernet::ethertype, protocol, udp};

use crate::datagram::Phase;

/// Length of the mark.
pub const MARK_BYTES: usize = 18;
/// A frame's check sequence, which counts in its size (RFC 2544) and which the interface adds.
pub const FCS_BYTES: usize = 4;
/// The headers before the mark and the mark, over IPv4.
pub const HEAD_BYTES_V4: usize = headers_bytes(true) + MARK_BYTES;
/// The same over IPv6.
pub const HEAD_BYTES_V6: usize = headers_bytes(false) + MARK_BYTES;
/// What follows the mark. It differs from all that workloads say to each other by datagrams.
pub const FILL: u8 = 0xa5;

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const TIME_BITS: u32 = 47;
const WARMUP_BIT: u64 = 1 << TIME_BITS;
const DONT_FRAGMENT: u16 = 0x4000;

/// The bytes before UDP's payload.
pub const fn headers_bytes(is_ipv4: bool) -> usize {
    ethernet::HEADER_BYTES + if is_ipv4 { IPV4_HEADER_BYTES } else { IPV6_HEADER_BYTES } + udp::HEADER_BYTES
}

/// The first eight bytes of UDP's payload.
pub fn signature(token: u64) -> u64 {
    !token
}

/// What a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Position in its phase, from 0.
    pub sequence: u32,
    /// When it was sent, on the realtime clock.
    pub sent_realtime_ns: u64,
    /// Its phase.
    pub phase: Phase,
}

impl Mark {
    /// What follows the signature.
    fn encode(&self) -> [u8; MARK_BYTES - 8] {
        let warmup = if self.phase == Phase::WarmUp { WARMUP_BIT } else { 0 };
        let time = (self.sent_realtime_ns & (WARMUP_BIT - 1)) | warmup;
        let mut bytes = [0; MARK_BYTES - 8];
        bytes[..4].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[4..].copy_from_slice(&time.to_be_bytes()[2..]);
        bytes
    }

    /// Reads it; of the times that it may mean, it means the one nearest to `now_realtime_ns`.
    fn decode(bytes: &[u8; MARK_BYTES - 8], now_realtime_ns: u64) -> Self {
        let word =
            |range: std::ops::Range<usize>| bytes[range].iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        let (sequence, time) = (word(0..4), word(4..10));
        let phase = if time & WARMUP_BIT == 0 { Phase::Measured } else { Phase::WarmUp };
        // The difference as a signed number of 47 bits.
        let unused = u64::BITS - TIME_BITS;
        let ahead_ns = (time.wrapping_sub(now_realtime_ns) << unused) as i64 >> unused;
        Self { sequence: sequence as u32, sent_realtime_ns: now_realtime_ns.wrapping_add_signed(ahead_ns), phase }
    }
}

/// Between which interfaces and addresses frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The sender's interface.
    pub source_ethernet: [u8; 6],
    /// The next hop's.
    pub destination_ethernet: [u8; 6],
    /// Of the same family as `destination`.
    pub source: IpAddr,
    /// Where they go.
    pub destination: IpAddr,
    /// TTL or hop limit.
    pub hop_limit: u8,
}

/// The frames of one flow, which differ in their ports and in their marks. `N` is [`HEAD_BYTES_V4`] or [`HEAD_BYTES_V6`].
#[derive(Debug, Clone)]
pub struct Template<const N: usize> {
    head: [u8; N],
    /// Of all that UDP's checksum covers and that is the same in every frame.
    sum: u16,
}

impl<const N: usize> Template<N> {
    /// Of frames with that payload, of at least [`MARK_BYTES`] bytes.
    pub fn new(way: &Way, token: u64, payload_bytes: usize) -> Self {
        let udp_bytes = (udp::HEADER_BYTES + payload_bytes) as u16;
        let mut bytes = Vec::with_capacity(N);
        bytes.extend(way.destination_ethernet);
        bytes.extend(way.source_ethernet);
        let pseudo_header = match (way.source, way.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                bytes.extend(ethertype::IPV4.to_be_bytes());
                let mut header = [0; IPV4_HEADER_BYTES];
                header[0] = 0x45;
                header[2..4].copy_from_slice(&(IPV4_HEADER_BYTES as u16 + udp_bytes).to_be_bytes());
                header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
                (header[8], header[9]) = (way.hop_limit, protocol::UDP);
                header[12..16].copy_from_slice(&source.octets());
                header[16..].copy_from_slice(&destination.octets());
                let sum = checksum::checksum(&header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                bytes.extend(header);
                checksum::pseudo_header_v4(source, destination, protocol::UDP, udp_bytes)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                bytes.extend(ethertype::IPV6.to_be_bytes());
                bytes.extend([0x60, 0, 0, 0]);
                bytes.extend(udp_bytes.to_be_bytes());
                bytes.extend([protocol::UDP, way.hop_limit]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
                checksum::pseudo_header_v6(source, destination, protocol::UDP, u32::from(udp_bytes))
            }
            _ => unreachable!("addresses of one family"),
        };
        bytes.extend([0; 4]);
        bytes.extend(udp_bytes.to_be_bytes());
        bytes.extend([0; 2]);
        bytes.extend(signature(token).to_be_bytes());
        bytes.extend([0; MARK_BYTES - 8]);
        let head: [u8; N] = bytes.try_into().expect("a head of the family's length");
        let fixed = checksum::sum(&head[N - MARK_BYTES - udp::HEADER_BYTES..]);
        let fill = checksum::sum(&vec![FILL; payload_bytes.saturating_sub(MARK_BYTES)]);
        Self { head, sum: checksum::add(pseudo_header, checksum::add(fixed, fill)) }
    }

    /// The head of one frame, up to the end of its mark.
    #[inline]
    pub fn frame(&self, (source_port, destination_port): (u16, u16), mark: &Mark) -> [u8; N] {
        let mut head = self.head;
        let (udp_at, mark) = (N - MARK_BYTES - udp::HEADER_BYTES, mark.encode());
        let ports = checksum::add(source_port, destination_port);
        let sum = checksum::add(self.sum, checksum::add(ports, checksum::sum(&mark)));
        head[udp_at..udp_at + 2].copy_from_slice(&source_port.to_be_bytes());
        head[udp_at + 2..udp_at + 4].copy_from_slice(&destination_port.to_be_bytes());
        head[udp_at + 6..udp_at + 8].copy_from_slice(&checksum::never_zero(!sum).to_be_bytes());
        head[N - mark.len()..].copy_from_slice(&mark);
        head
    }
}

/// What a frame was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// One of the flow, as it was sent.
    Whole(Mark),
    /// One of the flow whose length or checksum is wrong.
    Corrupt,
    /// None of the flow.
    Stray,
}

/// What a receiver looks for.
#[derive(Debug, Clone, Copy)]
pub struct Sought {
    /// The receiver's own address.
    pub destination: IpAddr,
    /// The sender's, as the receiver knows it.
    pub source: IpAddr,
    /// Of the trial.
    pub token: u64,
    /// Of each frame.
    pub payload_bytes: usize,
}

impl Sought {
    /// Reads a frame from its Ethernet header on, which came at that time. What pads a short frame is not looked at.
    pub fn read(&self, frame: &[u8], received_realtime_ns: u64) -> Read {
        let is_ipv4 = self.destination.is_ipv4();
        let headers_bytes = headers_bytes(is_ipv4);
        let marked = frame.get(headers_bytes..).and_then(|payload| payload.first_chunk::<MARK_BYTES>());
        let Some(marked) = marked.filter(|marked| marked[..8] == signature(self.token).to_be_bytes()) else {
            return Read::Stray;
        };
        let (packet, mark) = (&frame[ethernet::HEADER_BYTES..], &marked[8..]);
        let Some(mark) = mark.first_chunk() else { return Read::Stray };
        let Some(found) = addresses(packet, is_ipv4) else { return Read::Corrupt };
        if found != (self.source, self.destination) {
            return Read::Stray;
        }
        if self.is_whole(packet, is_ipv4) {
            Read::Whole(Mark::decode(mark, received_realtime_ns))
        } else {
            Read::Corrupt
        }
    }

    /// Whether lengths and checksums are right.
    fn is_whole(&self, packet: &[u8], is_ipv4: bool) -> bool {
        let udp_bytes = udp::HEADER_BYTES + self.payload_bytes;
        let header_bytes = if is_ipv4 { IPV4_HEADER_BYTES } else { IPV6_HEADER_BYTES };
        let (Some(header), Some(datagram)) =
            (packet.get(..header_bytes), packet.get(header_bytes..header_bytes + udp_bytes))
        else {
            return false;
        };
        let length = |at: usize, bytes: &[u8]| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let is_header_right = if is_ipv4 {
            length(2, header) == header_bytes + udp_bytes && header[9] == protocol::UDP && checksum::is_valid(header)
        } else {
            length(4, header) == udp_bytes && header[6] == protocol::UDP
        };
        let pseudo_header = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                checksum::pseudo_header_v4(source, destination, protocol::UDP, udp_bytes as u16)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                checksum::pseudo_header_v6(source, destination, protocol::UDP, udp_bytes as u32)
            }
            _ => return false,
        };
        let is_summed = checksum::add(pseudo_header, checksum::sum(datagram)) == 0xffff;
        is_header_right && length(4, datagram) == udp_bytes && is_summed
    }
}

/// Source and destination of a packet whose header has no options; absent where it is none of that family.
fn addresses(packet: &[u8], is_ipv4: bool) -> Option<(IpAddr, IpAddr)> {
    let four = |at: usize| packet.get(at..)?.first_chunk::<4>().map(|&octets| IpAddr::from(octets));
    let six = |at: usize| packet.get(at..)?.first_chunk::<16>().map(|&octets| IpAddr::from(octets));
    match (is_ipv4, packet.first()?) {
        (true, 0x45) => Some((four(12)?, four(16)?)),
        (false, version) if version >> 4 == 6 => Some((six(8)?, six(24)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sixbench_wire::Span;

    use super::*;

    const TOKEN: u64 = 0x0102_0304_0506_0708;
    const NOW_NS: u64 = 1_800_000_000_123_456_789;

    fn way(is_ipv4: bool) -> Way {
        let (source, destination) =
            if is_ipv4 { ("198.18.0.2", "198.19.0.2") } else { ("2001:2::2", "2001:2:0:8000::2") };
        Way {
            source_ethernet: [2, 0, 0, 0, 0, 1],
            destination_ethernet: [2, 0, 0, 0, 0, 2],
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            hop_limit: 64,
        }
    }

    fn mark() -> Mark {
        Mark { sequence: 77, sent_realtime_ns: NOW_NS - 5_000, phase: Phase::Measured }
    }

    fn frame(is_ipv4: bool, payload_bytes: usize) -> Vec<u8> {
        let fill = vec![FILL; payload_bytes - MARK_BYTES];
        if is_ipv4 {
            let template = Template::<HEAD_BYTES_V4>::new(&way(true), TOKEN, payload_bytes);
            [&template.frame((49152, 7), &mark())[..], &fill].concat()
        } else {
            let template = Template::<HEAD_BYTES_V6>::new(&way(false), TOKEN, payload_bytes);
            [&template.frame((49152, 7), &mark())[..], &fill].concat()
        }
    }

    fn sought(is_ipv4: bool, payload_bytes: usize) -> Sought {
        let Way { source, destination, .. } = way(is_ipv4);
        Sought { destination, source, token: TOKEN, payload_bytes }
    }

    #[test]
    fn the_smallest_frames_are_those_of_the_rfcs() {
        assert_eq!(frame(true, MARK_BYTES).len() + FCS_BYTES, 64);
        assert_eq!(frame(false, MARK_BYTES).len() + FCS_BYTES, 84);
    }

    #[test]
    fn what_is_written_is_read_and_is_right_for_others() {
        for (is_ipv4, payload_bytes) in [(true, 18), (true, 19), (true, 1472), (false, 18), (false, 1453)] {
            let frame = frame(is_ipv4, payload_bytes);
            let read = sought(is_ipv4, payload_bytes).read(&frame, NOW_NS);
            assert_eq!(read, Read::Whole(mark()), "{is_ipv4} {payload_bytes}");
            let layers = format!(
                "{:?}",
                sixbench_wire::ethernet::Frame::parse(Span::new(&frame, frame.len())).map(|f| f.ethertype())
            );
            assert!(layers.contains(if is_ipv4 { "2048" } else { "34525" }), "{layers}");
        }
    }

    #[test]
    fn a_short_frame_may_be_padded() {
        let padded = [&frame(true, 18)[..], &[0; 4]].concat();
        assert_eq!(sought(true, 18).read(&padded, NOW_NS), Read::Whole(mark()));
    }

    #[test]
    fn any_bit_that_flips_is_noticed() {
        for is_ipv4 in [true, false] {
            let good = frame(is_ipv4, 30);
            for bit in 8 * ethernet::HEADER_BYTES..8 * good.len() {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                // Nothing protects traffic class, flow label and hop limit in IPv6.
                let is_class = bit / 8 == 14 && bit % 8 < 4;
                let unprotected = !is_ipv4 && (is_class || [15, 16, 17, 21].contains(&(bit / 8)));
                let read = sought(is_ipv4, 30).read(&bad, NOW_NS);
                assert!(unprotected || !matches!(read, Read::Whole(_)), "bit {bit}");
            }
        }
    }

    #[test]
    fn another_length_is_corrupt_and_another_address_is_stray() {
        let good = frame(true, 30);
        assert_eq!(sought(true, 31).read(&good, NOW_NS), Read::Corrupt);
        assert_eq!(sought(true, 30).read(&good[..50], NOW_NS), Read::Stray);
        let other = Sought { destination: [198, 19, 0, 3].into(), ..sought(true, 30) };
        assert_eq!(other.read(&good, NOW_NS), Read::Stray);
        let other = Sought { token: TOKEN + 1, ..sought(true, 30) };
        assert_eq!(other.read(&good, NOW_NS), Read::Stray);
    }

    proptest! {
        #[test]
        fn times_near_now_are_meant(now_ns in 1_u64 << 50..1 << 62, away_ns in -1_000_000_000_000_i64..1_000_000_000_000, sequence: u32) {
            let mark = Mark { sequence, sent_realtime_ns: now_ns.wrapping_add_signed(away_ns), phase: Phase::WarmUp };
            prop_assert_eq!(Mark::decode(&mark.encode(), now_ns), mark);
        }

        #[test]
        fn hostile_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..160), is_ipv4: bool, signed: bool) {
            let at = headers_bytes(is_ipv4);
            if let (true, Some(place)) = (signed, bytes.get_mut(at..at + 8)) {
                place.copy_from_slice(&signature(TOKEN).to_be_bytes());
            }
            let read = sought(is_ipv4, 18).read(&bytes, NOW_NS);
            prop_assert!(!matches!(read, Read::Whole(_)));
        }
    }
}

//! The bytes of a frame: Ethernet, IP, UDP and the mark. Pure.
//!
//! A frame of 64 bytes over IPv4, and one of 84 over IPv6 (RFC 8219 section 5.1.1), has 18 bytes for UDP's payload, its
//! frame check sequence counted. The mark is as long: the token's first eight bytes inverted, so that it is no datagram
//! of another workload; the sequence number (u32); one bit that is set in the warm-up; 47 bits of the realtime clock in
//! nanoseconds, which begin anew after 39 hours.

use std::net::IpAddr;

use sixbench_wire::{checksum, ethernet, ethernet::ethertype, ipv6, protocol, udp};

use super::extensions::Extensions;
use crate::datagram::Phase;

/// Length of the mark.
pub const MARK_BYTES: usize = 18;
/// A frame's check sequence, which counts in its size (RFC 2544) and which the interface adds.
pub const FCS_BYTES: usize = 4;
/// The bytes behind the mark. They differ from all datagrams that the two ends of a workload exchange.
pub const FILL: u8 = 0xa5;

/// Length of an IPv4 header without options.
pub const IPV4_HEADER_BYTES: usize = 20;
const TIME_BITS: u32 = 47;
const WARMUP_BIT: u64 = 1 << TIME_BITS;
const DONT_FRAGMENT: u16 = 0x4000;

/// The bytes before UDP's payload, without extension headers.
pub const fn headers_bytes(is_ipv4: bool) -> usize {
    ethernet::HEADER_BYTES + if is_ipv4 { IPV4_HEADER_BYTES } else { ipv6::HEADER_BYTES } + udp::HEADER_BYTES
}

/// The first eight bytes of UDP's payload.
pub fn signature(token: u64) -> u64 {
    !token
}

/// The contents of a frame's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Position in its phase, from 0.
    pub sequence: u32,
    /// Time of sending, on the realtime clock.
    pub sent_realtime_ns: u64,
    /// Its phase.
    pub phase: Phase,
}

impl Mark {
    /// The bytes behind the signature.
    fn encode(&self) -> [u8; MARK_BYTES - 8] {
        let warmup = if self.phase == Phase::WarmUp { WARMUP_BIT } else { 0 };
        let time = (self.sent_realtime_ns & (WARMUP_BIT - 1)) | warmup;
        let mut bytes = [0; MARK_BYTES - 8];
        bytes[..4].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[4..].copy_from_slice(&time.to_be_bytes()[2..]);
        bytes
    }

    /// Reads a mark. Of the times that its 47 bits may stand for, it takes the one nearest to `now_realtime_ns`.
    pub fn decode(bytes: &[u8; MARK_BYTES - 8], now_realtime_ns: u64) -> Self {
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

/// The interfaces and addresses between which frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameAddresses {
    /// Ethernet address of the sender's interface.
    pub source_ethernet: [u8; 6],
    /// Ethernet address of the next hop.
    pub destination_ethernet: [u8; 6],
    /// The sender's address, of the same family as `destination`.
    pub source: IpAddr,
    /// The address that the frames go to.
    pub destination: IpAddr,
    /// TTL or hop limit.
    pub hop_limit: u8,
}

/// The frames between two addresses, which differ in their ports and in their marks.
#[derive(Debug, Clone)]
pub struct Template {
    /// All headers, and the mark.
    head: Vec<u8>,
    /// Sum of all that UDP's checksum covers and that is the same in every frame.
    sum: u16,
}

impl Template {
    /// The template of frames with that payload, of at least [`MARK_BYTES`] bytes. Extension headers are IPv6's.
    pub fn new(addresses: &FrameAddresses, extensions: Extensions, token: u64, payload_bytes: usize) -> Self {
        let udp_bytes = (udp::HEADER_BYTES + payload_bytes) as u16;
        let mut head = Vec::new();
        head.extend(addresses.destination_ethernet);
        head.extend(addresses.source_ethernet);
        let pseudo_header = match (addresses.source, addresses.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                head.extend(ethertype::IPV4.to_be_bytes());
                let mut header = [0; IPV4_HEADER_BYTES];
                header[0] = 0x45;
                header[2..4].copy_from_slice(&(IPV4_HEADER_BYTES as u16 + udp_bytes).to_be_bytes());
                header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
                (header[8], header[9]) = (addresses.hop_limit, protocol::UDP);
                header[12..16].copy_from_slice(&source.octets());
                header[16..].copy_from_slice(&destination.octets());
                let sum = checksum::checksum(&header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                head.extend(header);
                checksum::pseudo_header_v4(source, destination, protocol::UDP, udp_bytes)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let (next_header, headers) = extensions.emit();
                head.extend(ethertype::IPV6.to_be_bytes());
                head.extend([0x60, 0, 0, 0]);
                head.extend((headers.len() as u16 + udp_bytes).to_be_bytes());
                head.extend([next_header, addresses.hop_limit]);
                head.extend(source.octets());
                head.extend(destination.octets());
                head.extend(headers);
                checksum::pseudo_header_v6(source, destination, protocol::UDP, u32::from(udp_bytes))
            }
            _ => unreachable!("addresses of one family"),
        };
        head.extend([0; 4]);
        head.extend(udp_bytes.to_be_bytes());
        head.extend([0; 2]);
        head.extend(signature(token).to_be_bytes());
        head.extend([0; MARK_BYTES - 8]);
        let fixed = checksum::sum(&head[head.len() - MARK_BYTES - udp::HEADER_BYTES..]);
        let fill = checksum::sum(&vec![FILL; payload_bytes.saturating_sub(MARK_BYTES)]);
        Self { head, sum: checksum::add(pseudo_header, checksum::add(fixed, fill)) }
    }

    /// Length of the head of each frame, up to the end of its mark.
    pub fn head_bytes(&self) -> usize {
        self.head.len()
    }

    /// Writes the head of one frame, of [`Template::head_bytes`].
    #[inline]
    pub fn write(&self, (source_port, destination_port): (u16, u16), mark: &Mark, into: &mut [u8]) {
        into.copy_from_slice(&self.head);
        let (udp_at, mark) = (into.len() - MARK_BYTES - udp::HEADER_BYTES, mark.encode());
        let ports = checksum::add(source_port, destination_port);
        let sum = checksum::add(self.sum, checksum::add(ports, checksum::sum(&mark)));
        into[udp_at..udp_at + 2].copy_from_slice(&source_port.to_be_bytes());
        into[udp_at + 2..udp_at + 4].copy_from_slice(&destination_port.to_be_bytes());
        into[udp_at + 6..udp_at + 8].copy_from_slice(&checksum::never_zero(!sum).to_be_bytes());
        let mark_at = into.len() - mark.len();
        into[mark_at..].copy_from_slice(&mark);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_near_now_are_meant(now_ns in 1_u64 << 50..1 << 62, away_ns in -1_000_000_000_000_i64..1_000_000_000_000, sequence: u32) {
            let mark = Mark { sequence, sent_realtime_ns: now_ns.wrapping_add_signed(away_ns), phase: Phase::WarmUp };
            prop_assert_eq!(Mark::decode(&mark.encode(), now_ns), mark);
        }
    }
}

//! Reads received frames: each belongs to the flow, whole or damaged, or to a stranger. Pure.

use std::net::IpAddr;

use sixbench_wire::{Span, checksum, ethernet, ipv6, protocol, udp};

use super::extensions::Extensions;
use super::layout::{IPV4_HEADER_BYTES, Mark, headers_bytes, signature};
use super::networks::Networks;

/// The result of reading a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// One of the flow, as it was sent.
    Whole(Mark, Extended),
    /// One of the flow whose length or checksum is wrong.
    Corrupt,
    /// None of the flow.
    Stray,
}

/// The extension headers of a frame, compared with those that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extended {
    /// The headers that were sent, or none where none were.
    AsSent,
    /// Other headers, or none.
    Otherwise,
}

/// The frames that a receiver looks for.
#[derive(Debug, Clone)]
pub struct Sought {
    /// The receiver's own address.
    destination: IpAddr,
    /// Networks behind the receiver, whose addresses frames may have instead.
    networks: Option<Networks>,
    /// The sender's address, as the receiver knows it.
    source: IpAddr,
    /// The first bytes of the payload.
    signature: [u8; 8],
    payload_bytes: usize,
    /// The next-header number of the IPv6 header, and the extension headers; where none were sent, UDP's number.
    sent: (u8, Vec<u8>),
}

/// An IP packet as far as the receiver reads it.
struct Packet<'a> {
    source: IpAddr,
    destination: IpAddr,
    /// The headers between IPv6's and UDP's.
    extensions: &'a [u8],
    /// The number before `extensions`.
    next_header: u8,
    /// The bytes from UDP's header on, with the padding of the frame.
    rest: &'a [u8],
    /// True if the IP header is undamaged and its length fits that of UDP.
    is_right: bool,
}

impl Sought {
    /// Frames of that trial from `source` to `destination`, or to one of the networks behind it.
    pub fn new(
        (source, destination): (IpAddr, IpAddr),
        networks: Option<Networks>,
        token: u64,
        payload_bytes: usize,
        extensions: Extensions,
    ) -> Self {
        let signature = signature(token).to_be_bytes();
        let sent = if destination.is_ipv4() { Extensions::None.emit() } else { extensions.emit() };
        Self { destination, networks, source, signature, payload_bytes, sent }
    }

    /// True if the frames are of IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.destination.is_ipv4()
    }

    /// Length of UDP's payload in each frame.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// True if frames were sent with extension headers.
    pub fn is_extended(&self) -> bool {
        !self.sent.1.is_empty()
    }

    /// The places in a frame where the signature may be: without extension headers, and behind those that were sent.
    pub fn signature_at(&self) -> [usize; 2] {
        let without = headers_bytes(self.is_ipv4());
        [without, without + self.sent.1.len()]
    }

    /// Reads a frame from its Ethernet header on, which came at that time. The padding of a short frame is not looked
    /// at.
    pub fn read(&self, frame: &[u8], received_realtime_ns: u64) -> Read {
        let is_signed = |at: &usize| frame.get(*at..).is_some_and(|rest| rest.starts_with(&self.signature));
        let Some(at) = self.signature_at().into_iter().find(is_signed) else { return Read::Stray };
        let Some(mark) = frame.get(at + 8..).and_then(|mark| mark.first_chunk()) else { return Read::Stray };
        let udp_bytes = udp::HEADER_BYTES + self.payload_bytes;
        let packet = &frame[ethernet::HEADER_BYTES..];
        let packet = if self.is_ipv4() { of_ipv4(packet, udp_bytes) } else { of_ipv6(packet, udp_bytes) };
        let Some(packet) = packet else { return Read::Corrupt };
        let is_destination = packet.destination == self.destination
            || self.networks.is_some_and(|networks| networks.have(packet.destination));
        if packet.source != self.source || !is_destination {
            return Read::Stray;
        }
        if !packet.is_right || !is_whole(&packet, udp_bytes) {
            return Read::Corrupt;
        }
        let is_as_sent = (packet.next_header, packet.extensions) == (self.sent.0, &self.sent.1[..]);
        let extended = if is_as_sent { Extended::AsSent } else { Extended::Otherwise };
        Read::Whole(Mark::decode(mark, received_realtime_ns), extended)
    }
}

/// A packet whose header has no options; absent where it is none of IPv4.
fn of_ipv4(packet: &[u8], udp_bytes: usize) -> Option<Packet<'_>> {
    let (header, rest) = packet.split_at_checked(IPV4_HEADER_BYTES)?;
    let address = |at: usize| header[at..].first_chunk::<4>().map(|&octets| IpAddr::from(octets));
    let is_right = be16(header, 2) == Some(IPV4_HEADER_BYTES + udp_bytes)
        && header[9] == protocol::UDP
        && checksum::is_valid(header);
    let packet = Packet {
        source: address(12)?,
        destination: address(16)?,
        extensions: &[],
        next_header: header[9],
        rest,
        is_right,
    };
    (header[0] == 0x45).then_some(packet)
}

/// A packet with the extension headers that can be walked through; absent where it is none of IPv6.
fn of_ipv6(packet: &[u8], udp_bytes: usize) -> Option<Packet<'_>> {
    let read = ipv6::Packet::parse(Span::new(packet, packet.len())).ok()?;
    let rest = packet.get(ipv6::HEADER_BYTES..)?;
    let (extended, is_udp) = match read.next_header() {
        protocol::UDP => (0, true),
        _ => {
            let upper = read.upper_layer();
            let is_fragment = upper.fragment.is_some_and(|fragment| fragment.more || fragment.offset_bytes != 0);
            (upper.bytes, upper.protocol == protocol::UDP && upper.flaw.is_none() && !is_fragment)
        }
    };
    let (extensions, rest) = rest.split_at_checked(extended)?;
    Some(Packet {
        source: read.source().into(),
        destination: read.destination().into(),
        extensions,
        next_header: read.next_header(),
        rest,
        is_right: is_udp && read.total_bytes() == ipv6::HEADER_BYTES + extended + udp_bytes,
    })
}

/// True if UDP's length and checksum are right.
fn is_whole(packet: &Packet<'_>, udp_bytes: usize) -> bool {
    let Some(datagram) = packet.rest.get(..udp_bytes) else { return false };
    let pseudo_header = match (packet.source, packet.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            checksum::pseudo_header_v4(source, destination, protocol::UDP, udp_bytes as u16)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            checksum::pseudo_header_v6(source, destination, protocol::UDP, udp_bytes as u32)
        }
        _ => return false,
    };
    be16(datagram, 4) == Some(udp_bytes) && checksum::is_valid_upper_layer(pseudo_header, datagram)
}

fn be16(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk::<2>().map(|&two| u16::from_be_bytes(two).into())
}
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::layout::{FCS_BYTES, FILL, FrameAddresses, MARK_BYTES, Template};
    use super::*;
    use crate::datagram::Phase;

    const TOKEN: u64 = 0x0102_0304_0506_0708;
    const NOW_NS: u64 = 1_800_000_000_123_456_789;

    fn addresses(is_ipv4: bool) -> FrameAddresses {
        let (source, destination) =
            if is_ipv4 { ("198.18.0.2", "198.19.0.2") } else { ("2001:2::2", "2001:2:0:8000::2") };
        FrameAddresses {
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
        extended(is_ipv4, payload_bytes, Extensions::None)
    }

    fn extended(is_ipv4: bool, payload_bytes: usize, extensions: Extensions) -> Vec<u8> {
        let template = Template::new(&addresses(is_ipv4), extensions, TOKEN, payload_bytes);
        let mut frame = vec![FILL; template.head_bytes() + payload_bytes - MARK_BYTES];
        template.write((49152, 7), &mark(), &mut frame[..template.head_bytes()]);
        frame
    }

    fn sought(is_ipv4: bool, payload_bytes: usize) -> Sought {
        sought_with(is_ipv4, payload_bytes, Extensions::None)
    }

    fn sought_with(is_ipv4: bool, payload_bytes: usize, extensions: Extensions) -> Sought {
        let FrameAddresses { source, destination, .. } = addresses(is_ipv4);
        Sought::new((source, destination), None, TOKEN, payload_bytes, extensions)
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
            assert_eq!(read, Read::Whole(mark(), Extended::AsSent), "{is_ipv4} {payload_bytes}");
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
        assert_eq!(sought(true, 18).read(&padded, NOW_NS), Read::Whole(mark(), Extended::AsSent));
    }

    #[test]
    fn extension_headers_are_part_of_the_frame_and_are_looked_at() {
        for &(name, extensions) in Extensions::NAMES {
            let frame = extended(false, 18, extensions);
            assert_eq!(frame.len() + FCS_BYTES, 84 + extensions.bytes(), "{name}");
            let sought = sought_with(false, 18, extensions);
            assert_eq!(sought.read(&frame, NOW_NS), Read::Whole(mark(), Extended::AsSent), "{name}");
            assert_eq!(sought.is_extended(), extensions != Extensions::None);
        }
        let sought = sought_with(false, 18, Extensions::HopByHop);
        let (without, mut other) = (frame(false, 18), extended(false, 18, Extensions::HopByHop));
        assert_eq!(sought.read(&without, NOW_NS), Read::Whole(mark(), Extended::Otherwise));
        // Its padding.
        other[14 + 40 + 7] = 1;
        assert_eq!(sought.read(&other, NOW_NS), Read::Whole(mark(), Extended::Otherwise));
        // Its length, which reaches into UDP.
        other[14 + 40 + 1] = 1;
        assert_eq!(sought.read(&other, NOW_NS), Read::Corrupt);
        let mut fragment = extended(false, 18, Extensions::Fragment);
        fragment[14 + 40 + 3] = 1;
        assert_eq!(sought_with(false, 18, Extensions::Fragment).read(&fragment, NOW_NS), Read::Corrupt);
    }

    #[test]
    fn a_frame_to_a_network_behind_the_receiver_is_the_receivers() {
        let networks = Networks::parse("198.19.128.0/25", 3);
        let FrameAddresses { source, destination, .. } = addresses(true);
        for (last, expected) in [(2, true), (130, true), (3, false)] {
            let to = FrameAddresses { destination: [198, 19, 128, last].into(), ..addresses(true) };
            let template = Template::new(&to, Extensions::None, TOKEN, 18);
            let mut frame = vec![FILL; template.head_bytes()];
            template.write((1, 2), &mark(), &mut frame);
            let sought = Sought::new((source, destination), networks, TOKEN, 18, Extensions::None);
            assert_eq!(matches!(sought.read(&frame, NOW_NS), Read::Whole(..)), expected, "{last}");
        }
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
                assert!(unprotected || !matches!(read, Read::Whole(..)), "bit {bit}");
            }
        }
    }

    #[test]
    fn another_length_is_corrupt_and_another_address_is_stray() {
        let good = frame(true, 30);
        assert_eq!(sought(true, 31).read(&good, NOW_NS), Read::Corrupt);
        assert_eq!(sought(true, 30).read(&good[..50], NOW_NS), Read::Stray);
        let FrameAddresses { source, destination, .. } = addresses(true);
        let other = Sought::new((source, [198, 19, 0, 3].into()), None, TOKEN, 30, Extensions::None);
        assert_eq!(other.read(&good, NOW_NS), Read::Stray);
        let other = Sought::new((source, destination), None, TOKEN + 1, 30, Extensions::None);
        assert_eq!(other.read(&good, NOW_NS), Read::Stray);
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_read_without_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..160), is_ipv4: bool, signed: bool, kind in 0_usize..6, version: bool
        ) {
            let sought = sought_with(is_ipv4, 18, Extensions::NAMES[kind].1);
            let [_, at] = sought.signature_at();
            if let (true, Some(first)) = (version, bytes.get_mut(14)) {
                *first = 0x60;
            }
            if let (true, Some(place)) = (signed, bytes.get_mut(at..at + 8)) {
                place.copy_from_slice(&signature(TOKEN).to_be_bytes());
            }
            let read = sought.read(&bytes, NOW_NS);
            prop_assert!(!matches!(read, Read::Whole(..)));
        }
    }
}

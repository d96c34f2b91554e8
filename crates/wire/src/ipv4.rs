//! IPv4: RFC 791, with the DS field of RFC 2474.

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::span::be16;
use crate::{Defect, Flaw, Span, checksum};

/// Length of the header without options.
pub const HEADER_BYTES: usize = 20;

/// The bits of the field of flags and offset.
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// The place of a fragment in its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fragment {
    /// The beginning of the fragment's data in the whole packet's data.
    pub offset_bytes: u32,
    /// True if other fragments follow.
    pub more: bool,
    /// The number that the fragments of one packet have in common.
    pub identification: u32,
}

/// An IPv4 packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    header_bytes: usize,
    total_bytes: usize,
    payload: Span<'a>,
}

impl<'a> Packet<'a> {
    /// Reads a packet. The header's checksum is not looked at: offloads leave it to the device.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header: &[u8; HEADER_BYTES] = span.first()?;
        if header[0] >> 4 != 4 {
            return Err(Flaw::Malformed(Defect::NotIpv4));
        }
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(Flaw::Malformed(Defect::HeaderLength));
        }
        let total_bytes = match (be16(header[2], header[3]), span.length()) {
            // Linux's BIG TCP: a segment before segmentation that is too long for the field (Linux 6.3).
            (0, Some(length)) if length > usize::from(u16::MAX) => length,
            (total_bytes, _) => usize::from(total_bytes),
        };
        if total_bytes < header_bytes {
            return Err(Flaw::Malformed(Defect::TotalLength));
        }
        let (_, payload) = span.limit(total_bytes)?.split(header_bytes)?;
        Ok(Self { header, header_bytes, total_bytes, payload })
    }

    /// Length of the header with its options.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Length of the packet, header included.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// The octet that was the type of service: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        self.header[1]
    }

    /// True if routers must not fragment this packet.
    pub fn dont_fragment(&self) -> bool {
        be16(self.header[6], self.header[7]) & DONT_FRAGMENT != 0
    }

    /// The place of this fragment in its packet; `None` if it is not a fragment.
    pub fn fragment(&self) -> Option<Fragment> {
        let field = be16(self.header[6], self.header[7]);
        let (offset_bytes, more) = (u32::from(field & OFFSET) * 8, field & MORE_FRAGMENTS != 0);
        let identification = u32::from(be16(self.header[4], self.header[5]));
        (offset_bytes != 0 || more).then_some(Fragment { offset_bytes, more, identification })
    }

    /// The time to live.
    pub fn hop_limit(&self) -> u8 {
        self.header[8]
    }

    /// The number of the protocol that follows.
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// The address of the sender.
    pub fn source(&self) -> Ipv4Addr {
        let [.., a, b, c, d, _, _, _, _] = *self.header;
        Ipv4Addr::new(a, b, c, d)
    }

    /// The address of the destination.
    pub fn destination(&self) -> Ipv4Addr {
        let [.., a, b, c, d] = *self.header;
        Ipv4Addr::new(a, b, c, d)
    }

    /// The bytes after the header. In a first fragment, their length is unknown.
    pub fn payload(&self) -> Span<'a> {
        match self.fragment() {
            Some(Fragment { offset_bytes: 0, .. }) => self.payload.open_ended(),
            _ => self.payload,
        }
    }
}

/// Takes one from the TTL of a packet, which has one, as a router does: RFC 1812 section 5.3.1. The checksum follows
/// (RFC 1624).
pub fn take_hop(packet: &mut [u8]) {
    if let Some(header) = packet.first_chunk_mut::<HEADER_BYTES>().filter(|header| header[8] > 0) {
        let (before, sum) = ([header[8], header[9]], be16(header[10], header[11]));
        header[8] -= 1;
        let sum = checksum::update(sum, &before, &[header[8], header[9]]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The fields of an IPv4 header without options that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The address of the sender.
    pub source: Ipv4Addr,
    /// The address of the destination.
    pub destination: Ipv4Addr,
    /// The octet that was the type of service: DSCP and ECN.
    pub traffic_class: u8,
    /// The number that the fragments of one packet have in common. Packets that are not fragmented have one too.
    pub identification: u16,
    /// True if routers must not fragment this packet.
    pub dont_fragment: bool,
    /// True if other fragments follow.
    pub more_fragments: bool,
    /// The beginning of the packet's data in the data of the whole packet: a multiple of 8 up to 65,528.
    pub offset_bytes: u16,
    /// The time to live.
    pub hop_limit: u8,
    /// The number of the protocol that follows.
    pub protocol: u8,
    /// Length of what follows: up to 65,515. With more, the length field is 0, as in Linux's BIG TCP.
    pub payload_bytes: usize,
}

impl Repr {
    /// The header of a packet between these addresses, source first: no fragment, with a time to live of 64, all else
    /// 0.
    pub fn new([source, destination]: [Ipv4Addr; 2], protocol: u8, payload_bytes: usize) -> Self {
        Self {
            source,
            destination,
            traffic_class: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            offset_bytes: 0,
            hop_limit: 64,
            protocol,
            payload_bytes,
        }
    }

    /// The header of a packet, without its options.
    pub fn parse(packet: &Packet<'_>) -> Self {
        let header = packet.header;
        let field = be16(header[6], header[7]);
        Self {
            source: packet.source(),
            destination: packet.destination(),
            traffic_class: packet.traffic_class(),
            identification: be16(header[4], header[5]),
            dont_fragment: packet.dont_fragment(),
            more_fragments: field & MORE_FRAGMENTS != 0,
            offset_bytes: (field & OFFSET) * 8,
            hop_limit: packet.hop_limit(),
            protocol: packet.protocol(),
            payload_bytes: packet.total_bytes - packet.header_bytes,
        }
    }

    /// The header, with its checksum.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let fragment = flag(self.dont_fragment, DONT_FRAGMENT) | flag(self.more_fragments, MORE_FRAGMENTS);
        let total = u16::try_from(HEADER_BYTES.saturating_add(self.payload_bytes)).unwrap_or(0);
        let mut header = [0; HEADER_BYTES];
        (header[0], header[1]) = (0x45, self.traffic_class);
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        header[6..8].copy_from_slice(&(fragment | (self.offset_bytes / 8)).to_be_bytes());
        (header[8], header[9]) = (self.hop_limit, self.protocol);
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..].copy_from_slice(&self.destination.octets());
        let sum = checksum::checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }
}

//! IPv6 and its extension headers: RFC 8200, with the authentication header of RFC 4302.

use std::net::Ipv6Addr;

use serde::Serialize;

use crate::ipv4::Fragment;
use crate::span::be16;
use crate::{Defect, Flaw, Span, protocol};

/// Length of the header without extensions.
pub const HEADER_BYTES: usize = 40;

/// The place in the header of the number of the next header.
pub const NEXT_HEADER_AT: u32 = 6;

/// Length of a Fragment header; no extension header is shorter.
pub const FRAGMENT_HEADER_BYTES: usize = 8;

/// Most extension headers of a packet. More are taken for an attack: RFC 8200 section 4.1 knows six, one of them twice.
pub const MAX_EXTENSIONS: usize = 8;

/// The extension headers that are walked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Extension {
    HopByHop,
    Routing,
    Fragment,
    DestinationOptions,
    Authentication,
}

impl Extension {
    /// The extension header with this number; `None` if there is none.
    pub fn of(number: u8) -> Option<Self> {
        Some(match number {
            protocol::HOP_BY_HOP => Self::HopByHop,
            protocol::ROUTING => Self::Routing,
            protocol::FRAGMENT => Self::Fragment,
            protocol::DESTINATION_OPTIONS => Self::DestinationOptions,
            protocol::AUTHENTICATION => Self::Authentication,
            _ => return None,
        })
    }

    /// Length of the header, from its second byte.
    fn bytes(self, length_field: u8) -> usize {
        match self {
            Self::Fragment => FRAGMENT_HEADER_BYTES,
            Self::Authentication => (usize::from(length_field) + 2) * 4,
            _ => (usize::from(length_field) + 1) * 8,
        }
    }
}

/// An IPv6 packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    total_bytes: usize,
    payload: Span<'a>,
}

impl<'a> Packet<'a> {
    /// Reads a packet's first header; [`Packet::extensions`] reads on.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header: &[u8; HEADER_BYTES] = span.first()?;
        if header[0] >> 4 != 6 {
            return Err(Flaw::Malformed(Defect::NotIpv6));
        }
        let total_bytes = match (be16(header[4], header[5]), span.length()) {
            // A jumbogram (RFC 2675) or Linux's BIG TCP, a segment before segmentation (Linux 5.19).
            (0, Some(length)) if length > HEADER_BYTES + usize::from(u16::MAX) => length,
            (payload_bytes, _) => HEADER_BYTES + usize::from(payload_bytes),
        };
        let (_, payload) = span.limit(total_bytes)?.split(HEADER_BYTES)?;
        Ok(Self { header, total_bytes, payload })
    }

    /// Length of the packet, header included.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        (self.header[0] << 4) | (self.header[1] >> 4)
    }

    /// The flow label of RFC 6437.
    pub fn flow_label(&self) -> u32 {
        u32::from_be_bytes([0, self.header[1] & 0x0f, self.header[2], self.header[3]])
    }

    /// The hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.header[7]
    }

    /// The address of the sender.
    pub fn source(&self) -> Ipv6Addr {
        self.address(8)
    }

    /// The address of the destination.
    pub fn destination(&self) -> Ipv6Addr {
        self.address(24)
    }

    /// The number of the header that follows: an extension's, or the upper layer's.
    pub fn next_header(&self) -> u8 {
        self.header[6]
    }

    /// The bytes after the first header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }

    /// The extension headers, up to the first one that cannot be read, or to the data of a later fragment.
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions {
            count: 0,
            bytes: 0,
            fragment: None,
            protocol: self.next_header(),
            payload: self.payload,
            flaw: None,
        }
    }

    /// The position behind the extension headers.
    pub fn upper_layer(&self) -> Extensions<'a> {
        let mut extensions = self.extensions();
        extensions.by_ref().for_each(drop);
        extensions
    }

    /// Never called with more than 24.
    fn address(&self, at: usize) -> Ipv6Addr {
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.header[at..at + 16]);
        Ipv6Addr::from(octets)
    }
}

/// A walk over what lies between an IPv6 header and the upper layer.
#[derive(Debug, Clone)]
pub struct Extensions<'a> {
    count: usize,
    /// Length of the headers so far.
    pub bytes: usize,
    /// The place of the fragment, if the packet is one.
    pub fragment: Option<Fragment>,
    /// The number of the protocol after the last header.
    pub protocol: u8,
    /// The bytes after the last header. In a first fragment, their length is unknown.
    pub payload: Span<'a>,
    /// The defect of the header that `payload` begins with, where it is one more extension header that cannot be read.
    pub flaw: Option<Flaw>,
}

impl Iterator for Extensions<'_> {
    type Item = Extension;

    fn next(&mut self) -> Option<Extension> {
        let extension = Extension::of(self.protocol).filter(|_| !self.is_later_fragment() && self.flaw.is_none())?;
        self.flaw = self.step(extension).err();
        self.flaw.is_none().then_some(extension)
    }
}

impl Extensions<'_> {
    fn step(&mut self, extension: Extension) -> Result<(), Flaw> {
        if self.count == MAX_EXTENSIONS {
            return Err(Flaw::Malformed(Defect::Extensions));
        }
        let first: &[u8; FRAGMENT_HEADER_BYTES] = self.payload.first()?;
        let bytes = extension.bytes(first[1]);
        let (_, mut payload) = self.payload.split(bytes)?;
        if extension == Extension::Fragment {
            let fragment = FragmentHeader::parse(first).fragment;
            if fragment.offset_bytes == 0 && fragment.more {
                payload = payload.open_ended();
            }
            self.fragment = Some(fragment);
        }
        self.count += 1;
        self.bytes += bytes;
        self.protocol = first[0];
        self.payload = payload;
        Ok(())
    }

    fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset_bytes != 0)
    }
}

/// The fields of an IPv6 header without extensions that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The address of the sender.
    pub source: Ipv6Addr,
    /// The address of the destination.
    pub destination: Ipv6Addr,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The flow label of RFC 6437, of 20 bits.
    pub flow_label: u32,
    /// The hop limit.
    pub hop_limit: u8,
    /// The number of the header that follows.
    pub next_header: u8,
    /// Length of what follows, extension headers included: up to 65,535. With more, the length field is 0, as in
    /// Linux's BIG TCP.
    pub payload_bytes: usize,
}

impl Repr {
    /// The header of a packet between these addresses, source first, with a hop limit of 64, all else 0.
    pub fn new([source, destination]: [Ipv6Addr; 2], next_header: u8, payload_bytes: usize) -> Self {
        Self { source, destination, traffic_class: 0, flow_label: 0, hop_limit: 64, next_header, payload_bytes }
    }

    /// The header of a packet. Extension headers count as payload.
    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            source: packet.source(),
            destination: packet.destination(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
            hop_limit: packet.hop_limit(),
            next_header: packet.next_header(),
            payload_bytes: packet.total_bytes - HEADER_BYTES,
        }
    }

    /// The header.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let first = (6 << 28) | (u32::from(self.traffic_class) << 20) | (self.flow_label & 0x000f_ffff);
        header[..4].copy_from_slice(&first.to_be_bytes());
        header[4..6].copy_from_slice(&u16::try_from(self.payload_bytes).unwrap_or(0).to_be_bytes());
        (header[6], header[7]) = (self.next_header, self.hop_limit);
        header[8..24].copy_from_slice(&self.source.octets());
        header[24..].copy_from_slice(&self.destination.octets());
        header
    }
}

/// A Fragment header: section 4.5. One with offset 0 and no more fragments makes an atomic fragment (RFC 6946).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentHeader {
    /// The number of the header that follows.
    pub next_header: u8,
    /// The place of the fragment: its offset is a multiple of 8 up to 65,528.
    pub fragment: Fragment,
}

impl FragmentHeader {
    /// Reads one.
    pub fn parse(header: &[u8; FRAGMENT_HEADER_BYTES]) -> Self {
        let [next_header, _, offset_high, offset_low, a, b, c, d] = *header;
        let field = be16(offset_high, offset_low);
        let fragment = Fragment {
            offset_bytes: u32::from(field & !7),
            more: field & 1 != 0,
            identification: u32::from_be_bytes([a, b, c, d]),
        };
        Self { next_header, fragment }
    }

    /// The header.
    pub fn emit(&self) -> [u8; FRAGMENT_HEADER_BYTES] {
        let Fragment { offset_bytes, more, identification } = self.fragment;
        let [offset_high, offset_low] = (offset_bytes as u16 & !7 | u16::from(more)).to_be_bytes();
        let [a, b, c, d] = identification.to_be_bytes();
        [self.next_header, 0, offset_high, offset_low, a, b, c, d]
    }
}

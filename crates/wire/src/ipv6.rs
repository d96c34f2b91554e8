//! IPv6 and its extension headers: RFC 8200, with the authentication header of RFC 4302.

use std::net::Ipv6Addr;

use serde::Serialize;

use crate::ipv4::Fragment;
use crate::span::be16;
use crate::{Flaw, Span, protocol};

/// Length of the header without extensions.
pub const HEADER_BYTES: usize = 40;

/// More extension headers than this are taken for an attack: RFC 8200 section 4.1 knows six, one of them twice.
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
    fn of(number: u8) -> Option<Self> {
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
            Self::Fragment => 8,
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
            return Err(Flaw::Malformed("the version is not 6"));
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

    /// Who sent it.
    pub fn source(&self) -> Ipv6Addr {
        self.address(8)
    }

    /// Where it goes.
    pub fn destination(&self) -> Ipv6Addr {
        self.address(24)
    }

    /// Walks the extension headers, up to the first one that cannot be read, or to the data of a later fragment.
    pub fn extensions(&self) -> Extensions<'a> {
        let mut found = Extensions {
            headers: Vec::new(),
            bytes: 0,
            fragment: None,
            protocol: self.header[6],
            payload: self.payload,
            flaw: None,
        };
        found.walk();
        found
    }

    /// Never called with more than 24.
    fn address(&self, at: usize) -> Ipv6Addr {
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.header[at..at + 16]);
        Ipv6Addr::from(octets)
    }
}

/// What lies between an IPv6 header and the upper layer.
#[derive(Debug, Clone)]
pub struct Extensions<'a> {
    /// The headers, in order.
    pub headers: Vec<Extension>,
    /// Their length in all.
    pub bytes: usize,
    /// Which fragment the packet is, if it is one.
    pub fragment: Option<Fragment>,
    /// The number of the protocol after the last of `headers`.
    pub protocol: u8,
    /// What follows the last of `headers`. In a first fragment, its length is unknown.
    pub payload: Span<'a>,
    /// What is wrong with the header that `payload` begins with, where it is one more extension header that cannot be read.
    pub flaw: Option<Flaw>,
}

impl Extensions<'_> {
    fn walk(&mut self) {
        while let Some(extension) = Extension::of(self.protocol).filter(|_| !self.is_later_fragment()) {
            if let Err(flaw) = self.step(extension) {
                self.flaw = Some(flaw);
                return;
            }
        }
    }

    fn step(&mut self, extension: Extension) -> Result<(), Flaw> {
        if self.headers.len() == MAX_EXTENSIONS {
            return Err(Flaw::Malformed("more than 8 extension headers"));
        }
        let first: &[u8; 8] = self.payload.first()?;
        let bytes = extension.bytes(first[1]);
        let (_, mut payload) = self.payload.split(bytes)?;
        if extension == Extension::Fragment {
            let field = be16(first[2], first[3]);
            let (offset_bytes, more) = (u32::from(field & 0xfff8), field & 1 != 0);
            let identification = u32::from_be_bytes([first[4], first[5], first[6], first[7]]);
            self.fragment = Some(Fragment { offset_bytes, more, identification });
            if offset_bytes == 0 && more {
                payload = payload.open_ended();
            }
        }
        self.headers.push(extension);
        self.bytes += bytes;
        self.protocol = first[0];
        self.payload = payload;
        Ok(())
    }

    fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset_bytes != 0)
    }
}

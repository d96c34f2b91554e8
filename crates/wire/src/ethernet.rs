//! Ethernet frames and VLAN tags: IEEE 802.3, 802.1Q.

use crate::span::be16;
use crate::{Flaw, Span};

/// Numbers of the registry "Ethernet Numbers" that this crate reads.
pub mod ethertype {
    /// RFC 894.
    pub const IPV4: u16 = 0x0800;
    /// RFC 826.
    pub const ARP: u16 = 0x0806;
    /// A whole Ethernet frame, inside GRE: RFC 7637 section 3.2.
    pub const TRANSPARENT_BRIDGING: u16 = 0x6558;
    /// IEEE 802.1Q, a customer tag.
    pub const VLAN: u16 = 0x8100;
    /// RFC 2464.
    pub const IPV6: u16 = 0x86dd;
    /// IEEE 802.1ad, a service tag.
    pub const SERVICE_VLAN: u16 = 0x88a8;
}

/// Length of the header, without tags.
pub const HEADER_BYTES: usize = 14;

/// Length of a tag, without the EtherType before it.
pub const TAG_BYTES: usize = 4;

/// An Ethernet frame without its preamble and frame check sequence, as packet sockets give it.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    header: &'a [u8; HEADER_BYTES],
    payload: Span<'a>,
}

impl<'a> Frame<'a> {
    /// Reads a frame.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header = span.first()?;
        let (_, payload) = span.split(HEADER_BYTES)?;
        Ok(Self { header, payload })
    }

    /// The EtherType, or, up to 1500, the length of an IEEE 802.3 frame.
    pub fn ethertype(&self) -> u16 {
        be16(self.header[12], self.header[13])
    }

    /// The bytes after the header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

/// A VLAN tag and what follows it.
#[derive(Debug, Clone, Copy)]
pub struct Tag<'a> {
    header: &'a [u8; TAG_BYTES],
    payload: Span<'a>,
}

impl<'a> Tag<'a> {
    /// Reads a tag.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header = span.first()?;
        let (_, payload) = span.split(TAG_BYTES)?;
        Ok(Self { header, payload })
    }

    /// The VLAN's number, 0 to 4095.
    pub fn vlan_id(&self) -> u16 {
        be16(self.header[0], self.header[1]) & 0x0fff
    }

    /// The priority code point, 0 to 7.
    pub fn priority(&self) -> u8 {
        self.header[0] >> 5
    }

    /// The EtherType of what follows.
    pub fn ethertype(&self) -> u16 {
        be16(self.header[2], self.header[3])
    }

    /// The bytes after the tag.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

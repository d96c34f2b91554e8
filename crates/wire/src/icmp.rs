//! ICMP: RFC 792, and ICMPv6: RFC 4443.

use crate::span::be16;
use crate::{Flaw, Span};

/// Length of the header: no type of either version has less.
pub const HEADER_BYTES: usize = 8;

/// Which of the two it is: their types have different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// ICMP for IPv4.
    V4,
    /// ICMPv6.
    V6,
}

/// An ICMP or ICMPv6 message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    version: Version,
    header: &'a [u8; HEADER_BYTES],
    payload: Span<'a>,
}

impl<'a> Message<'a> {
    /// Reads a message.
    pub fn parse(version: Version, span: Span<'a>) -> Result<Self, Flaw> {
        let header = span.first()?;
        let (_, payload) = span.split(HEADER_BYTES)?;
        Ok(Self { version, header, payload })
    }

    /// The type.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// The code, which refines the type.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// Identifier and sequence number, of an echo request or reply.
    pub fn echo(&self) -> Option<(u16, u16)> {
        let is_echo = match self.version {
            Version::V4 => matches!(self.kind(), 0 | 8),
            Version::V6 => matches!(self.kind(), 128 | 129),
        };
        is_echo.then(|| (be16(self.header[4], self.header[5]), be16(self.header[6], self.header[7])))
    }

    /// The MTU of the next hop, of a Packet Too Big (RFC 4443 section 3.2) or Fragmentation Needed (RFC 1191 section 4).
    /// A zero, as routers before RFC 1191 send it, is none.
    pub fn mtu_bytes(&self) -> Option<u32> {
        let [_, _, _, _, bytes @ ..] = *self.header;
        let mtu_bytes = match (self.version, self.kind(), self.code()) {
            (Version::V4, 3, 4) => u32::from(be16(bytes[2], bytes[3])),
            (Version::V6, 2, _) => u32::from_be_bytes(bytes),
            _ => return None,
        };
        (mtu_bytes != 0).then_some(mtu_bytes)
    }

    /// What follows the header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

//! VXLAN: RFC 7348.

use crate::Span;
use crate::span::be16;

/// The UDP destination port: RFC 7348 section 5.
pub const PORT: u16 = 4789;

/// Length of the header.
pub const HEADER_BYTES: usize = 8;

/// A VXLAN header: an Ethernet frame follows.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    payload: Span<'a>,
}

impl<'a> Packet<'a> {
    /// Reads a header. `None` for what is none: any program may send UDP to that port. A header has the flag of a valid
    /// identifier and zeros where they are reserved.
    pub fn parse(span: Span<'a>) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = span.first().ok()?;
        let (_, payload) = span.split(HEADER_BYTES).ok()?;
        matches!(header, [0x08, 0, 0, 0, _, _, _, 0]).then_some(Self { header, payload })
    }

    /// The network's identifier (VNI).
    pub fn vni(&self) -> u32 {
        (u32::from(self.header[4]) << 16) | u32::from(be16(self.header[5], self.header[6]))
    }

    /// The frame.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

//! TCP: RFC 9293.

use crate::span::be16;
use crate::{Defect, Flaw, Span};

/// Length of the header without options.
pub const HEADER_BYTES: usize = 20;

/// A TCP segment.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    header: &'a [u8; HEADER_BYTES],
    header_bytes: usize,
    payload: Span<'a>,
}

impl<'a> Segment<'a> {
    /// Reads a segment. Options are counted, not read.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header: &[u8; HEADER_BYTES] = span.first()?;
        let header_bytes = usize::from(header[12] >> 4) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(Flaw::Malformed(Defect::DataOffset));
        }
        let (_, payload) = span.split(header_bytes)?;
        Ok(Self { header, header_bytes, payload })
    }

    /// Length of the header with its options.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// The sender's port.
    pub fn source_port(&self) -> u16 {
        be16(self.header[0], self.header[1])
    }

    /// The receiver's port.
    pub fn destination_port(&self) -> u16 {
        be16(self.header[2], self.header[3])
    }

    /// Whether the sender says that its congestion window is reduced (CWR): RFC 3168 section 6.1.2.
    pub fn has_cwr(&self) -> bool {
        self.header[13] & 0x80 != 0
    }

    /// What follows the header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

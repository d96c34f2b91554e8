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

    /// True if the sender says that its congestion window is reduced (CWR): RFC 3168 section 6.1.2.
    pub fn has_cwr(&self) -> bool {
        self.header[13] & 0x80 != 0
    }

    /// The reset that answers the segment where nothing listens, without its checksum: RFC 9293 section 3.10.7.1.
    /// `None`: it is a reset itself.
    pub fn reset(&self) -> Option<[u8; HEADER_BYTES]> {
        const FIN: u8 = 1;
        const SYN: u8 = 2;
        const RST: u8 = 4;
        const ACK: u8 = 16;
        let flags = self.header[13];
        if flags & RST != 0 {
            return None;
        }
        let mut reset = [0; HEADER_BYTES];
        reset[..2].copy_from_slice(&self.header[2..4]);
        reset[2..4].copy_from_slice(&self.header[..2]);
        reset[12] = (HEADER_BYTES as u8 / 4) << 4;
        if flags & ACK != 0 {
            reset[4..8].copy_from_slice(&self.header[8..12]);
            reset[13] = RST;
        } else {
            let [a, b, c, d] = [self.header[4], self.header[5], self.header[6], self.header[7]];
            let length = self.payload.captured().len() + usize::from(flags & SYN != 0) + usize::from(flags & FIN != 0);
            let end = u32::from_be_bytes([a, b, c, d]).wrapping_add(length as u32);
            reset[8..12].copy_from_slice(&end.to_be_bytes());
            reset[13] = RST | ACK;
        }
        Some(reset)
    }

    /// The bytes after the header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

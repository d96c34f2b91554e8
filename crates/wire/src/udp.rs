//! UDP: RFC 768.

use crate::span::be16;
use crate::{Flaw, Span};

/// Length of the header.
pub const HEADER_BYTES: usize = 8;

/// A UDP datagram, or the first fragment of one.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    header: &'a [u8; HEADER_BYTES],
    datagram_bytes: usize,
    payload: Span<'a>,
}

impl<'a> Datagram<'a> {
    /// Reads a datagram.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header: &[u8; HEADER_BYTES] = span.first()?;
        let datagram_bytes = usize::from(be16(header[4], header[5]));
        if datagram_bytes < HEADER_BYTES {
            return Err(Flaw::Malformed("the length is under 8"));
        }
        let (_, payload) = span.limit(datagram_bytes)?.split(HEADER_BYTES)?;
        Ok(Self { header, datagram_bytes, payload })
    }

    /// The sender's port.
    pub fn source_port(&self) -> u16 {
        be16(self.header[0], self.header[1])
    }

    /// The receiver's port.
    pub fn destination_port(&self) -> u16 {
        be16(self.header[2], self.header[3])
    }

    /// What follows the header: in a first fragment a part of it.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }

    /// Length of the whole datagram's payload: also in a first fragment, which has only a part of it.
    pub fn payload_bytes(&self) -> usize {
        self.datagram_bytes - HEADER_BYTES
    }
}

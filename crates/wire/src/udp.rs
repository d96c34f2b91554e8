//! UDP: RFC 768.

use crate::span::be16;
use crate::{Defect, Flaw, Span, checksum};

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
            return Err(Flaw::Malformed(Defect::UdpLength));
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

    /// The checksum as it stands there; 0: there is none.
    pub fn checksum(&self) -> u16 {
        be16(self.header[6], self.header[7])
    }

    /// The bytes after the header: in a first fragment a part of them.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }

    /// Length of the whole datagram's payload: also in a first fragment, which has only a part of it.
    pub fn payload_bytes(&self) -> usize {
        self.datagram_bytes - HEADER_BYTES
    }
}

/// The fields of a UDP header that are written, except for its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Length of what follows, in all fragments together: up to 65,527.
    pub payload_bytes: usize,
}

impl Repr {
    /// The header of a datagram.
    pub fn parse(datagram: &Datagram<'_>) -> Self {
        Self {
            source_port: datagram.source_port(),
            destination_port: datagram.destination_port(),
            payload_bytes: datagram.payload_bytes(),
        }
    }

    /// The header with that checksum.
    pub fn emit(&self, checksum: u16) -> [u8; HEADER_BYTES] {
        let length = u16::try_from(HEADER_BYTES.saturating_add(self.payload_bytes)).unwrap_or(0);
        let [[a, b], [c, d], [e, f], [g, h]] =
            [self.source_port, self.destination_port, length, checksum].map(u16::to_be_bytes);
        [a, b, c, d, e, f, g, h]
    }

    /// The header with its checksum, given the sum of the pseudo header and that of the payload.
    pub fn emit_summed(&self, pseudo_header: u16, payload: u16) -> [u8; HEADER_BYTES] {
        let rest = checksum::add(pseudo_header, payload);
        self.emit(checksum::never_zero(checksum::upper_layer(rest, &self.emit(0))))
    }
}

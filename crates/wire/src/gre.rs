//! GRE: RFC 2784, with the key and the sequence number of RFC 2890.

use crate::span::be16;
use crate::{Defect, Flaw, Span};

/// Length of the header without optional fields.
pub const HEADER_BYTES: usize = 4;

/// A GRE packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header_bytes: usize,
    key: Option<u32>,
    protocol_type: u16,
    payload: Span<'a>,
}

impl<'a> Packet<'a> {
    /// Reads a packet. RFC 1701's routing and version 1 (RFC 2637) are refused.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let fixed: &[u8; HEADER_BYTES] = span.first()?;
        let flags = be16(fixed[0], fixed[1]);
        if flags & 0x0007 != 0 {
            return Err(Flaw::Malformed(Defect::GreVersion));
        }
        if flags & 0x4000 != 0 {
            return Err(Flaw::Malformed(Defect::GreRouting));
        }
        let [has_checksum, has_key, has_sequence] = [0x8000, 0x2000, 0x1000].map(|bit| flags & bit != 0);
        let key_at = HEADER_BYTES + 4 * usize::from(has_checksum);
        let header_bytes = key_at + 4 * (usize::from(has_key) + usize::from(has_sequence));
        let (header, payload) = span.split(header_bytes)?;
        let key = header.get(key_at..).and_then(|rest| rest.first_chunk()).filter(|_| has_key);
        Ok(Self {
            header_bytes,
            key: key.map(|&key| u32::from_be_bytes(key)),
            protocol_type: be16(fixed[2], fixed[3]),
            payload,
        })
    }

    /// Length of the header with its optional fields.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// The key that distinguishes tunnels between the same ends.
    pub fn key(&self) -> Option<u32> {
        self.key
    }

    /// The EtherType of what follows.
    pub fn protocol_type(&self) -> u16 {
        self.protocol_type
    }

    /// The bytes after the header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

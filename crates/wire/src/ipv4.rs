//! IPv4: RFC 791, with the DS field of RFC 2474.

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::span::be16;
use crate::{Flaw, Span};

/// Length of the header without options.
pub const HEADER_BYTES: usize = 20;

/// Which part of a fragmented packet this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fragment {
    /// Where its data begins in the whole packet's data.
    pub offset_bytes: u32,
    /// Whether others follow.
    pub more: bool,
    /// What the fragments of one packet have in common.
    pub identification: u32,
}

/// An IPv4 packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    header_bytes: usize,
    total_bytes: usize,
    payload: Span<'a>,
}

impl<'a> Packet<'a> {
    /// Reads a packet. The header's checksum is not looked at: offloads leave it to the device.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let header: &[u8; HEADER_BYTES] = span.first()?;
        if header[0] >> 4 != 4 {
            return Err(Flaw::Malformed("the version is not 4"));
        }
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(Flaw::Malformed("the header length is under 20"));
        }
        let total_bytes = match (be16(header[2], header[3]), span.length()) {
            // Linux's BIG TCP: a segment before segmentation that is too long for the field (Linux 6.3).
            (0, Some(length)) if length > usize::from(u16::MAX) => length,
            (total_bytes, _) => usize::from(total_bytes),
        };
        if total_bytes < header_bytes {
            return Err(Flaw::Malformed("the total length is under the header length"));
        }
        let (_, payload) = span.limit(total_bytes)?.split(header_bytes)?;
        Ok(Self { header, header_bytes, total_bytes, payload })
    }

    /// Length of the header with its options.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Length of the packet, header included.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// The octet that was the type of service: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        self.header[1]
    }

    /// Whether routers must not fragment this packet.
    pub fn dont_fragment(&self) -> bool {
        self.header[6] & 0x40 != 0
    }

    /// Which fragment this is, if it is one.
    pub fn fragment(&self) -> Option<Fragment> {
        let field = be16(self.header[6], self.header[7]);
        let (offset_bytes, more) = (u32::from(field & 0x1fff) * 8, field & 0x2000 != 0);
        let identification = u32::from(be16(self.header[4], self.header[5]));
        (offset_bytes != 0 || more).then_some(Fragment { offset_bytes, more, identification })
    }

    /// The time to live.
    pub fn hop_limit(&self) -> u8 {
        self.header[8]
    }

    /// The number of the protocol that follows.
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// Who sent it.
    pub fn source(&self) -> Ipv4Addr {
        let [.., a, b, c, d, _, _, _, _] = *self.header;
        Ipv4Addr::new(a, b, c, d)
    }

    /// Where it goes.
    pub fn destination(&self) -> Ipv4Addr {
        let [.., a, b, c, d] = *self.header;
        Ipv4Addr::new(a, b, c, d)
    }

    /// What follows the header. In a first fragment, its length is unknown.
    pub fn payload(&self) -> Span<'a> {
        match self.fragment() {
            Some(Fragment { offset_bytes: 0, .. }) => self.payload.open_ended(),
            _ => self.payload,
        }
    }
}

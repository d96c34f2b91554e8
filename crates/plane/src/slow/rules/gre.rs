//! GRE: RFC 2784, RFC 2890, RFC 7676.

use sixbench_wire::checksum;

use crate::abi::Outcome;
use crate::spec::{Payload, Spec};

/// The GRE header of a packet that is sent; empty where the tunnel has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    octets: [u8; 8],
    bytes: usize,
}

impl Header {
    /// The GRE header of an inner packet of that IP version.
    pub fn new(spec: &Spec, version: u8) -> Self {
        let mut octets = [0; 8];
        if spec.payload == Payload::Gre {
            octets[2..4].copy_from_slice(if version == 6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        }
        if let Some(key) = spec.gre_key {
            octets[0] = 0x20;
            octets[4..].copy_from_slice(&key.to_be_bytes());
        }
        Self { octets, bytes: spec.gre_bytes() }
    }

    /// The bytes of the header.
    pub fn as_bytes(&self) -> &[u8] {
        &self.octets[..self.bytes]
    }
}

/// The place where the packet behind a GRE header begins, and its IP version. Checks the checksum, which the fast path
/// leaves to us.
pub fn strip(gre_key: Option<u32>, payload: &[u8]) -> Result<(usize, u8), Outcome> {
    let fixed: &[u8; 4] = payload.first_chunk().ok_or(Outcome::InnerTruncated)?;
    let flags = u16::from_be_bytes([fixed[0], fixed[1]]);
    if flags & 0x5c07 != 0 {
        return Err(Outcome::GreFlags);
    }
    let (has_checksum, has_key) = (flags & 0x8000 != 0, flags & 0x2000 != 0);
    if has_checksum && !checksum::is_valid(payload) {
        return Err(Outcome::GreFlags);
    }
    let key_at = if has_checksum { 8 } else { 4 };
    let end = key_at + if has_key { 4 } else { 0 };
    let header = payload.get(..end).ok_or(Outcome::InnerTruncated)?;
    if header[key_at..].first_chunk().map(|key| u32::from_be_bytes(*key)) != gre_key {
        return Err(Outcome::GreKeyMismatch);
    }
    match fixed[2..] {
        [0x86, 0xdd] => Ok((end, 6)),
        [0x08, 0x00] => Ok((end, 4)),
        _ => Err(Outcome::GreProtocol),
    }
}

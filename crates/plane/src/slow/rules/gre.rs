//! GRE: RFC 2784, RFC 2890, RFC 7676.

use sixbench_wire::checksum;

use super::Reason;
use crate::abi::{self, Tunnel};

/// The GRE header of a packet that is sent; empty where the tunnel has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    octets: [u8; 8],
    bytes: usize,
}

impl Header {
    /// Of an inner packet of that IP version.
    pub fn new(tunnel: &Tunnel, version: u8) -> Self {
        let mut octets = [0; 8];
        if tunnel.payload != abi::payload::GRE {
            return Self { octets, bytes: 0 };
        }
        let has_key = tunnel.has_gre_key != 0;
        octets[0] = if has_key { 0x20 } else { 0 };
        octets[2..4].copy_from_slice(if version == 6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        octets[4..].copy_from_slice(&tunnel.gre_key.0);
        Self { octets, bytes: if has_key { 8 } else { 4 } }
    }

    /// As it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.octets[..self.bytes]
    }
}

/// Where the packet behind a GRE header begins, and its IP version. The checksum, which the fast path leaves to us, is checked.
pub fn strip(tunnel: &Tunnel, payload: &[u8]) -> Result<(usize, u8), Reason> {
    let fixed: &[u8; 4] = payload.first_chunk().ok_or("inner-truncated")?;
    let flags = u16::from_be_bytes([fixed[0], fixed[1]]);
    if flags & 0x5c07 != 0 {
        return Err("gre-flags");
    }
    let (has_checksum, has_key) = (flags & 0x8000 != 0, flags & 0x2000 != 0);
    if has_checksum && !checksum::is_valid(payload) {
        return Err("gre-flags");
    }
    let key_at = if has_checksum { 8 } else { 4 };
    let end = key_at + if has_key { 4 } else { 0 };
    let header = payload.get(..end).ok_or("inner-truncated")?;
    if has_key != (tunnel.has_gre_key != 0) || (has_key && header[key_at..] != tunnel.gre_key.0) {
        return Err("gre-key");
    }
    match fixed[2..] {
        [0x86, 0xdd] => Ok((end, 6)),
        [0x08, 0x00] => Ok((end, 4)),
        _ => Err("gre-protocol"),
    }
}

//! ARP: RFC 826.

use std::net::Ipv4Addr;

use crate::span::be16;
use crate::{Flaw, Span};

const FIXED_BYTES: usize = 8;
/// Addresses of Ethernet (6 bytes) and IPv4 (4 bytes), twice.
const ETHERNET_IPV4_BYTES: usize = FIXED_BYTES + 20;

/// An ARP packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    operation: u16,
    resolves_ipv4: bool,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    pub fn parse(span: Span<'a>) -> Result<Self, Flaw> {
        let fixed: &[u8; FIXED_BYTES] = span.first()?;
        let (hardware_bytes, protocol_bytes) = (usize::from(fixed[4]), usize::from(fixed[5]));
        let (bytes, _) = span.split(FIXED_BYTES + 2 * (hardware_bytes + protocol_bytes))?;
        let resolves_ipv4 =
            be16(fixed[2], fixed[3]) == crate::ethernet::ethertype::IPV4 && (hardware_bytes, protocol_bytes) == (6, 4);
        Ok(Self { bytes, operation: be16(fixed[6], fixed[7]), resolves_ipv4 })
    }

    /// Length of the packet, without the frame's padding.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// 1 asks, 2 answers.
    pub fn operation(&self) -> u16 {
        self.operation
    }

    /// The sender's and the target's address, where the packet resolves IPv4 on Ethernet.
    pub fn addresses(&self) -> Option<(Ipv4Addr, Ipv4Addr)> {
        let bytes: &[u8; ETHERNET_IPV4_BYTES] = self.bytes.first_chunk().filter(|_| self.resolves_ipv4)?;
        Some((
            Ipv4Addr::new(bytes[14], bytes[15], bytes[16], bytes[17]),
            Ipv4Addr::new(bytes[24], bytes[25], bytes[26], bytes[27]),
        ))
    }
}

//! Reading inner packets: `bpf/packet.h`, `bpf/nesting.h`.

use std::net::Ipv4Addr;

use super::{Reason, addresses};
use crate::abi::Address;

/// How many encapsulations a packet may have before ours: the default limit of RFC 2473 section 4.1.1.
const NESTING_LIMIT: u32 = 4;

const IPIP: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// An inner packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    /// 4 or 6.
    pub version: u8,
    /// By its own length field.
    pub bytes: usize,
    /// Before what follows, IPv6 extension headers not counted.
    pub header_bytes: usize,
    /// Of what follows.
    pub protocol: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// TTL.
    pub hop_limit: u8,
    /// Whether it may not be fragmented.
    pub dont_fragment: bool,
    /// Where in the IPv4 datagram it begins, in units of eight bytes.
    pub fragment_offset: u16,
    /// Whether it is an IPv4 fragment but the last one.
    pub more_fragments: bool,
    /// Who sent it.
    pub source: Address,
    /// Where it goes.
    pub destination: Address,
}

impl Inner {
    /// Reads a header and checks its lengths.
    pub fn read(packet: &[u8]) -> Result<Self, Reason> {
        Self::read_quoted(packet)?.within(packet)
    }

    /// Reads the header of a packet of which an ICMP error quotes the beginning.
    pub fn read_quoted(packet: &[u8]) -> Result<Self, Reason> {
        match packet.first().map(|first| first >> 4) {
            Some(6) => Self::read_ipv6(packet),
            Some(4) => Self::read_ipv4(packet),
            Some(_) => Err("inner-version"),
            None => Err("inner-truncated"),
        }
    }

    fn read_ipv6(packet: &[u8]) -> Result<Self, Reason> {
        let header: &[u8; 40] = packet.first_chunk().ok_or("inner-truncated")?;
        let mut inner = Self {
            version: 6,
            bytes: 40 + usize::from(u16::from_be_bytes([header[4], header[5]])),
            header_bytes: 40,
            protocol: header[6],
            tos: (header[0] << 4) | (header[1] >> 4),
            hop_limit: header[7],
            dont_fragment: true,
            fragment_offset: 0,
            more_fragments: false,
            source: Address::default(),
            destination: Address::default(),
        };
        inner.source.0.copy_from_slice(&header[8..24]);
        inner.destination.0.copy_from_slice(&header[24..40]);
        Ok(inner)
    }

    fn read_ipv4(packet: &[u8]) -> Result<Self, Reason> {
        let header: &[u8; 20] = packet.first_chunk().ok_or("inner-truncated")?;
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        if header_bytes < 20 {
            return Err("inner-version");
        }
        let inner = Self {
            version: 4,
            bytes: usize::from(u16::from_be_bytes([header[2], header[3]])),
            header_bytes,
            protocol: header[9],
            tos: header[1],
            hop_limit: header[8],
            dont_fragment: header[6] & 0x40 != 0,
            fragment_offset: u16::from_be_bytes([header[6], header[7]]) & 0x1fff,
            more_fragments: header[6] & 0x20 != 0,
            source: Ipv4Addr::new(header[12], header[13], header[14], header[15]).into(),
            destination: Ipv4Addr::new(header[16], header[17], header[18], header[19]).into(),
        };
        if inner.bytes < header_bytes { Err("inner-length") } else { Ok(inner) }
    }

    fn within(self, packet: &[u8]) -> Result<Self, Reason> {
        if self.bytes > packet.len() { Err("inner-length") } else { Ok(self) }
    }

    /// An inner source that no packet may have: RFC 4213 section 3.6.
    pub(super) fn has_bogus_source(&self) -> bool {
        match self.version {
            4 => addresses::is_bogus_ipv4(addresses::word(&self.source, 0)),
            _ if self.source.0 == [0; 16] => !addresses::is_multicast(&self.destination),
            _ => addresses::is_multicast(&self.source) || addresses::is_bogus_ipv6(&self.source),
        }
    }

    pub(super) fn has_bogus_destination(&self) -> bool {
        match self.version {
            4 => matches!(self.destination.0[0], 0 | 127),
            _ => self.destination.0 == [0; 16] || addresses::is_bogus_ipv6(&self.destination),
        }
    }

    /// Whether `packet`, of which this is the header, is encapsulated as often as a packet may be already.
    pub(super) fn is_nested_too_deep(&self, packet: &[u8]) -> bool {
        if self.fragment_offset != 0 {
            return false;
        }
        let (mut protocol, mut at) = (self.protocol, self.header_bytes);
        for _ in 0..NESTING_LIMIT {
            if !is_encapsulation(protocol) {
                return false;
            }
            match step_inside(packet, protocol, at) {
                Some((next, end)) => (protocol, at) = (next, end),
                None => return false,
            }
        }
        is_encapsulation(protocol)
    }
}

fn is_encapsulation(protocol: u8) -> bool {
    matches!(protocol, IPIP | IPV6 | GRE)
}

/// The protocol after the encapsulation's header at `at`, and where it begins.
fn step_inside(packet: &[u8], mut protocol: u8, mut at: usize) -> Option<(u8, usize)> {
    if protocol == GRE {
        let gre: &[u8; 4] = packet.get(at..)?.first_chunk()?;
        at += 4 + if gre[0] & 0x80 != 0 { 4 } else { 0 } + if gre[0] & 0x20 != 0 { 4 } else { 0 };
        protocol = match gre[2..] {
            [0x86, 0xdd] => IPV6,
            [0x08, 0x00] => IPIP,
            _ => return None,
        };
    }
    let header: &[u8; 10] = packet.get(at..)?.first_chunk()?;
    match protocol {
        IPV6 => Some((header[6], at + 40)),
        _ => Some((header[9], at + usize::from(header[0] & 0x0f) * 4)),
    }
}

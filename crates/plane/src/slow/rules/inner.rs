//! Reading inner packets: `bpf/packet.h`, `bpf/nesting.h`.

use sixbench_wire::protocol::{GRE, IPV4, IPV6};
use sixbench_wire::siit::Ports;
use sixbench_wire::{Defect, Flaw, Span, ipv4, ipv6};

use super::addresses;
use crate::abi::{Address, Outcome};

/// Most encapsulations that a packet may have before ours: the default limit of RFC 2473 section 4.1.1.
const NESTING_LIMIT: u32 = 4;

/// An inner packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    /// 4 or 6.
    pub version: u8,
    /// Length of the packet by its own length field.
    pub bytes: usize,
    /// Length of the IP header, IPv6 extension headers not counted.
    pub header_bytes: usize,
    /// The number of the protocol that follows.
    pub protocol: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// TTL.
    pub hop_limit: u8,
    /// True if it may not be fragmented.
    pub dont_fragment: bool,
    /// True if it is an IPv4 fragment.
    pub is_fragment: bool,
    /// True if it is a fragment but not the first: no header of the upper layer follows.
    pub is_later_fragment: bool,
    /// The address of the sender.
    pub source: Address,
    /// The address of the destination.
    pub destination: Address,
    /// Its ports, if it is a fragment and they are known of its first one.
    pub ports: Option<Ports>,
}

impl Inner {
    /// Reads a header and checks its lengths.
    pub fn read(packet: &[u8]) -> Result<Self, Outcome> {
        Self::parse(Span::whole(packet)).map_err(reason)
    }

    /// Reads the header of a packet of which an ICMP error quotes the beginning.
    pub fn read_quoted(packet: &[u8]) -> Result<Self, Outcome> {
        Self::parse(Span::whole(packet).open_ended()).map_err(reason)
    }

    fn parse(span: Span<'_>) -> Result<Self, Flaw> {
        let &[first] = span.first()?;
        match first >> 4 {
            4 => {
                let packet = ipv4::Packet::parse(span)?;
                let header = ipv4::Repr::parse(&packet);
                Ok(Self {
                    version: 4,
                    bytes: packet.total_bytes(),
                    header_bytes: packet.header_bytes(),
                    protocol: header.protocol,
                    tos: header.traffic_class,
                    hop_limit: header.hop_limit,
                    dont_fragment: header.dont_fragment,
                    is_fragment: header.more_fragments || header.offset_bytes != 0,
                    is_later_fragment: header.offset_bytes != 0,
                    source: header.source.into(),
                    destination: header.destination.into(),
                    ports: None,
                })
            }
            6 => {
                let packet = ipv6::Packet::parse(span)?;
                Ok(Self {
                    version: 6,
                    bytes: packet.total_bytes(),
                    header_bytes: ipv6::HEADER_BYTES,
                    protocol: packet.next_header(),
                    tos: packet.traffic_class(),
                    hop_limit: packet.hop_limit(),
                    dont_fragment: true,
                    is_fragment: false,
                    is_later_fragment: false,
                    source: packet.source().into(),
                    destination: packet.destination().into(),
                    ports: None,
                })
            }
            _ => Err(Flaw::Malformed(Defect::NotIp)),
        }
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

    /// True if `packet`, of which this is the header, is encapsulated as often as a packet may be already.
    pub(super) fn is_nested_too_deep(&self, packet: &[u8]) -> bool {
        if self.is_later_fragment {
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

fn reason(flaw: Flaw) -> Outcome {
    match flaw {
        Flaw::Truncated | Flaw::Malformed(Defect::Header) => Outcome::InnerTruncated,
        Flaw::Malformed(Defect::Length | Defect::TotalLength) => Outcome::InnerLength,
        Flaw::Malformed(_) => Outcome::InnerVersion,
    }
}

fn is_encapsulation(protocol: u8) -> bool {
    matches!(protocol, IPV4 | IPV6 | GRE)
}

/// The protocol after the encapsulation's header at `at`, and where it begins.
fn step_inside(packet: &[u8], mut protocol: u8, mut at: usize) -> Option<(u8, usize)> {
    if protocol == GRE {
        let gre: &[u8; 4] = packet.get(at..)?.first_chunk()?;
        at += 4 + if gre[0] & 0x80 != 0 { 4 } else { 0 } + if gre[0] & 0x20 != 0 { 4 } else { 0 };
        protocol = match gre[2..] {
            [0x86, 0xdd] => IPV6,
            [0x08, 0x00] => IPV4,
            _ => return None,
        };
    }
    let header: &[u8; 10] = packet.get(at..)?.first_chunk()?;
    match protocol {
        IPV6 => Some((header[6], at + 40)),
        _ => Some((header[9], at + usize::from(header[0] & 0x0f) * 4)),
    }
}

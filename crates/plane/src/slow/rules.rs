//! What the programs in `bpf/` decide, for packets that they left to us. Bytes in, bytes and reasons out.

use std::net::Ipv4Addr;

use sixbench_wire::checksum;

use crate::abi::{self, Address, Tunnel};

/// Why a packet is dropped: a reason of `bpf/outcomes.h`.
pub type Reason = &'static str;

/// An inner packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    /// 4 or 6.
    pub version: u8,
    /// By its own length field.
    pub bytes: usize,
    /// DSCP and ECN.
    pub tos: u8,
    /// TTL.
    pub hop_limit: u8,
    /// Whether it may not be fragmented.
    pub dont_fragment: bool,
    /// Who sent it.
    pub source: Address,
    /// Where it goes.
    pub destination: Address,
}

/// What the outer header is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Outer {
    pub destination: Address,
    pub ttl: u8,
    pub tos: u8,
    pub dont_fragment: bool,
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
        let bytes = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut inner = Self {
            version: 6,
            bytes,
            tos: header[0] << 4 | header[1] >> 4,
            hop_limit: header[7],
            dont_fragment: true,
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
            tos: header[1],
            hop_limit: header[8],
            dont_fragment: header[6] & 0x40 != 0,
            source: Ipv4Addr::new(header[12], header[13], header[14], header[15]).into(),
            destination: Ipv4Addr::new(header[16], header[17], header[18], header[19]).into(),
        };
        if inner.bytes < header_bytes { Err("inner-length") } else { Ok(inner) }
    }

    fn within(self, packet: &[u8]) -> Result<Self, Reason> {
        if self.bytes > packet.len() { Err("inner-length") } else { Ok(self) }
    }

    fn has_bogus_source(&self) -> bool {
        match self.version {
            4 => is_bogus_ipv4(word(&self.source, 0)),
            _ if self.source.0 == [0; 16] => !is_multicast(&self.destination),
            _ => is_multicast(&self.source) || is_bogus_ipv6(&self.source),
        }
    }

    fn has_bogus_destination(&self) -> bool {
        match self.version {
            4 => matches!(self.destination.0[0], 0 | 127),
            _ => self.destination.0 == [0; 16] || is_bogus_ipv6(&self.destination),
        }
    }
}

/// What the outer headers of an inner packet say; and the GRE header, where there is one.
pub fn encapsulate(tunnel: &Tunnel, inner: &Inner) -> Result<(Outer, Vec<u8>), Reason> {
    let is_carried = match tunnel.payload {
        abi::payload::IPV6 => inner.version == 6,
        abi::payload::IPV4 => inner.version == 4,
        _ => true,
    };
    if !is_carried {
        return Err("inner-family");
    }
    let dscp = if tunnel.inherits_tos != 0 { inner.tos } else { tunnel.tos } & !3;
    let outer = Outer {
        destination: destination(tunnel, inner)?,
        ttl: if tunnel.ttl == 0 { inner.hop_limit } else { tunnel.ttl },
        tos: dscp | if tunnel.copies_ecn != 0 { inner.tos & 3 } else { 0 },
        dont_fragment: match tunnel.dont_fragment {
            abi::dont_fragment::CLEAR => false,
            abi::dont_fragment::SET => true,
            _ => inner.dont_fragment,
        },
    };
    let mut gre = Vec::new();
    if tunnel.payload == abi::payload::GRE {
        gre.extend(if tunnel.has_gre_key != 0 { [0x20, 0] } else { [0, 0] });
        gre.extend(if inner.version == 6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        if tunnel.has_gre_key != 0 {
            gre.extend(tunnel.gre_key.0);
        }
    }
    Ok((outer, gre))
}

/// The inner packet of what arrived whole from `source`, with everything before `payload` (what follows the outer IP header) taken off.
pub fn decapsulate(tunnel: &Tunnel, source: &Address, tos: u8, payload: &[u8]) -> Result<Vec<u8>, Reason> {
    if tunnel.mapping == abi::mapping::FIXED && *source != tunnel.remote {
        return Err("source-not-peer");
    }
    let (payload, version) = match tunnel.payload {
        abi::payload::GRE => strip_gre(tunnel, payload)?,
        abi::payload::IPV6 => (payload, 6),
        _ => (payload, 4),
    };
    if payload.first().is_some_and(|first| first >> 4 != version) {
        return Err("inner-version");
    }
    let inner = Inner::read(payload)?;
    if inner.has_bogus_source() {
        return Err("inner-source-bogus");
    }
    if inner.has_bogus_destination() {
        return Err("inner-destination-bogus");
    }
    check_addresses(tunnel, &inner, source)?;
    let mut packet = payload[..inner.bytes].to_vec();
    if tunnel.copies_ecn != 0 {
        write_ecn(&mut packet, &inner, decapsulated_ecn(inner.tos, tos).ok_or("ecn-invalid")?);
    }
    Ok(packet)
}

/// The inner packet in what an ICMP error quotes of an outer packet's payload.
pub fn quoted<'a>(tunnel: &Tunnel, payload: &'a [u8]) -> Option<(&'a [u8], Inner)> {
    let gre_bytes = match (tunnel.payload, tunnel.has_gre_key) {
        (abi::payload::GRE, 0) => 4,
        (abi::payload::GRE, _) => 8,
        _ => 0,
    };
    let packet = payload.get(gre_bytes..)?;
    Inner::read_quoted(packet).ok().map(|inner| (packet, inner))
}

/// RFC 2784 section 2, RFC 2890 section 2; with the checksum that the fast path leaves to us.
fn strip_gre<'a>(tunnel: &Tunnel, payload: &'a [u8]) -> Result<(&'a [u8], u8), Reason> {
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
    let rest = payload.get(end..).ok_or("inner-truncated")?;
    if has_key != (tunnel.has_gre_key != 0) || (has_key && payload[key_at..end] != tunnel.gre_key.0) {
        return Err("gre-key");
    }
    match fixed[2..4] {
        [0x86, 0xdd] => Ok((rest, 6)),
        [0x08, 0x00] => Ok((rest, 4)),
        _ => Err("gre-protocol"),
    }
}

/// RFC 6040 section 4.2, figure 4.
fn decapsulated_ecn(inner: u8, outer: u8) -> Option<u8> {
    match (inner & 3, outer & 3) {
        (0, 3) => None,
        (_, 3) => Some(3),
        (2, 1) => Some(1),
        (inner, _) => Some(inner),
    }
}

fn write_ecn(packet: &mut [u8], inner: &Inner, ecn: u8) {
    let tos = inner.tos & !3 | ecn;
    if inner.version == 6 {
        packet[1] = packet[1] & 0x0f | tos << 4;
    } else if tos != inner.tos {
        let sum = u16::from_be_bytes([packet[10], packet[11]]);
        let sum = checksum::update(sum, &[packet[0], packet[1]], &[packet[0], tos]);
        packet[1] = tos;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

fn destination(tunnel: &Tunnel, inner: &Inner) -> Result<Address, Reason> {
    let local = word(&tunnel.local, 0);
    let (to, from) = (&inner.destination, &inner.source);
    let found = match tunnel.mapping {
        abi::mapping::FIXED => return Ok(tunnel.remote),
        abi::mapping::SIX_TO_FOUR => {
            if is_6to4(from) {
                if embedded_6to4(from) != local {
                    return Err("inner-source-mismatch");
                }
            } else if !is_6to4(to) {
                return Err("no-mapping");
            }
            if is_multicast(to) || inner.has_bogus_source() {
                return Err("no-mapping");
            }
            if is_6to4(to) { Some(embedded_6to4(to)) } else { None }
        }
        abi::mapping::SIX_RD => {
            if is_multicast(to) || (!is_in_domain(tunnel, to) && tunnel.is_border_relay != 0) {
                return Err("no-mapping");
            }
            if is_in_domain(tunnel, to) { Some(embedded_6rd(tunnel, to)) } else { None }
        }
        abi::mapping::ISATAP => {
            let router = u32::from_be_bytes(tunnel.routers[0].0);
            let is_solicitation = to.0 == [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
            if is_multicast(to) && !is_solicitation {
                return Err("no-mapping");
            }
            let found = if is_isatap(to) && !is_solicitation { word(to, 3) } else { router };
            if found == 0 {
                return Err("no-mapping");
            }
            Some(found)
        }
        _ => return Err("no-mapping"),
    };
    let Some(found) = found else {
        return if tunnel.remote == Address::default() { Err("no-mapping") } else { Ok(tunnel.remote) };
    };
    let is_martian = match tunnel.mapping {
        abi::mapping::SIX_TO_FOUR => is_martian_for_6to4(tunnel, found),
        _ => is_bogus_ipv4(found),
    };
    match found {
        found if found == local => Err("routing-loop"),
        _ if is_martian => Err("destination-martian"),
        found => Ok(Ipv4Addr::from_bits(found).into()),
    }
}

fn check_addresses(tunnel: &Tunnel, inner: &Inner, outer_source: &Address) -> Result<(), Reason> {
    let (source, local) = (word(outer_source, 0), word(&tunnel.local, 0));
    match tunnel.mapping {
        abi::mapping::SIX_TO_FOUR => {
            if is_martian_for_6to4(tunnel, source) {
                return Err("outer-source-martian");
            }
            if is_6to4(&inner.source) && embedded_6to4(&inner.source) != source {
                return Err("inner-source-mismatch");
            }
            match (is_6to4(&inner.destination), is_6to4(&inner.source)) {
                (true, _) if embedded_6to4(&inner.destination) != local => Err("inner-destination-mismatch"),
                (false, false) => Err("inner-source-mismatch"),
                _ => Ok(()),
            }
        }
        abi::mapping::SIX_RD => {
            let (is_relay, relay) = (tunnel.is_border_relay != 0, word(&tunnel.remote, 0));
            if is_bogus_ipv4(source) {
                return Err("outer-source-martian");
            }
            if is_in_domain(tunnel, &inner.source) {
                if embedded_6rd(tunnel, &inner.source) != source && (is_relay || source != relay) {
                    return Err("inner-source-mismatch");
                }
            } else if is_relay {
                return Err("inner-source-mismatch");
            } else if source != relay {
                return Err("source-not-peer");
            }
            let is_mine = is_in_domain(tunnel, &inner.destination) && embedded_6rd(tunnel, &inner.destination) == local;
            if is_relay || is_mine { Ok(()) } else { Err("inner-destination-mismatch") }
        }
        abi::mapping::ISATAP => {
            let routers = &tunnel.routers[..usize::from(tunnel.router_count).min(abi::MAX_ROUTERS)];
            if is_bogus_ipv4(source) {
                return Err("outer-source-martian");
            }
            match is_isatap(&inner.source) {
                true if word(&inner.source, 3) == source => Ok(()),
                _ if routers.iter().any(|router| u32::from_be_bytes(router.0) == source) => Ok(()),
                true => Err("inner-source-mismatch"),
                false => Err("source-not-peer"),
            }
        }
        _ => Ok(()),
    }
}

/// Never called with more than 3.
fn word(address: &Address, index: usize) -> u32 {
    let octets = &address.0[4 * index..4 * index + 4];
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

fn upper_half(address: &Address) -> u64 {
    u64::from(word(address, 0)) << 32 | u64::from(word(address, 1))
}

fn is_multicast(address: &Address) -> bool {
    address.0[0] == 0xff
}

fn is_bogus_ipv6(address: &Address) -> bool {
    upper_half(address) == 0 && (word(address, 2) == 0 && word(address, 3) != 0 || word(address, 2) == 0xffff)
}

fn is_bogus_ipv4(address: u32) -> bool {
    matches!(address >> 24, 0 | 127 | 224..)
}

fn is_martian_for_6to4(tunnel: &Tunnel, address: u32) -> bool {
    let ip = Ipv4Addr::from_bits(address);
    is_bogus_ipv4(address) || ip.is_link_local() || (tunnel.allows_private == 0 && ip.is_private())
}

fn is_6to4(address: &Address) -> bool {
    word(address, 0) >> 16 == 0x2002
}

fn embedded_6to4(address: &Address) -> u32 {
    (upper_half(address) >> 16) as u32
}

fn is_in_domain(tunnel: &Tunnel, address: &Address) -> bool {
    (upper_half(address) ^ upper_half(&tunnel.prefix)) >> (64 - tunnel.prefix_bits) == 0
}

fn embedded_6rd(tunnel: &Tunnel, address: &Address) -> u32 {
    let embedded_bits = 32 - tunnel.ipv4_mask_bits;
    let embedded = (upper_half(address) << tunnel.prefix_bits >> (64 - embedded_bits)) as u32;
    let common = u64::from(word(&tunnel.local, 0)) >> embedded_bits << embedded_bits;
    common as u32 | embedded
}

fn is_isatap(address: &Address) -> bool {
    word(address, 2) & !0x0200_0000 == 0x5efe
}

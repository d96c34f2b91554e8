//! What the programs in `bpf/` decide, for packets that they left to us, and for those of tunnels without programs. Bytes in, bytes and
//! reasons out.

mod addresses;
mod gre;
mod inner;
mod mapping;

use std::ops::Range;

use sixbench_wire::checksum;

use crate::abi::{self, Address, Tunnel};
pub use addresses::is_6over4_group;
pub use inner::Inner;

/// Why a packet is dropped: a reason of `bpf/outcomes.h`.
pub type Reason = &'static str;

/// What the outer headers are to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Outer {
    pub destination: Address,
    pub ttl: u8,
    pub tos: u8,
    pub dont_fragment: bool,
    pub gre: gre::Header,
}

/// The outer headers of `packet`, whose header is `inner`, and which leaves the device for that link-layer address.
pub fn encapsulate(tunnel: &Tunnel, inner: &Inner, packet: &[u8], link_layer: [u8; 6]) -> Result<Outer, Reason> {
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
        destination: mapping::destination(tunnel, inner, link_layer)?,
        ttl: if tunnel.ttl == 0 { inner.hop_limit } else { tunnel.ttl },
        tos: dscp | if tunnel.copies_ecn != 0 { inner.tos & 3 } else { 0 },
        dont_fragment: match tunnel.dont_fragment {
            abi::dont_fragment::CLEAR => false,
            abi::dont_fragment::SET => true,
            _ => inner.dont_fragment,
        },
        gre: gre::Header::new(tunnel, inner.version),
    };
    if inner.is_nested_too_deep(packet) {
        return Err("nested-too-deep");
    }
    // Routed into the tunnel that it came out of.
    if inner.version == tunnel.outer && inner.source == tunnel.local && inner.destination == outer.destination {
        return Err("routing-loop");
    }
    Ok(outer)
}

/// Where in `payload` (what follows the outer IP header of a packet that arrived whole from `source`) the inner packet is; its ECN field is
/// written. `is_on_link` says of an IPv6 address whether the node routes it to the tunnel's device without a gateway.
pub fn decapsulate(
    tunnel: &Tunnel,
    source: &Address,
    tos: u8,
    payload: &mut [u8],
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<Range<usize>, Reason> {
    let (at, inner) = inspect(tunnel, source, tos, payload, is_on_link)?;
    let range = at..at + inner.bytes;
    if let Some(ecn) = decapsulated_ecn(inner.tos, tos).filter(|_| tunnel.copies_ecn != 0) {
        write_ecn(&mut payload[range.clone()], &inner, ecn);
    }
    Ok(range)
}

/// Where in `payload` the inner packet begins, and its header: [`decapsulate`] without writing.
pub fn inspect(
    tunnel: &Tunnel,
    source: &Address,
    tos: u8,
    payload: &[u8],
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<(usize, Inner), Reason> {
    if tunnel.mapping == abi::mapping::FIXED && *source != tunnel.remote {
        return Err("source-not-peer");
    }
    let (at, version) = match tunnel.payload {
        abi::payload::GRE => gre::strip(tunnel, payload)?,
        abi::payload::IPV6 => (0, 6),
        _ => (0, 4),
    };
    let packet = &payload[at..];
    if packet.first().is_some_and(|first| first >> 4 != version) {
        return Err("inner-version");
    }
    let inner = Inner::read(packet)?;
    if inner.has_bogus_source() {
        return Err("inner-source-bogus");
    }
    if inner.has_bogus_destination() {
        return Err("inner-destination-bogus");
    }
    mapping::check_addresses(tunnel, &inner, source, is_on_link)?;
    if tunnel.copies_ecn != 0 && decapsulated_ecn(inner.tos, tos).is_none() {
        return Err("ecn-invalid");
    }
    Ok((at, inner))
}

/// Whether a packet that was refused for this reason may be another tunnel's of the same local address and payload.
pub fn may_be_anothers(reason: Reason) -> bool {
    matches!(
        reason,
        "source-not-peer"
            | "gre-key"
            | "inner-source-mismatch"
            | "inner-source-off-link"
            | "inner-destination-mismatch"
    )
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

/// RFC 6040 section 4.2, figure 4.
fn decapsulated_ecn(inner: u8, outer: u8) -> Option<u8> {
    match (inner & 3, outer & 3) {
        (0, 3) => None,
        (_, 3) => Some(3),
        (2, 1) => Some(1),
        (inner, _) => Some(inner),
    }
}

/// `packet` has the header that `inner` was read from.
fn write_ecn(packet: &mut [u8], inner: &Inner, ecn: u8) {
    let tos = inner.tos & !3 | ecn;
    if inner.version == 6 {
        packet[1] = (packet[1] & 0x0f) | (tos << 4);
    } else if tos != inner.tos {
        let sum = u16::from_be_bytes([packet[10], packet[11]]);
        let sum = checksum::update(sum, &[packet[0], inner.tos], &[packet[0], tos]);
        packet[1] = tos;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

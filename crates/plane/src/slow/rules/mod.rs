//! The decisions that the programs in `bpf/` make, for packets that they left to us, and for those of tunnels without
//! programs. Bytes in, bytes and reasons out.

mod addresses;
mod gre;
mod inner;
mod map;
mod mapping;

use std::net::IpAddr;
use std::ops::Range;

use sixbench_wire::checksum;
use sixbench_wire::siit::Ports;

use crate::abi::{Address, Outcome};
use crate::spec::{DontFragment, Payload, Spec, Tos, Ttl};
pub use addresses::is_6over4_group;
pub use inner::Inner;

/// The fields of the outer headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Outer {
    pub destination: IpAddr,
    pub ttl: u8,
    pub tos: u8,
    pub dont_fragment: bool,
    pub gre: gre::Header,
}

/// The outer headers of `packet`, whose header is `inner`, and which leaves the device for that link-layer address.
pub fn encapsulate(spec: &Spec, inner: &Inner, packet: &[u8], link_layer: [u8; 6]) -> Result<Outer, Outcome> {
    let is_carried = match spec.payload {
        Payload::Ipv6 => inner.version == 6,
        Payload::Ipv4 => inner.version == 4,
        Payload::Gre => true,
    };
    if !is_carried {
        return Err(Outcome::InnerFamily);
    }
    let tos = match spec.tos {
        Tos::Inherit => inner.tos,
        Tos::Fixed(tos) => tos,
    };
    let outer = Outer {
        destination: mapping::destination(spec, inner, packet, link_layer)?,
        ttl: match spec.ttl {
            Ttl::Inherit => inner.hop_limit,
            Ttl::Fixed(ttl) => ttl,
        },
        tos: tos & !3 | if spec.ecn { inner.tos & 3 } else { 0 },
        dont_fragment: match spec.dont_fragment() {
            DontFragment::Clear => false,
            DontFragment::Set => true,
            DontFragment::Inherit => inner.dont_fragment,
        },
        gre: gre::Header::new(spec, inner.version),
    };
    if inner.is_nested_too_deep(packet) {
        return Err(Outcome::NestedTooDeep);
    }
    // Routed into the tunnel that it came out of.
    let addresses = (inner.source, inner.destination);
    if inner.version == spec.outer.version() && addresses == (spec.local.into(), outer.destination.into()) {
        return Err(Outcome::RoutingLoop);
    }
    Ok(outer)
}

/// The range of the inner packet in `payload`, which follows the outer IP header of a packet that arrived whole from
/// `source`; its ECN field is written. `ports`: those of its first fragment, if the inner packet is a fragment and they
/// are known. `is_on_link` is true for an IPv6 address that the node routes to the tunnel's device without a gateway.
pub fn decapsulate(
    spec: &Spec,
    source: &Address,
    tos: u8,
    payload: &mut [u8],
    ports: Option<Ports>,
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<Range<usize>, Outcome> {
    let (at, inner) = inspect(spec, source, tos, payload, ports, is_on_link)?;
    let range = at..at + inner.bytes;
    if let Some(ecn) = decapsulated_ecn(inner.tos, tos).filter(|_| spec.ecn) {
        write_ecn(&mut payload[range.clone()], &inner, ecn);
    }
    Ok(range)
}

/// The place where the inner packet begins in `payload`, and its header: [`decapsulate`] without writing.
pub fn inspect(
    spec: &Spec,
    source: &Address,
    tos: u8,
    payload: &[u8],
    ports: Option<Ports>,
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<(usize, Inner), Outcome> {
    if spec.mapping.peer().is_some_and(|peer| *source != peer.into()) {
        return Err(Outcome::SourceNotPeer);
    }
    let (at, version) = match spec.payload {
        Payload::Gre => gre::strip(spec.gre_key, payload)?,
        Payload::Ipv6 => (0, 6),
        Payload::Ipv4 => (0, 4),
    };
    let packet = &payload[at..];
    if packet.first().is_some_and(|first| first >> 4 != version) {
        return Err(Outcome::InnerVersion);
    }
    let inner = Inner { ports, ..Inner::read(packet)? };
    if inner.has_bogus_source() {
        return Err(Outcome::InnerSourceBogus);
    }
    if inner.has_bogus_destination() {
        return Err(Outcome::InnerDestinationBogus);
    }
    mapping::check_addresses(spec, &inner, packet, source, is_on_link)?;
    if spec.ecn && decapsulated_ecn(inner.tos, tos).is_none() {
        return Err(Outcome::EcnInvalid);
    }
    Ok((at, inner))
}

/// True if a packet that was dropped for this reason may be another tunnel's of the same local address and payload.
pub fn may_be_anothers(outcome: Outcome) -> bool {
    match outcome {
        Outcome::SourceNotPeer
        | Outcome::GreKeyMismatch
        | Outcome::InnerSourceMismatch
        | Outcome::InnerSourceOffLink
        | Outcome::InnerDestinationMismatch => true,
        Outcome::Undecided
        | Outcome::NotOurs
        | Outcome::Encapsulated
        | Outcome::Decapsulated
        | Outcome::OuterFragment
        | Outcome::OuterOptions
        | Outcome::GreChecksumPresent
        | Outcome::OuterTooBig
        | Outcome::NeighbourUnresolved
        | Outcome::KernelRefused
        | Outcome::OuterTruncated
        | Outcome::OuterChecksum
        | Outcome::OuterSourceMartian
        | Outcome::GreFlags
        | Outcome::GreProtocol
        | Outcome::InnerTruncated
        | Outcome::InnerVersion
        | Outcome::InnerLength
        | Outcome::InnerSourceBogus
        | Outcome::InnerDestinationBogus
        | Outcome::InnerFamily
        | Outcome::EcnInvalid
        | Outcome::NoMapping
        | Outcome::DestinationMartian
        | Outcome::NestedTooDeep
        | Outcome::RoutingLoop
        | Outcome::NoRoute
        | Outcome::InnerTooLong
        | Outcome::NoRoom
        | Outcome::CarrierUnreachable
        | Outcome::CarrierError
        | Outcome::HopLimit
        | Outcome::IcmpRefused
        | Outcome::EchoAnswered
        | Outcome::InnerChecksum
        | Outcome::IcmpChecksum => false,
    }
}

/// The inner packet in what an ICMP error quotes of an outer packet's payload, as far as it goes. `None`: it does not
/// hold the inner header, so nobody knows whose the packet was. Bytes after the packet (RFC 4884) are left out.
pub fn quoted<'a>(spec: &Spec, payload: &'a [u8]) -> Option<(&'a [u8], Inner)> {
    let packet = payload.get(spec.gre_bytes()..)?;
    let inner = Inner::read_quoted(packet).ok()?;
    Some((&packet[..packet.len().min(inner.bytes)], inner))
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

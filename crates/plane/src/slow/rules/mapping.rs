//! The mapping of inner to outer addresses, and back: `bpf/mapping*.h`.

use std::net::{IpAddr, Ipv4Addr};

use super::addresses::{
    SixRdDomain, embedded_6to4, is_6to4, is_bogus_ipv4, is_isatap, is_link_local, is_martian_for_6to4, is_multicast,
    word,
};
use super::{Inner, map};
use crate::abi::{Address, Outcome};
use crate::spec::{Mapping, Spec};

/// ff02::2.
const ALL_ROUTERS: [u8; 16] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// The outer destination of a packet that leaves the device for that link-layer address.
pub fn destination(spec: &Spec, inner: &Inner, packet: &[u8], link_layer: [u8; 6]) -> Result<IpAddr, Outcome> {
    let local = local_ipv4(spec);
    let (found, is_martian) = match spec.mapping {
        Mapping::Fixed { remote } => return Ok(remote),
        Mapping::SixOverFour { .. } => return destination_6over4(link_layer),
        Mapping::Map(ref domain) => return map::destination(domain, packet, inner.ports).map(IpAddr::from),
        Mapping::SixToFour { relay, allow_private } => match destination_6to4(local, inner)? {
            Some(found) => (found, is_martian_for_6to4(found, allow_private)),
            None => return relayed(relay),
        },
        Mapping::SixRd { prefix, ipv4_mask_bits, border_relay, is_border_relay } => {
            let domain = SixRdDomain { prefix, ipv4_mask_bits, local };
            match destination_6rd(&domain, inner, is_border_relay)? {
                Some(found) => (found, is_bogus_ipv4(found)),
                None => return relayed(border_relay),
            }
        }
        Mapping::Isatap { ref routers } => {
            let found = destination_isatap(inner, routers)?;
            (found, is_bogus_ipv4(found))
        }
    };
    match found {
        found if found == local => Err(Outcome::RoutingLoop),
        _ if is_martian => Err(Outcome::DestinationMartian),
        found => Ok(Ipv4Addr::from_bits(found).into()),
    }
}

fn relayed(relay: Option<Ipv4Addr>) -> Result<IpAddr, Outcome> {
    relay.filter(|relay| !relay.is_unspecified()).map(IpAddr::from).ok_or(Outcome::NoMapping)
}

/// The local address as a word, for mappings to IPv4 addresses.
fn local_ipv4(spec: &Spec) -> u32 {
    word(&spec.local.into(), 0)
}

/// The other site's IPv4 address; `None` for the relay.
fn destination_6to4(local: u32, inner: &Inner) -> Result<Option<u32>, Outcome> {
    let (to, from) = (&inner.destination, &inner.source);
    if is_6to4(from) {
        if embedded_6to4(from) != local {
            return Err(Outcome::InnerSourceMismatch);
        }
    } else if !is_6to4(to) {
        return Err(Outcome::NoMapping);
    }
    if is_multicast(to) || inner.has_bogus_source() {
        return Err(Outcome::NoMapping);
    }
    Ok(is_6to4(to).then(|| embedded_6to4(to)))
}

/// The other customer edge's IPv4 address; `None` for the border relay.
fn destination_6rd(domain: &SixRdDomain, inner: &Inner, is_border_relay: bool) -> Result<Option<u32>, Outcome> {
    let to = &inner.destination;
    let is_inside = domain.has(to);
    if is_multicast(to) || (!is_inside && is_border_relay) {
        return Err(Outcome::NoMapping);
    }
    Ok(is_inside.then(|| domain.embedded(to)))
}

fn destination_isatap(inner: &Inner, routers: &[Ipv4Addr]) -> Result<u32, Outcome> {
    let to = &inner.destination;
    let is_solicitation = to.0 == ALL_ROUTERS;
    if is_multicast(to) && !is_solicitation {
        return Err(Outcome::NoMapping);
    }
    let is_embedded = is_isatap(to) && !is_solicitation;
    let found = if is_embedded { word(to, 3) } else { routers.first().map_or(0, |router| router.to_bits()) };
    if found == 0 { Err(Outcome::NoMapping) } else { Ok(found) }
}

fn destination_6over4(link_layer: [u8; 6]) -> Result<IpAddr, Outcome> {
    match link_layer {
        [0x33, 0x33, _, _, y, z] => Ok(Ipv4Addr::new(239, 192, y, z).into()),
        [0, 0, a, b, c, d] => {
            let found = Ipv4Addr::new(a, b, c, d);
            if is_bogus_ipv4(found.to_bits()) { Err(Outcome::DestinationMartian) } else { Ok(found.into()) }
        }
        _ => Err(Outcome::NoMapping),
    }
}

/// Fails unless the inner packet may come from that outer source. `is_on_link` is true for an IPv6 address that the
/// node routes to the device without a gateway.
pub fn check_addresses(
    spec: &Spec,
    inner: &Inner,
    packet: &[u8],
    outer_source: &Address,
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<(), Outcome> {
    let (local, source) = (local_ipv4(spec), word(outer_source, 0));
    match spec.mapping {
        Mapping::Fixed { .. } => Ok(()),
        Mapping::Map(ref domain) => map::check(domain, packet, inner.ports, outer_source),
        Mapping::SixToFour { allow_private, .. } => check_6to4(local, inner, source, allow_private),
        Mapping::SixRd { prefix, ipv4_mask_bits, border_relay, is_border_relay } => {
            let domain = SixRdDomain { prefix, ipv4_mask_bits, local };
            check_6rd(&domain, inner, source, border_relay, is_border_relay)
        }
        Mapping::Isatap { ref routers } => check_isatap(inner, source, routers, is_on_link),
        // A packet that this node sent to a group may come back to it.
        Mapping::SixOverFour { .. } if is_bogus_ipv4(source) || source == local => Err(Outcome::OuterSourceMartian),
        Mapping::SixOverFour { .. } => Ok(()),
    }
}

/// RFC 3964 section 5.1.
fn check_6to4(local: u32, inner: &Inner, source: u32, allow_private: bool) -> Result<(), Outcome> {
    if is_martian_for_6to4(source, allow_private) {
        return Err(Outcome::OuterSourceMartian);
    }
    if is_6to4(&inner.source) && embedded_6to4(&inner.source) != source {
        return Err(Outcome::InnerSourceMismatch);
    }
    match (is_6to4(&inner.destination), is_6to4(&inner.source)) {
        (true, _) if embedded_6to4(&inner.destination) != local => Err(Outcome::InnerDestinationMismatch),
        (false, false) => Err(Outcome::InnerSourceMismatch),
        _ => Ok(()),
    }
}

/// RFC 5969 section 12.
fn check_6rd(
    domain: &SixRdDomain,
    inner: &Inner,
    source: u32,
    border_relay: Option<Ipv4Addr>,
    is_relay: bool,
) -> Result<(), Outcome> {
    let is_from_relay = border_relay.is_some_and(|relay| relay.to_bits() == source);
    if is_bogus_ipv4(source) {
        return Err(Outcome::OuterSourceMartian);
    }
    if domain.has(&inner.source) {
        if domain.embedded(&inner.source) != source && (is_relay || !is_from_relay) {
            return Err(Outcome::InnerSourceMismatch);
        }
    } else if is_relay {
        return Err(Outcome::InnerSourceMismatch);
    } else if !is_from_relay {
        return Err(Outcome::SourceNotPeer);
    }
    let to = &inner.destination;
    let is_mine = domain.has(to) && domain.embedded(to) == domain.local;
    if is_relay || is_mine { Ok(()) } else { Err(Outcome::InnerDestinationMismatch) }
}

/// RFC 5214 section 7.3.
fn check_isatap(
    inner: &Inner,
    source: u32,
    routers: &[Ipv4Addr],
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<(), Outcome> {
    if is_bogus_ipv4(source) {
        return Err(Outcome::OuterSourceMartian);
    }
    if routers.iter().any(|router| router.to_bits() == source) {
        return Ok(());
    }
    match is_isatap(&inner.source) {
        false => Err(Outcome::SourceNotPeer),
        true if word(&inner.source, 3) != source => Err(Outcome::InnerSourceMismatch),
        true if is_link_local(&inner.source) || is_on_link(&inner.source) => Ok(()),
        true => Err(Outcome::InnerSourceOffLink),
    }
}

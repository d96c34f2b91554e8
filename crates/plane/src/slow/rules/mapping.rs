//! From inner to outer addresses, and back: `bpf/mapping*.h`.

use std::net::Ipv4Addr;

use super::addresses::{
    embedded_6rd, embedded_6to4, is_6to4, is_bogus_ipv4, is_in_6rd_domain, is_isatap, is_link_local,
    is_martian_for_6to4, is_multicast, word,
};
use super::{Inner, Reason};
use crate::abi::{self, Address, MAX_ROUTERS, Tunnel};

/// ff02::2.
const ALL_ROUTERS: [u8; 16] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// Where a packet is to be sent that leaves the device for that link-layer address.
pub fn destination(tunnel: &Tunnel, inner: &Inner, link_layer: [u8; 6]) -> Result<Address, Reason> {
    let found = match tunnel.mapping {
        abi::mapping::FIXED => return Ok(tunnel.remote),
        abi::mapping::SIX_TO_FOUR => destination_6to4(tunnel, inner)?,
        abi::mapping::SIX_RD => destination_6rd(tunnel, inner)?,
        abi::mapping::ISATAP => destination_isatap(tunnel, inner)?,
        abi::mapping::SIX_OVER_FOUR => return destination_6over4(link_layer),
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
        found if found == word(&tunnel.local, 0) => Err("routing-loop"),
        _ if is_martian => Err("destination-martian"),
        found => Ok(Ipv4Addr::from_bits(found).into()),
    }
}

/// `None` is the relay.
fn destination_6to4(tunnel: &Tunnel, inner: &Inner) -> Result<Option<u32>, Reason> {
    let (to, from) = (&inner.destination, &inner.source);
    if is_6to4(from) {
        if embedded_6to4(from) != word(&tunnel.local, 0) {
            return Err("inner-source-mismatch");
        }
    } else if !is_6to4(to) {
        return Err("no-mapping");
    }
    if is_multicast(to) || inner.has_bogus_source() {
        return Err("no-mapping");
    }
    Ok(is_6to4(to).then(|| embedded_6to4(to)))
}

/// `None` is the border relay.
fn destination_6rd(tunnel: &Tunnel, inner: &Inner) -> Result<Option<u32>, Reason> {
    let to = &inner.destination;
    let is_inside = is_in_6rd_domain(tunnel, to);
    if is_multicast(to) || (!is_inside && tunnel.is_border_relay != 0) {
        return Err("no-mapping");
    }
    Ok(is_inside.then(|| embedded_6rd(tunnel, to)))
}

fn destination_isatap(tunnel: &Tunnel, inner: &Inner) -> Result<Option<u32>, Reason> {
    let to = &inner.destination;
    let is_solicitation = to.0 == ALL_ROUTERS;
    if is_multicast(to) && !is_solicitation {
        return Err("no-mapping");
    }
    let is_embedded = is_isatap(to) && !is_solicitation;
    match if is_embedded { word(to, 3) } else { u32::from_be_bytes(tunnel.routers[0].0) } {
        0 => Err("no-mapping"),
        found => Ok(Some(found)),
    }
}

fn destination_6over4(link_layer: [u8; 6]) -> Result<Address, Reason> {
    match link_layer {
        [0x33, 0x33, _, _, y, z] => Ok(Ipv4Addr::new(239, 192, y, z).into()),
        [0, 0, a, b, c, d] => {
            let found = Ipv4Addr::new(a, b, c, d);
            if is_bogus_ipv4(found.to_bits()) { Err("destination-martian") } else { Ok(found.into()) }
        }
        _ => Err("no-mapping"),
    }
}

/// Whether the inner packet may come from that outer source. `is_on_link` says of an IPv6 address whether the node routes it to the device without a
/// gateway.
pub fn check_addresses(
    tunnel: &Tunnel,
    inner: &Inner,
    outer_source: &Address,
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<(), Reason> {
    let source = word(outer_source, 0);
    match tunnel.mapping {
        abi::mapping::SIX_TO_FOUR => check_6to4(tunnel, inner, source),
        abi::mapping::SIX_RD => check_6rd(tunnel, inner, source),
        abi::mapping::ISATAP => check_isatap(tunnel, inner, source, is_on_link),
        // What this node sent to a group may come back to it.
        abi::mapping::SIX_OVER_FOUR if is_bogus_ipv4(source) || source == word(&tunnel.local, 0) => {
            Err("outer-source-martian")
        }
        _ => Ok(()),
    }
}

/// RFC 3964 section 5.1.
fn check_6to4(tunnel: &Tunnel, inner: &Inner, source: u32) -> Result<(), Reason> {
    if is_martian_for_6to4(tunnel, source) {
        return Err("outer-source-martian");
    }
    if is_6to4(&inner.source) && embedded_6to4(&inner.source) != source {
        return Err("inner-source-mismatch");
    }
    match (is_6to4(&inner.destination), is_6to4(&inner.source)) {
        (true, _) if embedded_6to4(&inner.destination) != word(&tunnel.local, 0) => Err("inner-destination-mismatch"),
        (false, false) => Err("inner-source-mismatch"),
        _ => Ok(()),
    }
}

/// RFC 5969 section 12.
fn check_6rd(tunnel: &Tunnel, inner: &Inner, source: u32) -> Result<(), Reason> {
    let (is_relay, relay) = (tunnel.is_border_relay != 0, word(&tunnel.remote, 0));
    if is_bogus_ipv4(source) {
        return Err("outer-source-martian");
    }
    if is_in_6rd_domain(tunnel, &inner.source) {
        if embedded_6rd(tunnel, &inner.source) != source && (is_relay || source != relay) {
            return Err("inner-source-mismatch");
        }
    } else if is_relay {
        return Err("inner-source-mismatch");
    } else if source != relay {
        return Err("source-not-peer");
    }
    let to = &inner.destination;
    let is_mine = is_in_6rd_domain(tunnel, to) && embedded_6rd(tunnel, to) == word(&tunnel.local, 0);
    if is_relay || is_mine { Ok(()) } else { Err("inner-destination-mismatch") }
}

/// RFC 5214 section 7.3.
fn check_isatap(
    tunnel: &Tunnel,
    inner: &Inner,
    source: u32,
    is_on_link: &mut dyn FnMut(&Address) -> bool,
) -> Result<(), Reason> {
    let routers = &tunnel.routers[..usize::from(tunnel.router_count).min(MAX_ROUTERS)];
    if is_bogus_ipv4(source) {
        return Err("outer-source-martian");
    }
    if routers.iter().any(|router| u32::from_be_bytes(router.0) == source) {
        return Ok(());
    }
    match is_isatap(&inner.source) {
        false => Err("source-not-peer"),
        true if word(&inner.source, 3) != source => Err("inner-source-mismatch"),
        true if is_link_local(&inner.source) || is_on_link(&inner.source) => Ok(()),
        true => Err("inner-source-off-link"),
    }
}

//! A node of a MAP-E domain: RFC 7597.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::map::Rule;
use sixbench_wire::siit::{Port, Ports};
use sixbench_wire::{Span, ipv4};

use crate::abi::{Address, Outcome};
use crate::spec::MapDomain;

/// The other end of the softwire that a packet goes into. A customer edge sends what has its own address and ports, to
/// another edge by a rule and to the border relay otherwise (section 5.4).
pub fn destination(domain: &MapDomain, packet: &[u8], ports: Option<Ports>) -> Result<Ipv6Addr, Outcome> {
    let (packet, Ports([from, to])) = read(packet, ports)?;
    if domain.own.is_some_and(|own| !has(&own.0, packet.source(), from)) {
        return Err(Outcome::InnerSourceMismatch);
    }
    let rules = || domain.rules.iter().map(|rule| &rule.0).filter(|rule| rule.ipv4.contains(packet.destination()));
    // Several rows of a binding table have the same address, each with its ports.
    match rules().map(|rule| rule.ipv4.bits).max() {
        Some(bits) => {
            let mut found = rules().filter(|rule| rule.ipv4.bits == bits);
            found.find_map(|rule| by_rule(rule, packet.destination(), to)).ok_or(Outcome::NoMapping)
        }
        None => domain.border_relay.ok_or(Outcome::NoMapping),
    }
}

/// Fails unless a packet may come out of a softwire from there: section 8.1.
pub fn check(domain: &MapDomain, packet: &[u8], ports: Option<Ports>, outer_source: &Address) -> Result<(), Outcome> {
    let (packet, Ports([from, to])) = read(packet, ports)?;
    if domain.own.is_some_and(|own| !has(&own.0, packet.destination(), to)) {
        return Err(Outcome::InnerDestinationMismatch);
    }
    let source = Ipv6Addr::from(outer_source.0);
    if domain.border_relay == Some(source) {
        return Ok(());
    }
    let rules = || domain.rules.iter().map(|rule| &rule.0).filter(|rule| rule.ipv6.contains(source));
    let bits = rules().map(|rule| rule.ipv6.bits).max().ok_or(Outcome::SourceNotPeer)?;
    let may_send = |rule: &Rule| {
        rule.to_ipv4(source).is_some_and(|(address, psid)| {
            is_end(rule, address, source, psid, packet.source()) && is_of(rule, psid, from)
        })
    };
    let is_right = rules().filter(|rule| rule.ipv6.bits == bits).any(may_send);
    if is_right { Ok(()) } else { Err(Outcome::InnerSourceMismatch) }
}

/// The packet, with the ports of its first fragment or its own.
fn read(packet: &[u8], ports: Option<Ports>) -> Result<(ipv4::Packet<'_>, Ports), Outcome> {
    let packet = ipv4::Packet::parse(Span::whole(packet)).map_err(|_| Outcome::InnerTruncated)?;
    Ok((packet, ports.unwrap_or_else(|| Ports::of_ipv4(&packet))))
}

/// True if a customer edge's own rule gives it that address and port.
fn has(own: &Rule, address: Ipv4Addr, port: Port) -> bool {
    let psid = own.psid.map_or(0, |psid| psid.value);
    own.ipv4.contains(address) && is_of(own, psid, port)
}

/// True if the port is in a port set. For a later fragment, whose port is unknown, it is true.
fn is_of(rule: &Rule, psid: u16, port: Port) -> bool {
    match port {
        Port::Known(number) => rule.psid_of(number) == Some(psid),
        Port::Elsewhere => true,
        Port::Absent => rule.psid_bits() == 0,
    }
}

/// True if the softwire of the customer edge that has an inner source ends at an outer one.
fn is_end(rule: &Rule, address: Ipv4Addr, outer: Ipv6Addr, psid: u16, inner: Ipv4Addr) -> bool {
    rule.is_same_edge(address, inner) && rule.tunnel_end(address, psid) == outer
}

/// The customer edge that has an address and a port.
fn by_rule(rule: &Rule, address: Ipv4Addr, port: Port) -> Option<Ipv6Addr> {
    let psid = match (port, rule.psid) {
        (Port::Known(number), _) => rule.psid_of(number)?,
        _ if rule.psid_bits() == 0 => 0,
        _ => return None,
    };
    Some(rule.tunnel_end(address, psid))
}

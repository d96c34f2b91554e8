//! Addresses of a MAP-T domain: RFC 7599.
//!
//! A customer edge has `own`, the rule that gives its own address, and the rules of others to which it sends directly;
//! all other addresses are embedded in the prefix of the Default Mapping Rule. A border relay has the domain's rules
//! alone: one end of each packet is by a rule, and the other is embedded.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::context::Context;
use super::ends::Ends;
use super::ports::{Port, Ports};
use super::{Clause, Translator};
use crate::addresses::{Prefix6, is_host4, is_host6};
use crate::map::{Rule, Unmapped};
use crate::{ipv4, ipv6};

/// The rules of a node of a MAP-T domain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Domain {
    /// A customer edge's, with its PSID provisioned. `None`: it is a border relay.
    pub own: Option<Rule>,
    /// Forwarding Mapping Rules.
    pub rules: Vec<Rule>,
}

impl Domain {
    /// Addresses outside are embedded in the prefix of the Default Mapping Rule, and customer edges have other ones:
    /// RFC 7599 section 5.
    pub(super) fn check_apart(&self, dmr: &Prefix6) -> Result<(), String> {
        let overlaps = |rule: &&Rule| dmr.contains(rule.ipv6.address) || rule.ipv6.contains(dmr.address);
        match self.own.iter().chain(&self.rules).find(overlaps) {
            Some(rule) => Err(format!(
                "the prefix {dmr} of the Default Mapping Rule and the rule prefix {} overlap; give one of them another",
                rule.ipv6
            )),
            None => Ok(()),
        }
    }

    pub(super) fn rule4(&self, address: Ipv4Addr) -> Option<&Rule> {
        self.rules.iter().filter(|rule| rule.ipv4.contains(address)).max_by_key(|rule| rule.ipv4.bits)
    }

    fn rule6(&self, address: Ipv6Addr) -> Option<&Rule> {
        self.rules.iter().filter(|rule| rule.ipv6.contains(address)).max_by_key(|rule| rule.ipv6.bits)
    }
}

impl Translator {
    /// The ends of an IPv4 packet, or of one in an ICMP error (`is_quoted`), which went the other way.
    pub(super) fn domain_ends_of_ipv4(
        &self,
        context: &Context,
        domain: &Domain,
        packet: &ipv4::Packet<'_>,
        is_error: bool,
        is_quoted: bool,
    ) -> Result<Ends, Clause> {
        let ipv4 = [packet.source(), packet.destination()];
        // Errors come from any router, whatever its address.
        let hosts = if is_error { &ipv4[1..] } else { &ipv4[..] };
        if !hosts.iter().all(|&address| is_host4(address, self.settings.allow_reserved)) {
            return Err(Clause::NotUnicast);
        }
        let Ports(ports) = context.ports.filter(|_| !is_quoted).unwrap_or_else(|| Ports::of_ipv4(packet));
        let far = usize::from(!is_quoted);
        let near = 1 - far;
        let near6 = match self.near_to_ipv6(domain, ipv4[near], ports[near]) {
            Err(_) if is_error => self.router_to_ipv6_of_own(context, domain, ipv4[near], packet.hop_limit())?,
            found => found?,
        };
        let far6 = self.far_to_ipv6(domain, ipv4[far], ports[far])?;
        Ok(Ends { ipv4, ipv6: if is_quoted { [far6, near6] } else { [near6, far6] } })
    }

    /// The same for IPv6.
    pub(super) fn domain_ends_of_ipv6(
        &self,
        context: &Context,
        domain: &Domain,
        packet: &ipv6::Packet<'_>,
        is_error: bool,
        is_quoted: bool,
    ) -> Result<Ends, Clause> {
        let ipv6 = [packet.source(), packet.destination()];
        if !ipv6.into_iter().all(is_host6) {
            return Err(Clause::NotUnicast);
        }
        let Ports(ports) = context.ports.filter(|_| !is_quoted).unwrap_or_else(|| Ports::of_ipv6(packet));
        let far = usize::from(is_quoted);
        let near = 1 - far;
        let far4 = match self.far_to_ipv4(domain, ipv6[far], ports[far]) {
            Err(Clause::NoMapping | Clause::Denied | Clause::NonGlobal) if is_error => self.pooled4(packet.hop_limit()),
            found => found?,
        };
        let near4 = self.near_to_ipv4(domain, ipv6[near], ports[near])?;
        Ok(Ends { ipv4: if is_quoted { [near4, far4] } else { [far4, near4] }, ipv6 })
    }

    /// The end beyond the IPv4 side: the customer edge itself, or for a border relay a host outside the domain.
    fn near_to_ipv6(&self, domain: &Domain, address: Ipv4Addr, port: Port) -> Result<Ipv6Addr, Clause> {
        match &domain.own {
            Some(own) => by_rule(own, address, port),
            None => self.to_ipv6(address),
        }
    }

    fn near_to_ipv4(&self, domain: &Domain, address: Ipv6Addr, port: Port) -> Result<Ipv4Addr, Clause> {
        match &domain.own {
            Some(own) => of_rule(own, address, port).map_err(|_| Clause::NoMapping),
            None => self.to_ipv4(address),
        }
    }

    /// The end beyond the IPv6 side.
    fn far_to_ipv6(&self, domain: &Domain, address: Ipv4Addr, port: Port) -> Result<Ipv6Addr, Clause> {
        match domain.rule4(address) {
            Some(rule) => by_rule(rule, address, port),
            None if domain.own.is_some() => self.to_ipv6(address),
            None => Err(Clause::NoMapping),
        }
    }

    fn far_to_ipv4(&self, domain: &Domain, address: Ipv6Addr, port: Port) -> Result<Ipv4Addr, Clause> {
        match domain.rule6(address) {
            Some(rule) => of_rule(rule, address, port),
            None if domain.own.is_some() => self.to_ipv4(address),
            None => Err(Clause::NoMapping),
        }
    }

    /// The IPv6 address of a router that sends an ICMP error. Outside, the address of a router behind a customer edge
    /// means nothing.
    fn router_to_ipv6_of_own(
        &self,
        context: &Context,
        domain: &Domain,
        address: Ipv4Addr,
        hop_limit: u8,
    ) -> Result<Ipv6Addr, Clause> {
        match domain.own {
            Some(_) => self.pooled6(hop_limit).ok_or(Clause::NoMapping),
            None => self.router_to_ipv6(context, address, hop_limit),
        }
    }
}

fn by_rule(rule: &Rule, address: Ipv4Addr, port: Port) -> Result<Ipv6Addr, Clause> {
    let number = match (port, rule.psid) {
        (Port::Known(number), _) => number,
        _ if rule.psid_bits() == 0 => 0,
        // It is its own customer edge's, whatever the port that the first fragment has.
        (Port::Elsewhere, Some(psid)) if rule.ipv4.contains(address) => return Ok(rule.address(address, psid.value)),
        (Port::Elsewhere | Port::Absent, _) => return Err(Clause::NoPort),
    };
    rule.to_ipv6(address, number).map_err(|unmapped| match unmapped {
        Unmapped::Address => Clause::NoMapping,
        Unmapped::Port => Clause::PortSet,
    })
}

/// The IPv4 address of an IPv6 address that follows the rule, if the port is of its port set. For a later fragment,
/// only the address counts: without the first fragment, it is useless.
fn of_rule(rule: &Rule, address: Ipv6Addr, port: Port) -> Result<Ipv4Addr, Clause> {
    let (found, psid) = rule.to_ipv4(address).ok_or(Clause::NotByRule)?;
    match port {
        Port::Known(number) if rule.psid_of(number) != Some(psid) => Err(Clause::NotByRule),
        Port::Absent if rule.psid_bits() > 0 => Err(Clause::NoPort),
        Port::Known(_) | Port::Elsewhere | Port::Absent => Ok(found),
    }
}

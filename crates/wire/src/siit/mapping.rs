//! The address of the other family that stands for an address: RFC 6052, RFC 7757, RFC 6791.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::context::Context;
use super::ends::Ends;
use super::{Clause, Translator};
use crate::addresses::{Prefix6, is_host4, is_host6};
use crate::{ipv4, ipv6};

impl Translator {
    /// The ends of an IPv4 packet. `is_error`: it is an ICMP error, whose source may be any router.
    pub(super) fn ends_of_ipv4(
        &self,
        context: &Context,
        packet: &ipv4::Packet<'_>,
        is_error: bool,
    ) -> Result<Ends, Clause> {
        if let Some(given) = &context.given {
            return Ok(given.ends());
        }
        if let Some(domain) = &self.settings.domain {
            return self.domain_ends_of_ipv4(context, domain, packet, is_error, false);
        }
        let ipv4 = [packet.source(), packet.destination()];
        let source = match is_error {
            true => self.router_to_ipv6(context, ipv4[0], packet.hop_limit())?,
            // A host that is found by RFC 6052 is answered there: RFC 7757 section 4.2.2.
            false if context.is_back => self.embed(ipv4[0])?,
            false => self.to_ipv6(ipv4[0])?,
        };
        Ok(Ends { ipv4, ipv6: [source, self.to_ipv6(ipv4[1])?] })
    }

    /// The ends of the packet in an ICMP error.
    pub(super) fn ends_of_quoted_ipv4(&self, context: &Context, packet: &ipv4::Packet<'_>) -> Result<Ends, Clause> {
        if let Some(given) = &context.given {
            return given.quoted_ends();
        }
        if let Some(domain) = &self.settings.domain {
            return self.domain_ends_of_ipv4(context, domain, packet, false, true);
        }
        let ipv4 = [packet.source(), packet.destination()];
        let destination = if context.is_back { self.embed(ipv4[1])? } else { self.to_ipv6(ipv4[1])? };
        Ok(Ends { ipv4, ipv6: [self.to_ipv6(ipv4[0])?, destination] })
    }

    /// The ends of an IPv6 packet. `is_error`: it is an ICMPv6 error, whose source may be any router.
    pub(super) fn ends_of_ipv6(
        &self,
        context: &Context,
        packet: &ipv6::Packet<'_>,
        is_error: bool,
    ) -> Result<Ends, Clause> {
        if let Some(given) = &context.given {
            return Ok(given.ends());
        }
        if let Some(domain) = &self.settings.domain {
            return self.domain_ends_of_ipv6(context, domain, packet, is_error, false);
        }
        let ipv6 = [packet.source(), packet.destination()];
        let source = match self.to_ipv4(ipv6[0]) {
            Err(Clause::NoMapping | Clause::Denied | Clause::NonGlobal) if is_error => self.pooled4(packet.hop_limit()),
            found => found?,
        };
        Ok(Ends { ipv4: [source, self.to_ipv4(ipv6[1])?], ipv6 })
    }

    /// The ends of the packet in an ICMPv6 error.
    pub(super) fn ends_of_quoted_ipv6(&self, context: &Context, packet: &ipv6::Packet<'_>) -> Result<Ends, Clause> {
        if let Some(given) = &context.given {
            return given.quoted_ends();
        }
        if let Some(domain) = &self.settings.domain {
            return self.domain_ends_of_ipv6(context, domain, packet, false, true);
        }
        let ipv6 = [packet.source(), packet.destination()];
        Ok(Ends { ipv4: [self.to_ipv4(ipv6[0])?, self.to_ipv4(ipv6[1])?], ipv6 })
    }

    /// True if a packet to that IPv6 address, which the IPv4 address stands for, comes back: RFC 7757 section 4.2.2. At
    /// a border relay of MAP, one to the IPv4 address of a customer edge does.
    pub(super) fn comes_back(&self, context: &Context, ipv6: Ipv6Addr, ipv4: Ipv4Addr) -> bool {
        if let Some(given) = &context.given {
            return given.comes_back;
        }
        if let Some(domain) = &self.settings.domain {
            return self.settings.hairpin && domain.rule4(ipv4).is_some();
        }
        self.settings.hairpin && self.explicit.to_ipv4(ipv6).is_none() && self.explicit.to_ipv6(ipv4).is_some()
    }

    pub(crate) fn to_ipv6(&self, address: Ipv4Addr) -> Result<Ipv6Addr, Clause> {
        if !is_host4(address, self.settings.allow_reserved) {
            return Err(Clause::NotUnicast);
        }
        match self.explicit.to_ipv6(address) {
            Some(_) if self.is_denied(address) => Err(Clause::Denied),
            Some(found) => Ok(found),
            None => self.embed(address),
        }
    }

    fn embed(&self, address: Ipv4Addr) -> Result<Ipv6Addr, Clause> {
        let prefix = self.settings.prefixes.first().ok_or(Clause::NoMapping)?;
        if self.is_denied(address) {
            return Err(Clause::Denied);
        }
        if !self.may_represent(prefix, address) {
            return Err(Clause::NonGlobal);
        }
        Ok(prefix.embed(address))
    }

    /// An address that is no host's stands for itself, so that troubles can be found: RFC 7915 section 4.1.
    pub(crate) fn router_to_ipv6(
        &self,
        context: &Context,
        address: Ipv4Addr,
        hop_limit: u8,
    ) -> Result<Ipv6Addr, Clause> {
        let found = match context.is_back || !is_host4(address, self.settings.allow_reserved) {
            true => self.embed(address),
            false => self.to_ipv6(address),
        };
        found.or_else(|clause| self.pooled6(hop_limit).ok_or(clause))
    }

    pub(crate) fn to_ipv4(&self, address: Ipv6Addr) -> Result<Ipv4Addr, Clause> {
        if !is_host6(address) {
            return Err(Clause::NotUnicast);
        }
        let explicit = self.explicit.to_ipv4(address).map(|found| (None, found));
        let embedded = || {
            let mut found = self.settings.prefixes.iter().map(|prefix| (Some(prefix), prefix.embedded(address)));
            found.find_map(|(prefix, embedded)| embedded.map(|embedded| (prefix, embedded)))
        };
        let (prefix, found) = explicit.or_else(embedded).ok_or(Clause::NoMapping)?;
        if !is_host4(found, self.settings.allow_reserved) {
            return Err(Clause::NotUnicast);
        }
        if self.is_denied(found) {
            return Err(Clause::Denied);
        }
        match prefix {
            Some(prefix) if !self.may_represent(prefix, found) => Err(Clause::NonGlobal),
            _ => Ok(found),
        }
    }

    /// Fails where no host has that address beyond its link.
    pub(crate) fn check_host6(&self, address: Ipv6Addr) -> Result<(), Clause> {
        if is_host6(address) { Ok(()) } else { Err(Clause::NotUnicast) }
    }

    fn may_represent(&self, prefix: &Prefix6, address: Ipv4Addr) -> bool {
        self.settings.allow_non_global || prefix.may_represent(address)
    }

    fn is_denied(&self, address: Ipv4Addr) -> bool {
        self.settings.denied.iter().any(|net| net.contains(address))
    }

    pub(super) fn pooled4(&self, hop_limit: u8) -> Ipv4Addr {
        let sizes = self.settings.pool4.iter().map(|net| net.suffix_bits());
        let chosen = choose(sizes, hop_limit)
            .map(|(index, at)| Ipv4Addr::from_bits(self.settings.pool4[index].address.to_bits() + at));
        chosen.unwrap_or(self.settings.own4)
    }

    pub(super) fn pooled6(&self, hop_limit: u8) -> Option<Ipv6Addr> {
        let sizes = self.settings.pool6.iter().map(|net| net.suffix_bits());
        let chosen = choose(sizes, hop_limit)
            .map(|(index, at)| Ipv6Addr::from_bits(self.settings.pool6[index].address.to_bits() + u128::from(at)));
        chosen.or(self.own6)
    }
}

/// The index of a prefix among those with this many bits behind them, and the number of an address in it. In large
/// prefixes, the first 256 addresses are enough for every hop limit.
fn choose(suffix_bits: impl Iterator<Item = u32> + Clone, hop_limit: u8) -> Option<(usize, u32)> {
    let sizes = suffix_bits.map(|bits| 1_u32 << bits.min(8));
    let mut at = u32::from(hop_limit).checked_rem(sizes.clone().sum())?;
    for (index, size) in sizes.enumerate() {
        match at.checked_sub(size) {
            Some(rest) => at = rest,
            None => return Some((index, at)),
        }
    }
    None
}

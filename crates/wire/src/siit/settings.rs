//! The settings of a translator, and the mistakes in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::explicit::Table;
use super::{Clause, Domain, LEAST_MTU6};
use crate::addresses::{Ipv4Net, Ipv6Net, Prefix6, is_host4, is_host6};
use crate::map::check_rules;

const MIN_MTU4: u32 = 68;

/// MTUs of links, for routers that report none: RFC 1191 section 7.
pub const PLATEAUS: [u16; 11] = [65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];

/// The settings of a translator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The prefixes of RFC 6052. The first one is for IPv4 addresses that nothing else maps. There may be none if there
    /// is a table.
    pub prefixes: Vec<Prefix6>,
    /// The table of RFC 7757. The longest prefix that fits holds, before those of RFC 6052.
    pub explicit: Vec<(Ipv4Net, Ipv6Net)>,
    /// True if prefixes of the table may lie in one another (RFC 7757 section 5). Some addresses then do not map one to
    /// one.
    pub overlapping: bool,
    /// IPv4 addresses that are never translated, whatever maps them.
    pub denied: Vec<Ipv4Net>,
    /// True if 64:ff9b::/96 may stand for IPv4 addresses that are not global, against RFC 6052 section 3.1.
    pub allow_non_global: bool,
    /// True if 240.0.0.0/4 is translated, which RFC 1112 reserved. The broadcast address never is.
    pub allow_reserved: bool,
    /// The source of errors that the translator sends to IPv4 hosts.
    pub own4: Ipv4Addr,
    /// The source of errors that the translator sends to IPv6 hosts. If it is unspecified, it is `own4` in the first
    /// prefix; without prefixes, none is sent.
    pub own6: Ipv6Addr,
    /// Sources of ICMP errors in IPv4, for IPv6 routers that nothing maps (RFC 6791); `own4` if there are none. The hop
    /// limit of the error chooses, so that the routers of a path have different addresses as long as the pool has
    /// enough.
    pub pool4: Vec<Ipv4Net>,
    /// Sources of ICMPv6 errors, for IPv4 routers that nothing maps or that must not be mapped; `own6` if there are
    /// none. They are chosen as in `pool4`.
    pub pool6: Vec<Ipv6Net>,
    /// True if ICMPv6 errors have as their source the destination of the packet that they quote, and not the IPv4
    /// router that sent them.
    pub errors_from_destination: bool,
    /// UDP without a checksum.
    pub zero_checksum: ZeroChecksum,
    /// The MTU to which IPv4 packets without DF are fragmented, in bytes: RFC 7915 section 4.
    pub lowest_ipv6_mtu: u32,
    /// The MTU of the next hop in IPv4, in bytes.
    pub mtu4: u32,
    /// The MTU of the next hop in IPv6, in bytes.
    pub mtu6: u32,
    /// MTUs that links have, for routers that report none with a Fragmentation Needed: RFC 1191 section 7.
    pub plateaus: Vec<u16>,
    /// True if it takes one from the hop limit. A node that forwards packets out of the translator does that itself.
    pub takes_hop: bool,
    /// The type of service of all IPv4 packets (RFC 7915 section 5.1). `None`: the IPv6 packet's traffic class.
    pub tos: Option<u8>,
    /// The traffic class of all IPv6 packets (RFC 7915 section 4.1). `None`: the IPv4 packet's type of service.
    pub traffic_class: Option<u8>,
    /// Decides the identifications of IPv4 packets with DF clear: no number comes twice among 65,535, and none is 0.
    /// `None`: they are counted from 1.
    pub identification_seed: Option<u64>,
    /// Packets that are dropped by these clauses are answered by Communication Administratively Prohibited: RFC 7915
    /// sections 4.4 and 5.4. See [`Clause::can_be_answered`].
    pub answered: Vec<Clause>,
    /// True if packets from one host in the table, or from one customer edge of MAP, to another are translated twice:
    /// RFC 7757 section 4.2.2.
    pub hairpin: bool,
    /// The rules of a MAP-T domain (RFC 7599). The prefix is then that of the Default Mapping Rule.
    pub domain: Option<Domain>,
}

/// The treatment of UDP without a checksum: RFC 7915 section 4.5. IPv6 does not permit it but in tunnels (RFC 8200
/// section 8.1, RFC 6935).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum ZeroChecksum {
    #[default]
    Drop,
    /// It gets one, unless it comes in fragments that nobody puts together, which are dropped.
    Compute,
    /// It goes on without, in fragments too: RFC 7915 section 1.2.
    Forward,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prefixes: Vec::new(),
            explicit: Vec::new(),
            overlapping: false,
            denied: Vec::new(),
            allow_non_global: false,
            allow_reserved: false,
            own4: Ipv4Addr::new(192, 0, 0, 8), // RFC 7600: of a node that has none of its own.
            own6: Ipv6Addr::UNSPECIFIED,
            pool4: Vec::new(),
            pool6: Vec::new(),
            errors_from_destination: false,
            zero_checksum: ZeroChecksum::Drop,
            lowest_ipv6_mtu: LEAST_MTU6 as u32,
            mtu4: 1500,
            mtu6: 1500,
            plateaus: PLATEAUS.to_vec(),
            takes_hop: true,
            tos: None,
            traffic_class: None,
            identification_seed: None,
            answered: Vec::new(),
            hairpin: false,
            domain: None,
        }
    }
}

impl Settings {
    /// Prefixes of IPv4 addresses that are not translated, or only if the table maps them.
    pub fn doubtful(&self) -> Vec<Ipv4Net> {
        let mut found = self.denied.clone();
        for prefix in self.prefixes.iter().filter(|_| !self.allow_non_global) {
            found.extend(prefix.never_represented());
        }
        found
    }

    /// Fails with a sentence about what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.check_mappings()?;
        self.check_mtus()?;
        self.domain.as_ref().map_or(Ok(()), |domain| self.check_domain(domain))?;
        for (name, pool) in [("denied IPv4 prefix", &self.denied), ("pool of IPv4 addresses", &self.pool4)] {
            pool.iter().try_for_each(|net| net.check_canonical().map_err(|net| beyond(name, &net)))?;
        }
        self.pool6
            .iter()
            .try_for_each(|net| net.check_canonical().map_err(|net| beyond("pool of IPv6 addresses", &net)))?;
        if let Some(net) = self.pool4.iter().find(|net| !is_host4(net.address, true)) {
            return Err(format!("the pool {net} for sources of ICMP errors has addresses that no host may have"));
        }
        if let Some(net) = self.pool6.iter().find(|net| net.address.is_multicast() || net.address.is_unspecified()) {
            return Err(format!("the pool {net} for sources of ICMPv6 errors has addresses that no host may have"));
        }
        self.check_own()?;
        match self.answered.iter().find(|clause| !clause.can_be_answered()) {
            Some(clause) => {
                let can: Vec<_> =
                    Clause::ALL.iter().filter(|clause| clause.can_be_answered()).map(|one| one.name()).collect();
                Err(format!(
                    "no source is informed by {}; sources can be informed of {}",
                    clause.name(),
                    can.join(", ")
                ))
            }
            None => Ok(()),
        }
    }

    fn check_mappings(&self) -> Result<(), String> {
        if self.prefixes.is_empty() && self.explicit.is_empty() {
            return Err("there is no prefix for IPv4 addresses (RFC 6052), such as 64:ff9b:1::/96, and no table \
                        (RFC 7757), so nothing can be translated"
                .to_owned());
        }
        self.prefixes.iter().try_for_each(Prefix6::check)?;
        Table::check(&self.explicit, self.overlapping)
    }

    /// Checks the rules of MAP, and that they go with the other settings.
    fn check_domain(&self, domain: &Domain) -> Result<(), String> {
        check_rules(domain.own.as_ref(), &domain.rules, self.allow_reserved)?;
        if domain.own.is_none() && domain.rules.is_empty() {
            return Err("a border relay has a rule of its domain at least (RFC 7599 section 5)".to_owned());
        }
        if domain.own.is_some_and(|own| own.ea_bits > 0) {
            return Err(
                "a customer edge's own rule has its IPv4 address or prefix and its PSID, and no EA bits".to_owned()
            );
        }
        match &self.prefixes[..] {
            [_] if self.hairpin && domain.own.is_some() => {
                Err("packets from one customer edge to another turn back at a border relay, and not at a customer edge"
                    .to_owned())
            }
            [dmr] if self.explicit.is_empty() => domain.check_apart(dmr),
            _ => {
                Err("with rules of MAP there is one prefix, that of the Default Mapping Rule, and no table".to_owned())
            }
        }
    }

    /// Errors come from an address that hosts can have: RFC 1122 section 3.2.1.3, RFC 4291 section 2.7.
    fn check_own(&self) -> Result<(), String> {
        let own6 = Some(self.own6).filter(|own6| !own6.is_unspecified() && !is_host6(*own6));
        let own4 = Some(self.own4).filter(|own4| !is_host4(*own4, self.allow_reserved));
        let wrong = own6.map(IpAddr::V6).or(own4.map(IpAddr::V4));
        let prefix = self.prefixes.iter().find(|prefix| prefix.address.is_multicast());
        match (wrong, prefix) {
            (Some(own), _) => Err(format!("the translator's own address {own} is not one that a host may have")),
            (None, Some(prefix)) => Err(format!("the prefix {prefix} is a multicast prefix")),
            (None, None) => Ok(()),
        }
    }

    fn check_mtus(&self) -> Result<(), String> {
        let least = LEAST_MTU6 as u32;
        if !(least..=65_535).contains(&self.lowest_ipv6_mtu) || !(least..=65_535).contains(&self.mtu6) {
            return Err(format!(
                "the lowest IPv6 MTU is {} and that of the next hop {}, and must be {least} to 65535",
                self.lowest_ipv6_mtu, self.mtu6
            ));
        }
        if !(MIN_MTU4..=65_535).contains(&self.mtu4) {
            return Err(format!("the IPv4 MTU is {}, and must be {MIN_MTU4} to 65535", self.mtu4));
        }
        Ok(())
    }
}

fn beyond(name: &str, net: &str) -> String {
    format!("the {name} {net} has bits beyond its length, or a length that is not possible")
}

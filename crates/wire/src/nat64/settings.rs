//! The settings of a stateful translator, and the mistakes in them.

use std::time::Duration;

use super::ends::{Inside, Outside, Protocol};
use super::pool::PoolRange;
use crate::siit;

/// The settings of a stateful translator.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Settings of the translation of packets: the prefix, MTUs and the rest. They have no table, no MAP and no hairpin
    /// of their own.
    pub translation: siit::Settings,
    /// The IPv4 addresses and ports that there are for IPv6 hosts.
    pub pool: Vec<PoolRange>,
    /// Bindings that are always there: RFC 6146 section 3.5.
    pub bindings: Vec<StaticBinding>,
    /// The packets from IPv4 that may enter a binding.
    pub filtering: Filtering,
    /// Times for which sessions stay.
    pub timeouts: Timeouts,
    /// Most sessions that the table holds.
    pub max_sessions: usize,
    /// Decides which ports are bound. `None`: that of the IPv6 host if it is free, or else the next one.
    pub seed: Option<u64>,
}

/// A binding that is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct StaticBinding {
    pub protocol: Protocol,
    pub outside: Outside,
    pub inside: Inside,
}

/// The packets from IPv4 that may enter a binding: RFC 4787 section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Filtering {
    #[default]
    EndpointIndependent,
    /// Packets from addresses to which the IPv6 host has sent.
    AddressDependent,
}

/// Times for which sessions stay without a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Timeouts {
    pub udp: Duration,
    pub tcp_established: Duration,
    pub tcp_transitory: Duration,
    pub icmp: Duration,
}

impl Default for Timeouts {
    /// RFC 6146 section 4.
    fn default() -> Self {
        Self {
            udp: Duration::from_secs(5 * 60),
            tcp_established: Duration::from_secs(2 * 3600 + 4 * 60),
            tcp_transitory: Duration::from_secs(4 * 60),
            icmp: Duration::from_secs(60),
        }
    }
}

impl Settings {
    /// Fails with a sentence about what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let siit = &self.translation;
        siit.check()?;
        if siit.prefixes.is_empty() || !siit.explicit.is_empty() || siit.hairpin || siit.domain.is_some() {
            return Err("a NAT64 has a prefix, and neither a table nor rules of MAP".to_owned());
        }
        if self.pool.is_empty() {
            return Err("a NAT64 has a pool of IPv4 addresses (RFC 6146 section 3.2)".to_owned());
        }
        self.pool.iter().try_for_each(PoolRange::check)?;
        if self.max_sessions == 0 {
            return Err("the table has at least one session".to_owned());
        }
        let is_pooled = |outside: Outside| {
            self.pool.iter().any(|range| range.has(outside.address) && range.ports.contains(&outside.port))
        };
        match self.bindings.iter().find(|one| !is_pooled(one.outside)) {
            Some(one) => {
                Err(format!("the static binding of {} is not of an address and port of the pool", one.outside))
            }
            None => Ok(()),
        }
    }
}

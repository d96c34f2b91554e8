//! The settings of a stateful translator as users give them.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde::Deserialize;
use sixbench_plane::written::Written;
use sixbench_wire::nat64::{self, Inside, Outside, PoolRange, StaticBinding};
use sixbench_wire::siit;

/// Longest timeout, in seconds: more than anybody waits, and less than what nanoseconds can count.
const MAX_TIMEOUT_S: u32 = 30 * 24 * 3600;

/// The settings as `docs/protocol.md` has them. A setting that is left out is as [`nat64::Settings`] has it by default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pool: Vec<WrittenRange>,
    #[serde(default)]
    bindings: Vec<WrittenBinding>,
    #[serde(default)]
    filtering: Filtering,
    #[serde(default)]
    timeouts_s: Timeouts,
    #[serde(default = "max_sessions")]
    max_sessions: usize,
    #[serde(default)]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRange {
    net: Written<Ipv4Addr>,
    first: u16,
    last: u16,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBinding {
    protocol: Protocol,
    ipv4: (Ipv4Addr, u16),
    ipv6: (Ipv6Addr, u16),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    Tcp,
    Udp,
    Icmp,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Filtering {
    #[default]
    EndpointIndependent,
    AddressDependent,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Timeouts {
    udp: Option<u32>,
    tcp_established: Option<u32>,
    tcp_transitory: Option<u32>,
    icmp: Option<u32>,
}

/// A million and a few, as in the table of a provider's translator.
const fn max_sessions() -> usize {
    1 << 20
}

impl Settings {
    /// The settings together with those of the translation of packets. Fails if a time is invalid.
    pub fn with(self, translation: siit::Settings) -> Result<nat64::Settings, String> {
        let usual = nat64::Timeouts::default();
        let seconds = |written: Option<u32>, usual| match written {
            Some(written) if !(1..=MAX_TIMEOUT_S).contains(&written) => {
                Err(format!("a session lasts 1 to {MAX_TIMEOUT_S} s without a packet, not {written}"))
            }
            written => Ok(written.map_or(usual, |written| Duration::from_secs(written.into()))),
        };
        Ok(nat64::Settings {
            translation,
            pool: self
                .pool
                .iter()
                .map(|written| PoolRange { net: written.net.0, ports: written.first..=written.last })
                .collect(),
            bindings: self.bindings.iter().map(StaticBinding::from).collect(),
            filtering: self.filtering.into(),
            timeouts: nat64::Timeouts {
                udp: seconds(self.timeouts_s.udp, usual.udp)?,
                tcp_established: seconds(self.timeouts_s.tcp_established, usual.tcp_established)?,
                tcp_transitory: seconds(self.timeouts_s.tcp_transitory, usual.tcp_transitory)?,
                icmp: seconds(self.timeouts_s.icmp, usual.icmp)?,
            },
            max_sessions: self.max_sessions,
            seed: self.seed,
        })
    }
}

impl From<&WrittenBinding> for StaticBinding {
    fn from(written: &WrittenBinding) -> Self {
        let protocol = match written.protocol {
            Protocol::Tcp => nat64::Protocol::Tcp,
            Protocol::Udp => nat64::Protocol::Udp,
            Protocol::Icmp => nat64::Protocol::Icmp,
        };
        Self {
            protocol,
            outside: Outside { address: written.ipv4.0, port: written.ipv4.1 },
            inside: Inside { address: written.ipv6.0, port: written.ipv6.1 },
        }
    }
}

impl From<Filtering> for nat64::Filtering {
    fn from(written: Filtering) -> Self {
        match written {
            Filtering::EndpointIndependent => Self::EndpointIndependent,
            Filtering::AddressDependent => Self::AddressDependent,
        }
    }
}

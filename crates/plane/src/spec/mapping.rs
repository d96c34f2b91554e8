//! The rules by which the outer destination follows from the inner packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Deserialize;
use sixbench_wire::addresses::Ipv6Net;
use sixbench_wire::map::{Rule, check_rules};

use crate::abi::{self, Address, Address4};
use crate::written::WrittenRule;

/// Most groups: more than a node has addresses.
const MAX_GROUPS: usize = 256;

/// The rule by which the outer destination follows from the inner packet.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Mapping {
    /// A tunnel to one peer: RFC 4213, RFC 2473, RFC 2784.
    Fixed { remote: IpAddr },
    /// RFC 3056.
    #[serde(rename = "6to4")]
    SixToFour {
        #[serde(default)]
        relay: Option<Ipv4Addr>,
        #[serde(default)]
        allow_private: bool,
    },
    /// RFC 5969.
    #[serde(rename = "6rd")]
    SixRd {
        prefix: Ipv6Net,
        #[serde(default)]
        ipv4_mask_bits: u8,
        #[serde(default)]
        border_relay: Option<Ipv4Addr>,
        #[serde(default)]
        is_border_relay: bool,
    },
    /// MAP-E: RFC 7597. In user space alone.
    Map(MapDomain),
    /// RFC 5214.
    Isatap {
        #[serde(default)]
        routers: Vec<Ipv4Addr>,
    },
    /// RFC 2529.
    #[serde(rename = "6over4")]
    SixOverFour {
        /// Joined on the devices below, besides those of all nodes and of the device's link-local address.
        #[serde(default)]
        groups: Vec<Ipv4Addr>,
    },
}

/// The knowledge of a node of a MAP-E domain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct MapDomain {
    /// A customer edge's, with its PSID provisioned. `None`: it is a border relay.
    #[serde(default)]
    pub own: Option<WrittenRule>,
    /// Rules by which others are reached directly: a border relay's Basic Mapping Rules, a customer edge's Forwarding
    /// Mapping Rules.
    #[serde(default)]
    pub rules: Vec<WrittenRule>,
    /// The border relay of a customer edge.
    #[serde(default)]
    pub border_relay: Option<Ipv6Addr>,
}

impl MapDomain {
    /// True if its rules are rows of a binding table, or an lwB4's own (RFC 7596): no address follows from another one.
    pub(crate) fn is_lightweight(&self) -> bool {
        self.own.iter().chain(&self.rules).all(|rule| rule.0.ea_bits == 0 && rule.0.ipv6.bits == 128)
    }

    /// Fails with a sentence if a border relay's address is in the prefix of one of these rules, which belongs to
    /// customer edges.
    pub(crate) fn check_relay(relay: IpAddr, rules: &[Rule]) -> std::result::Result<(), String> {
        let IpAddr::V6(relay) = relay else { return Ok(()) };
        match rules.iter().find(|rule| rule.ipv6.contains(relay)) {
            None => Ok(()),
            Some(rule) => Err(format!(
                "the border relay's address {relay} is in {}, which customer edges have; give it another one",
                rule.ipv6
            )),
        }
    }

    fn check(&self, local: IpAddr) -> std::result::Result<(), String> {
        let rules: Vec<_> = self.rules.iter().map(|rule| rule.0).collect();
        check_rules(self.own.as_ref().map(|own| &own.0), &rules, false)?;
        let relay = match (&self.own, self.border_relay) {
            (_, Some(relay)) => Some(IpAddr::from(relay)),
            (None, None) => Some(local),
            (Some(_), None) => None,
        };
        if let Some(relay) = relay {
            let customers: Vec<_> = self.own.iter().map(|own| own.0).chain(rules).collect();
            Self::check_relay(relay, &customers)?;
        }
        match (self.own, self.border_relay) {
            (None, None) if self.rules.is_empty() => Err("a border relay has a rule of its domain at least".to_owned()),
            (None, None) => Ok(()),
            (Some(_), None) => Err("a customer edge knows its border relay (RFC 7597 section 5.4)".to_owned()),
            (None, Some(_)) => Err("a border relay has no other one".to_owned()),
            (Some(_), Some(relay)) if IpAddr::from(relay) == local => {
                Err(format!("border_relay and local are both {local}"))
            }
            (Some(WrittenRule(own)), Some(_)) if own.ea_bits > 0 => {
                Err("a customer edge's own rule has its IPv4 address or prefix and its PSID, and no EA bits".to_owned())
            }
            (Some(WrittenRule(own)), Some(_)) => {
                let address = own.tunnel_end(own.ipv4.address, own.psid.map_or(0, |psid| psid.value));
                if local == address { Ok(()) } else { Err(format!("local is {local}, and the rule gives {address}")) }
            }
        }
    }
}

impl Mapping {
    /// The one node at the tunnel's other end, where there is one.
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Fixed { remote } => Some(*remote),
            Self::SixToFour { .. }
            | Self::SixRd { .. }
            | Self::Map(_)
            | Self::Isatap { .. }
            | Self::SixOverFour { .. } => None,
        }
    }

    /// True if IPv4 multicast carries the tunnel's multicast, by which neighbours are found.
    pub fn uses_groups(&self) -> bool {
        match self {
            Self::SixOverFour { .. } => true,
            Self::Fixed { .. } | Self::SixToFour { .. } | Self::SixRd { .. } | Self::Map(_) | Self::Isatap { .. } => {
                false
            }
        }
    }

    pub(super) fn check(&self, local: IpAddr, is_outer: impl Fn(IpAddr) -> bool) -> std::result::Result<(), String> {
        match self {
            Self::Fixed { remote } if !is_outer(*remote) => Err(format!("remote {remote} is not of the outer family")),
            Self::Fixed { remote } if *remote == local => Err(format!("remote and local are both {local}")),
            Self::Fixed { remote } if remote.is_unspecified() || remote.is_multicast() => {
                Err(format!("remote {remote} cannot be the address of a node"))
            }
            Self::SixToFour { allow_private: false, .. } if matches!(local, IpAddr::V4(local) if local.is_private()) => {
                Err(format!("6to4 with the private address {local} needs allow_private (RFC 3056 section 2)"))
            }
            Self::SixRd { prefix, ipv4_mask_bits, .. } => {
                let embedded_bits = 32_u8.checked_sub(*ipv4_mask_bits).filter(|&bits| bits > 0);
                match embedded_bits {
                    None => Err("ipv4_mask_bits is 0 to 31".to_owned()),
                    Some(_) if prefix.bits == 0 => Err("a 6rd prefix has at least one bit".to_owned()),
                    Some(bits) if prefix.bits + bits > 64 => Err(format!(
                        "a 6rd prefix of {} bits and {bits} bits of the IPv4 address are more than 64: there is no room for a subnet (RFC 5969 section 4)",
                        prefix.bits
                    )),
                    Some(_) => Ok(()),
                }
            }
            Self::Map(domain) => domain.check(local),
            Self::Isatap { routers } if routers.len() > abi::MAX_ROUTERS => {
                Err(format!("ISATAP has at most {} routers", abi::MAX_ROUTERS))
            }
            Self::SixOverFour { groups } if groups.len() > MAX_GROUPS => {
                Err(format!("6over4 has at most {MAX_GROUPS} groups"))
            }
            Self::SixOverFour { groups } => match groups.iter().find(|group| group.octets()[..2] != [239, 192]) {
                Some(group) => Err(format!(
                    "{group} is not a group of 6over4; its groups are in 239.192.0.0/16 (RFC 2529 section 6)"
                )),
                None => Ok(()),
            },
            Self::Fixed { .. } | Self::SixToFour { .. } | Self::Isatap { .. } => Ok(()),
        }
    }

    pub(super) fn fill(&self, tunnel: &mut abi::Tunnel) {
        let optional = |address: &Option<Ipv4Addr>| address.map_or(Address::default(), Address::from);
        match self {
            Self::Fixed { remote } => {
                tunnel.mapping = abi::mapping::FIXED;
                tunnel.remote = (*remote).into();
            }
            Self::SixToFour { relay, allow_private } => {
                tunnel.mapping = abi::mapping::SIX_TO_FOUR;
                tunnel.remote = optional(relay);
                tunnel.allows_private = (*allow_private).into();
            }
            Self::SixRd { prefix, ipv4_mask_bits, border_relay, is_border_relay } => {
                tunnel.mapping = abi::mapping::SIX_RD;
                tunnel.remote = optional(border_relay);
                tunnel.prefix = Address(prefix.address.octets());
                tunnel.prefix_bits = prefix.bits;
                tunnel.ipv4_mask_bits = *ipv4_mask_bits;
                tunnel.is_border_relay = (*is_border_relay).into();
            }
            Self::SixOverFour { .. } => tunnel.mapping = abi::mapping::SIX_OVER_FOUR,
            // No program supports MAP.
            Self::Map(_) => {}
            Self::Isatap { routers } => {
                tunnel.mapping = abi::mapping::ISATAP;
                tunnel.router_count = routers.len() as u8;
                for (slot, router) in tunnel.routers.iter_mut().zip(routers) {
                    *slot = Address4(router.octets());
                }
            }
        }
    }
}

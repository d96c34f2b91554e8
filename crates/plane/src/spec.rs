//! What a tunnel is: as it is asked for, and as the programs need it. Touches nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Deserializer, de};
use sixbench_wire::{gre, ipv4, ipv6};

use crate::abi::{self, Address, Address4};
use crate::told::ToldRule;
use crate::{Error, Result};

/// The least MTU of a link that carries IPv6: RFC 8200 section 5.
pub const MIN_IPV6_MTU_BYTES: u32 = 1280;
/// The least MTU of a link that carries IPv4: RFC 791 section 3.2.
const MIN_IPV4_MTU_BYTES: u32 = 68;
/// The longest name: the kernel's 15 bytes, of which the far end's ending takes 4.
pub(crate) const MAX_NAME_BYTES: usize = 11;
/// More than a node has addresses.
const MAX_GROUPS: usize = 256;
/// Of the outer packet, where the tunnel gives one of its own: RFC 1700 and RFC 4213 section 3.3 name 64.
const DEFAULT_TTL: u8 = 64;

/// A tunnel as it is asked for: `tunnel-add` in the protocol document.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Spec {
    pub device: String,
    pub mtu_bytes: u32,
    pub outer: Family,
    pub payload: Payload,
    pub local: IpAddr,
    pub underlay: Vec<String>,
    pub mapping: Mapping,
    #[serde(default)]
    pub engine: Engine,
    #[serde(default)]
    pub ttl: Ttl,
    #[serde(default)]
    pub tos: Tos,
    #[serde(default = "yes")]
    pub ecn: bool,
    #[serde(default)]
    pub pmtu: PathMtu,
    #[serde(default)]
    pub df: Option<DontFragment>,
    #[serde(default)]
    pub gre_key: Option<u32>,
}

fn yes() -> bool {
    true
}

/// Who carries the tunnel's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Programs in the kernel, and the slow path for what they leave over.
    #[default]
    Ebpf,
    /// The slow path alone.
    User,
}

/// The outer header's family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl Family {
    /// The first four bits of its packets.
    pub fn version(self) -> u8 {
        match self {
            Self::Ipv4 => 4,
            Self::Ipv6 => 6,
        }
    }
}

/// What the outer header carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Payload {
    Ipv6,
    Ipv4,
    Gre,
}

/// How the outer destination follows from the inner packet.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Mapping {
    /// One peer: RFC 4213, RFC 2473, RFC 2784.
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
        prefix: Prefix,
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

/// What a node of a MAP-E domain knows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct MapDomain {
    /// A customer edge's, with its PSID provisioned. `None`: it is a border relay.
    #[serde(default)]
    pub own: Option<ToldRule>,
    /// By which others are reached directly: a border relay's Basic Mapping Rules, a customer edge's Forwarding Mapping Rules.
    #[serde(default)]
    pub rules: Vec<ToldRule>,
    /// Of a customer edge.
    #[serde(default)]
    pub border_relay: Option<Ipv6Addr>,
}

impl MapDomain {
    fn check(&self, local: IpAddr) -> std::result::Result<(), String> {
        self.own.iter().chain(&self.rules).try_for_each(|rule| rule.0.check())?;
        match (self.own, self.border_relay) {
            (None, None) if self.rules.is_empty() => Err("a border relay has a rule of its domain at least".to_owned()),
            (None, None) => Ok(()),
            (Some(_), None) => Err("a customer edge knows its border relay (RFC 7597 section 5.4)".to_owned()),
            (None, Some(_)) => Err("a border relay has no other one".to_owned()),
            (Some(_), Some(relay)) if IpAddr::from(relay) == local => {
                Err(format!("border_relay and local are both {local}"))
            }
            (Some(ToldRule(own)), Some(_)) if own.shares_addresses() || own.ipv4.bits != 32 => {
                Err("a customer edge's own rule has its IPv4 address, of 32 bits, and its PSID".to_owned())
            }
            (Some(ToldRule(own)), Some(_)) => {
                let address = own.address(own.ipv4.address, own.psid.map_or(0, |psid| psid.value));
                if local == address { Ok(()) } else { Err(format!("local is {local}, and the rule gives {address}")) }
            }
        }
    }
}

/// The outer TTL or hop limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ttl {
    Inherit,
    Fixed(u8),
}

impl Default for Ttl {
    fn default() -> Self {
        Self::Fixed(DEFAULT_TTL)
    }
}

/// The outer DSCP, as the octet it is in; its ECN bits are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Tos {
    #[default]
    Inherit,
    Fixed(u8),
}

/// How the tunnel keeps its packets within the path's MTU: RFC 4213 section 3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathMtu {
    /// Section 3.2.1: the tunnel's MTU is what it is, and outer packets may be fragmented.
    #[default]
    Static,
    /// Section 3.2.2: outer packets may not be fragmented.
    Dynamic,
}

/// The outer DF bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum DontFragment {
    Clear,
    Set,
    /// As the inner packet; an IPv6 packet counts as one that may not be fragmented.
    Inherit,
}

/// An IPv6 prefix, written `2001:db8::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Its first address.
    pub address: Ipv6Addr,
    /// Its length.
    pub bits: u8,
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom(format!("{text:?} is not an IPv6 prefix, such as 2001:db8::/32"));
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv6Addr = address.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().ok().filter(|&bits| bits <= 128).ok_or_else(wrong)?;
        let host = if bits == 128 { 0 } else { u128::MAX >> bits };
        if address.to_bits() & host != 0 {
            return Err(de::Error::custom(format!("{text:?} has bits beyond its length")));
        }
        Ok(Self { address, bits })
    }
}

/// `"inherit"`, or a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum InheritOr {
    Word(Inherit),
    Number(u8),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Inherit {
    Inherit,
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match InheritOr::deserialize(deserializer) {
            Ok(InheritOr::Word(Inherit::Inherit)) => Ok(Self::Inherit),
            Ok(InheritOr::Number(ttl @ 1..)) => Ok(Self::Fixed(ttl)),
            _ => Err(de::Error::custom("ttl is \"inherit\" or 1 to 255")),
        }
    }
}

impl<'de> Deserialize<'de> for Tos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match InheritOr::deserialize(deserializer) {
            Ok(InheritOr::Word(Inherit::Inherit)) => Ok(Self::Inherit),
            Ok(InheritOr::Number(tos)) => Ok(Self::Fixed(tos)),
            Err(_) => Err(de::Error::custom("tos is \"inherit\" or 0 to 255")),
        }
    }
}

impl Spec {
    /// What the programs need, but for the indices of devices that are not there yet.
    pub fn compile(&self) -> Result<abi::Tunnel> {
        self.check().map_err(|reason| Error::BadSpec { device: self.device.clone(), reason })?;
        let mut tunnel = abi::Tunnel {
            overhead_bytes: self.overhead_bytes(),
            gre_key: Address4(self.gre_key.unwrap_or_default().to_be_bytes()),
            has_gre_key: self.gre_key.is_some().into(),
            local: self.local.into(),
            near_mac: self.near_mac(),
            outer: self.outer.version(),
            payload: match self.payload {
                Payload::Ipv6 => abi::payload::IPV6,
                Payload::Ipv4 => abi::payload::IPV4,
                Payload::Gre => abi::payload::GRE,
            },
            ttl: match self.ttl {
                Ttl::Inherit => 0,
                Ttl::Fixed(ttl) => ttl,
            },
            copies_ecn: self.ecn.into(),
            dont_fragment: match self.dont_fragment() {
                DontFragment::Clear => abi::dont_fragment::CLEAR,
                DontFragment::Set => abi::dont_fragment::SET,
                DontFragment::Inherit => abi::dont_fragment::INHERIT,
            },
            ..abi::Tunnel::default()
        };
        match self.tos {
            Tos::Inherit => tunnel.inherits_tos = 1,
            Tos::Fixed(tos) => tunnel.tos = tos,
        }
        self.mapping.fill(&mut tunnel);
        Ok(tunnel)
    }

    /// What the outer headers take from the MTU of the devices below.
    pub fn overhead_bytes(&self) -> u32 {
        let ip = if self.outer == Family::Ipv4 { ipv4::HEADER_BYTES } else { ipv6::HEADER_BYTES };
        (ip + self.gre_bytes()) as u32
    }

    /// What the GRE header takes, where the tunnel has one.
    pub fn gre_bytes(&self) -> usize {
        match (self.payload, self.gre_key) {
            (Payload::Gre, None) => gre::HEADER_BYTES,
            (Payload::Gre, Some(_)) => gre::HEADER_BYTES + 4,
            (Payload::Ipv6 | Payload::Ipv4, _) => 0,
        }
    }

    /// The outer DF bit, as asked for or as the handling of the path's MTU has it.
    pub fn dont_fragment(&self) -> DontFragment {
        self.df.unwrap_or(match self.pmtu {
            PathMtu::Static => DontFragment::Clear,
            PathMtu::Dynamic => DontFragment::Set,
        })
    }

    /// The tunnel device's address: locally administered, and the same every time.
    pub fn near_mac(&self) -> [u8; 6] {
        match self.local {
            IpAddr::V4(local) => {
                let [a, b, c, d] = local.octets();
                // Of 6over4 it is the link-layer address option's content: RFC 2529 section 5.
                let [high, low] = if self.mapping.uses_groups() { [0, 0] } else { [0x02, 0x04] };
                [high, low, a, b, c, d]
            }
            IpAddr::V6(local) => {
                let [.., a, b, c, d] = local.octets();
                [0x02, 0x06, a, b, c, d]
            }
        }
    }

    /// The link-local address of the tunnel's end, where its mechanism says which: RFC 4213 section 3.7, RFC 5214 section 6.2.
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        let IpAddr::V4(local) = self.local else { return None };
        let [high, low] = [0, 2].map(|at| u16::from_be_bytes([local.octets()[at], local.octets()[at + 1]]));
        match (&self.mapping, self.payload) {
            (_, Payload::Ipv4) | (Mapping::SixRd { .. }, _) => None,
            // The universal bit says that the IPv4 address is globally unique: RFC 5214 section 6.1.
            (Mapping::Isatap { .. }, _) => {
                Some(Ipv6Addr::new(0xfe80, 0, 0, 0, if local.is_private() { 0 } else { 0x200 }, 0x5efe, high, low))
            }
            _ => Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, high, low)),
        }
    }

    fn check(&self) -> std::result::Result<(), String> {
        if !is_name(&self.device) || self.device.len() > MAX_NAME_BYTES {
            return Err(format!("a tunnel's device has a name of 1 to {MAX_NAME_BYTES} letters, digits or signs"));
        }
        if self.underlay.is_empty() || !self.underlay.iter().all(|name| is_name(name)) {
            return Err("underlay names no device".to_owned());
        }
        let least = if self.payload == Payload::Ipv6 { MIN_IPV6_MTU_BYTES } else { MIN_IPV4_MTU_BYTES };
        let most = u32::from(u16::MAX) - self.overhead_bytes();
        if !(least..=most).contains(&self.mtu_bytes) {
            return Err(format!("mtu_bytes is {}, and must be {least} to {most} for this payload", self.mtu_bytes));
        }
        if self.gre_key.is_some() && self.payload != Payload::Gre {
            return Err("gre_key is only for payload gre".to_owned());
        }
        let is_outer = |address: IpAddr| address.is_ipv4() == (self.outer == Family::Ipv4);
        if !is_outer(self.local) {
            return Err(format!("local {} is not of the outer family", self.local));
        }
        if self.local.is_unspecified() || self.local.is_multicast() {
            return Err(format!("local {} cannot be the address of a node", self.local));
        }
        match (&self.mapping, self.outer, self.payload) {
            (Mapping::Fixed { .. }, _, _) | (Mapping::Map(_), Family::Ipv6, Payload::Ipv4) => {}
            (Mapping::Map(_), _, _) => return Err("this mapping is for payload ipv4 in outer ipv6".to_owned()),
            (_, Family::Ipv4, Payload::Ipv6) => {}
            _ => return Err("this mapping is for payload ipv6 in outer ipv4".to_owned()),
        }
        self.mapping.check(self.local, is_outer)
    }
}

/// Whether a device may have that name, by its letters.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"/:%".contains(&byte))
        && name != "."
        && name != ".."
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

    /// Whether IPv4 multicast carries the tunnel's multicast, by which neighbours are found.
    pub fn uses_groups(&self) -> bool {
        match self {
            Self::SixOverFour { .. } => true,
            Self::Fixed { .. } | Self::SixToFour { .. } | Self::SixRd { .. } | Self::Map(_) | Self::Isatap { .. } => {
                false
            }
        }
    }

    fn check(&self, local: IpAddr, is_outer: impl Fn(IpAddr) -> bool) -> std::result::Result<(), String> {
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
            _ => Ok(()),
        }
    }

    fn fill(&self, tunnel: &mut abi::Tunnel) {
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
            // No program knows it.
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

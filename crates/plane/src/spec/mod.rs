//! The specification of a tunnel: as it is asked for, and as the programs need it. Touches nothing.

mod mapping;

use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Deserializer, de};
use sixbench_wire::family::Family;
use sixbench_wire::{gre, ipv4, ipv6};

use crate::Result;
use crate::abi::{self, Address4};
use crate::error::bad_tunnel;

pub use mapping::{MapDomain, Mapping};

/// The least MTU of a link that carries IPv6: RFC 8200 section 5.
pub const MIN_IPV6_MTU_BYTES: u32 = 1280;
/// The least MTU of a link that carries IPv4: RFC 791 section 3.2.
pub const MIN_IPV4_MTU_BYTES: u32 = 68;
/// The longest name: the kernel's 15 bytes, of which the far end's ending takes 4.
pub(crate) const MAX_NAME_BYTES: usize = 11;
/// TTL of outer packets where the tunnel gives one of its own: RFC 1700 and RFC 4213 section 3.3 name 64.
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

/// The carrier of the tunnel's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Programs in the kernel, and the slow path for what they leave over.
    #[default]
    Ebpf,
    /// The slow path alone.
    User,
}

/// The packets that the outer header carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Payload {
    Ipv6,
    Ipv4,
    Gre,
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

/// The means by which the tunnel keeps its packets within the path's MTU: RFC 4213 section 3.2.
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
    /// The DF of the inner packet; an IPv6 packet counts as one that may not be fragmented.
    Inherit,
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
    /// The struct that the programs need, without the indices of devices that are not there yet.
    pub fn compile(&self) -> Result<abi::Tunnel> {
        self.check().map_err(|reason| bad_tunnel(&self.device, reason))?;
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

    /// Number of bytes that the outer headers take from the MTU of the devices below.
    pub fn overhead_bytes(&self) -> u32 {
        let ip = if self.outer == Family::Ipv4 { ipv4::HEADER_BYTES } else { ipv6::HEADER_BYTES };
        (ip + self.gre_bytes()) as u32
    }

    /// Length of the GRE header, 0 where the tunnel has none.
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
                // In 6over4 it is the link-layer address option's content: RFC 2529 section 5.
                let [high, low] = if self.mapping.uses_groups() { [0, 0] } else { [0x02, 0x04] };
                [high, low, a, b, c, d]
            }
            IpAddr::V6(local) => {
                let [.., a, b, c, d] = local.octets();
                [0x02, 0x06, a, b, c, d]
            }
        }
    }

    /// The link-local address of the tunnel's end, where its mechanism says which: RFC 4213 section 3.7, RFC 5214
    /// section 6.2.
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        let IpAddr::V4(local) = self.local else { return None };
        let [high, low] = [0, 2].map(|at| u16::from_be_bytes([local.octets()[at], local.octets()[at + 1]]));
        match (&self.mapping, self.payload) {
            (_, Payload::Ipv4) | (Mapping::SixRd { .. }, _) => None,
            // The universal bit says that the IPv4 address is globally unique: RFC 5214 section 6.1.
            (Mapping::Isatap { .. }, _) => {
                Some(Ipv6Addr::new(0xfe80, 0, 0, 0, if local.is_private() { 0 } else { 0x200 }, 0x5efe, high, low))
            }
            (
                Mapping::Fixed { .. } | Mapping::SixToFour { .. } | Mapping::Map(_) | Mapping::SixOverFour { .. },
                Payload::Ipv6 | Payload::Gre,
            ) => Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, high, low)),
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
            (
                Mapping::SixToFour { .. }
                | Mapping::SixRd { .. }
                | Mapping::Isatap { .. }
                | Mapping::SixOverFour { .. },
                outer,
                payload,
            ) => {
                if (outer, payload) != (Family::Ipv4, Payload::Ipv6) {
                    return Err("this mapping is for payload ipv6 in outer ipv4".to_owned());
                }
            }
        }
        self.mapping.check(self.local, is_outer)
    }
}

/// True if a device may have that name, by its letters.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"/:%".contains(&byte))
        && name != "."
        && name != ".."
}

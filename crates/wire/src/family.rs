//! The two address families.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An address family; as a number, its place in [`FAMILIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// Both, in the order of results.
pub const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
    }

    /// The first four bits of its packets.
    pub fn version(self) -> u8 {
        match self {
            Family::Ipv4 => 4,
            Family::Ipv6 => 6,
        }
    }
}

//! The two address families.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

/// An address family; as a number, its place in [`FAMILIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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
}

/// Values of families, by the names of the protocol document. Absent are those that a result does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ByFamily<T> {
    /// IPv4's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<T>,
    /// IPv6's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<T>,
}

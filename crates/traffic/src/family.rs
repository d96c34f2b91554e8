//! The two address families.

use std::net::IpAddr;

/// An address family; as a number, its place in [`FAMILIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        }
    }
}

//! The settings of a node's treatment of packets around the tunnel.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::Deserialize;

/// A node around a tunnel, as `docs/protocol.md` has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// The source of ICMP errors; without one none are sent.
    pub own4: Option<Ipv4Addr>,
    /// The source of ICMPv6 errors; without one none are sent.
    pub own6: Option<Ipv6Addr>,
    /// True if packets that come out for another customer edge go in again at once: RFC 7596 section 6.2.
    pub hairpins: bool,
    /// True if it takes one from the TTL of IPv4 packets that it carries, as a router does that forwards them: RFC 1812
    /// section 5.3.1.
    pub takes_hop: bool,
    /// True if sources of packets that no rule binds get an error: RFC 7596 section 6.2.
    pub tells_unbound: bool,
    /// True if IPv4 packets from outside that come in fragments are put together, and not carried as they come: RFC
    /// 7597 section 8.3.2.
    pub reassembles: bool,
    /// The MTU of the IPv4 link that packets go to when they come out.
    pub mtu4_bytes: Option<u16>,
    /// The protocols of errors to sources.
    pub tells: Icmp,
    /// The ICMP that it takes: what comes from outside for customer edges (RFC 7596 section 8.1), and ICMPv6 errors
    /// about outer packets (RFC 2473 section 8).
    pub takes_icmp: Icmp,
}

/// The choice among ICMP for IPv4 and ICMPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Icmp {
    #[default]
    Both,
    V4,
    V6,
    None,
}

impl Icmp {
    /// True if it includes that of this version of IP.
    pub fn has(self, version: u8) -> bool {
        match self {
            Self::Both => true,
            Self::V4 => version == 4,
            Self::V6 => version == 6,
            Self::None => false,
        }
    }
}

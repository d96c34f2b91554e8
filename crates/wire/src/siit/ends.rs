//! The ends of a packet in both families.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Addresses of both families, source first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub ipv4: [Ipv4Addr; 2],
    pub ipv6: [Ipv6Addr; 2],
}

//! The ends of sessions, and the protocols that have them: RFC 6146 section 3.1.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::tcp::Lifetime;
use crate::protocol;

/// A protocol that has sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Protocol {
    Tcp,
    Udp,
    /// Echoes, whose identifier takes the place of ports.
    Icmp,
}

/// An IPv6 host's address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Inside {
    pub address: Ipv6Addr,
    pub port: u16,
}

/// An IPv4 address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Outside {
    pub address: Ipv4Addr,
    pub port: u16,
}

impl Protocol {
    /// The protocol with this number in IPv4.
    pub fn of(number: u8) -> Option<Self> {
        match number {
            protocol::TCP => Some(Self::Tcp),
            protocol::UDP => Some(Self::Udp),
            protocol::ICMP => Some(Self::Icmp),
            _ => None,
        }
    }

    /// The lifetime of a session from its first packet on.
    pub(super) fn lifetime(self) -> Lifetime {
        match self {
            Self::Tcp => Lifetime::TcpTransitory,
            Self::Udp => Lifetime::Udp,
            Self::Icmp => Lifetime::Icmp,
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.address, self.port)
    }
}

//! Circumstances of a packet beside its bytes while it is translated.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::ends::Ends;
use super::{Clause, Ports};

/// The circumstances of one packet. Those of a whole packet of a sender, whose addresses the settings decide about, are
/// the default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context {
    /// True if the packet came out of IPv6 just now: RFC 7757 section 4.2.2.
    pub is_back: bool,
    /// The addresses of the packet, if the owner of its session gives them.
    pub given: Option<Given>,
    /// The ports of the packet, if it is a fragment and those of the first one are known.
    pub ports: Option<Ports>,
    /// True if the packet came in fragments that were put together. It may be cut again.
    pub was_joined: bool,
}

impl Context {
    /// The context of a packet that may be a fragment, whose first one has these ports.
    pub fn of_fragment(ports: Option<Ports>) -> Self {
        Self { ports, ..Self::default() }
    }

    /// The context of a packet whose fragments were put together.
    pub const JOINED: Self = Self { is_back: false, given: None, ports: None, was_joined: true };

    /// The same packet on its way back to IPv6.
    pub fn back(self) -> Self {
        Self { is_back: true, ..self }
    }

    /// The same packet with the addresses that the owner of its session gives.
    pub fn with(self, given: Given) -> Self {
        Self { given: Some(given), ..self }
    }
}

/// The addresses of a packet, and of the one in it if it is an ICMP error, as the owner of its session knows them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    pub ipv4: [Ipv4Addr; 2],
    pub ipv6: [Ipv6Addr; 2],
    pub quoted: Option<([Ipv4Addr; 2], [Ipv6Addr; 2])>,
    /// True if the packet comes back to IPv6 at once: RFC 6146 section 3.8.
    pub comes_back: bool,
}

impl Given {
    pub(super) fn ends(&self) -> Ends {
        Ends { ipv4: self.ipv4, ipv6: self.ipv6 }
    }

    pub(super) fn quoted_ends(&self) -> Result<Ends, Clause> {
        self.quoted.map(|(ipv4, ipv6)| Ends { ipv4, ipv6 }).ok_or(Clause::QuotedPacket)
    }
}

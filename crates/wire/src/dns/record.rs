//! Resource records that are written: RFC 1035 section 3.2.1, RFC 3596.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{CLASS_IN, Name, TTL_S};

/// The type of a record or of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

impl Kind {
    /// RFC 1035 section 3.4.1.
    pub const A: Self = Self(1);
    /// RFC 1035 section 3.3.1.
    pub const CNAME: Self = Self(5);
    /// RFC 1035 section 3.3.13.
    pub const SOA: Self = Self(6);
    /// RFC 1035 section 3.3.12.
    pub const PTR: Self = Self(12);
    /// RFC 3596 section 2.1.
    pub const AAAA: Self = Self(28);
    /// RFC 6891 section 6.1.1.
    pub const OPT: Self = Self(41);
    /// RFC 1995, of a question.
    pub const IXFR: Self = Self(251);
    /// RFC 5936, of a question.
    pub const AXFR: Self = Self(252);
    /// RFC 8482, of a question.
    pub const ANY: Self = Self(255);
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// The name that an address has.
    Ptr(Name),
    /// The name that another name stands for.
    Cname(Name),
    /// Where authority begins: at the root. How long it may be kept that something is not there (RFC 2308) is [`TTL_S`].
    Soa,
}

/// A record of the class IN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whose it is.
    pub name: Name,
    /// What it says.
    pub data: Data,
}

impl Data {
    /// An address as the record that has it.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::A(address),
            IpAddr::V6(address) => Self::Aaaa(address),
        }
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        match self {
            Self::A(_) => Kind::A,
            Self::Aaaa(_) => Kind::AAAA,
            Self::Ptr(_) => Kind::PTR,
            Self::Cname(_) => Kind::CNAME,
            Self::Soa => Kind::SOA,
        }
    }

    fn emit(&self) -> Vec<u8> {
        match self {
            Self::A(address) => address.octets().to_vec(),
            Self::Aaaa(address) => address.octets().to_vec(),
            Self::Ptr(name) | Self::Cname(name) => name.wire().to_vec(),
            Self::Soa => {
                // Server and mailbox are the root, then serial, refresh, retry, expire and minimum.
                let numbers = [1, TTL_S, TTL_S, TTL_S, TTL_S].map(u32::to_be_bytes);
                [&[0, 0], numbers.as_flattened()].concat()
            }
        }
    }
}

impl Record {
    /// As a message has it whose question is at its usual place and has that name.
    pub(super) fn emit(&self, question: &Name) -> Vec<u8> {
        const TO_QUESTION: [u8; 2] = [0xc0, super::HEADER_BYTES as u8];
        let data = self.data.emit();
        let is_asked = self.name.wire() == question.wire();
        let mut wire = if is_asked { TO_QUESTION.to_vec() } else { self.name.wire().to_vec() };
        wire.extend(self.data.kind().0.to_be_bytes());
        wire.extend(CLASS_IN.to_be_bytes());
        wire.extend(TTL_S.to_be_bytes());
        wire.extend((data.len() as u16).to_be_bytes());
        wire.extend(data);
        wire
    }
}

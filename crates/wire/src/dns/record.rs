//! Resource records: RFC 1035 section 3.2.1, RFC 3596.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{CLASS_IN, Flaw, Kind, Name, RecordView, TTL_S};

/// The content of a record.
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
    /// The start of authority, at the root. The absence of a record may be kept (RFC 2308) for [`TTL_S`].
    Soa,
    /// The data of a record of another type, or of another server's start of authority, with names written out in full.
    Other(Kind, Vec<u8>),
}

/// A record of the class IN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The name that has the record.
    pub name: Name,
    /// Time for which the record may be kept, in seconds.
    pub ttl_s: u32,
    /// The content of the record.
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
            Self::Other(kind, _) => *kind,
        }
    }

    /// Reads what a record of a message says.
    fn read(message: &[u8], record: &RecordView<'_>) -> Result<Self, Flaw> {
        let (begin, data) = record.data;
        let only_name = || match Name::read(message, begin)? {
            (name, behind) if behind == begin + data.len() => Ok(name),
            _ => Err(Flaw::Data),
        };
        Ok(match record.kind {
            Kind::A => Self::A(<[u8; 4]>::try_from(data).map_err(|_| Flaw::Data)?.into()),
            Kind::AAAA => Self::Aaaa(<[u8; 16]>::try_from(data).map_err(|_| Flaw::Data)?.into()),
            Kind::CNAME => Self::Cname(only_name()?),
            Kind::PTR => Self::Ptr(only_name()?),
            kind => Self::Other(kind, with_whole_names(message, record)?),
        })
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
            Self::Other(_, data) => data.clone(),
        }
    }
}

/// The data of a record without compression, for the types whose names may have it: RFC 3597 section 4.
fn with_whole_names(message: &[u8], record: &RecordView<'_>) -> Result<Vec<u8>, Flaw> {
    let (begin, data) = record.data;
    let (before_bytes, names) = match record.kind.0 {
        2..=5 | 7..=9 | 12 => (0, 1),
        6 | 14 | 17 => (0, 2),
        15 | 18 | 21 => (2, 1),
        26 => (2, 2),
        33 => (6, 1),
        _ => (0, 0),
    };
    let mut whole = data.get(..before_bytes).ok_or(Flaw::Data)?.to_vec();
    let mut at = begin + before_bytes;
    for _ in 0..names {
        let (name, behind) = Name::read(message, at)?;
        whole.extend_from_slice(name.wire());
        at = behind;
    }
    whole.extend_from_slice(message.get(at..begin + data.len()).ok_or(Flaw::Data)?);
    if whole.len() > usize::from(u16::MAX) { Err(Flaw::Data) } else { Ok(whole) }
}

impl Record {
    /// A record of this server.
    pub fn of_this_server(name: Name, data: Data) -> Self {
        Self { name, ttl_s: TTL_S, data }
    }

    /// Reads a record of a message. Its class is not looked at.
    pub(super) fn read(message: &[u8], record: &RecordView<'_>) -> Result<Self, Flaw> {
        // RFC 2181 section 8: with the highest bit it is as good as none.
        let ttl_s = if record.ttl_s >> 31 == 0 { record.ttl_s } else { 0 };
        Ok(Self { name: record.name.clone(), ttl_s, data: Data::read(message, record)? })
    }

    /// Time, in seconds, for which the absence of a record may be kept, by this SOA record: RFC 2308 section 5.
    pub(super) fn negative_ttl_s(&self) -> u32 {
        let minimum_s = match &self.data {
            Data::Other(Kind::SOA, data) => data.last_chunk().map_or(0, |last| u32::from_be_bytes(*last)),
            _ => TTL_S,
        };
        self.ttl_s.min(minimum_s)
    }

    /// The bytes of the record in a message whose question is at its usual place and has that name.
    pub(super) fn emit(&self, question: &Name) -> Vec<u8> {
        const TO_QUESTION: [u8; 2] = [0xc0, super::HEADER_BYTES as u8];
        let data = self.data.emit();
        let is_asked = self.name.wire() == question.wire();
        let mut wire = if is_asked { TO_QUESTION.to_vec() } else { self.name.wire().to_vec() };
        wire.extend(self.data.kind().0.to_be_bytes());
        wire.extend(CLASS_IN.to_be_bytes());
        wire.extend(self.ttl_s.to_be_bytes());
        wire.extend((data.len() as u16).to_be_bytes());
        wire.extend(data);
        wire
    }
}

//! The names of a closed network, and other sources of records.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::prefix::{WELL_KNOWN_ADDRESSES, WELL_KNOWN_NAME};
use super::{Data, Kind, Name, Question, Record};

/// Most addresses of a name: more would make answers that no datagram carries.
const MAX_ADDRESSES: usize = 64;
const MAX_NAMES: usize = 4096;

/// The records of a name and a type, or why there are none: RFC 2308 section 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Records, at least one. Before them are the aliases (CNAME) that lead to their name.
    Data(Vec<Record>),
    /// The name is there, and has no such record (NODATA).
    NoData(Absence),
    /// There is no such name (NXDOMAIN).
    NoName(Absence),
    /// It could not be found out (SERVFAIL).
    Failed,
}

/// The answer's content where there are no records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absence {
    /// The aliases that lead to the name of which there is nothing.
    pub aliases: Vec<Record>,
    /// The start of authority over the name (SOA), with the time for which the absence may be kept. Without one it may
    /// not be kept: RFC 2308 section 5.
    pub authority: Option<Record>,
}

impl Absence {
    /// The absence of records in a [`Zone`].
    pub fn in_zone() -> Self {
        Self { aliases: Vec::new(), authority: Some(Record::of_this_server(Name::root(), Data::Soa)) }
    }
}

/// Whatever has records.
pub trait Source {
    /// The records of a name and a type; or the question that has to be asked before they are known.
    fn find(&self, name: &Name, kind: Kind) -> Result<Found, Question>;
}

/// The names of a network with their addresses, the names of the addresses, and `ipv4only.arpa`. There are no others,
/// so that it is the authority for the root.
#[derive(Debug, Clone)]
pub struct Zone(BTreeMap<Name, Vec<Data>>);

impl Zone {
    /// The zone of these hosts. Where several have the same address, the first gives it its name. Fails where a name
    /// has too many addresses, or is one of `arpa`.
    pub fn new(hosts: impl IntoIterator<Item = (Name, Vec<IpAddr>)>) -> Result<Self, String> {
        let mut zone = Self(BTreeMap::from([(Name::root(), vec![Data::Soa])]));
        let arpa: Name = "arpa".parse()?;
        for (number, (name, addresses)) in hosts.into_iter().enumerate() {
            if number >= MAX_NAMES {
                return Err(format!("there are more than {MAX_NAMES} names"));
            }
            if addresses.len() > MAX_ADDRESSES {
                return Err(format!("{name} has {} addresses, more than {MAX_ADDRESSES}", addresses.len()));
            }
            let top =
                std::iter::successors(Some(name.clone()), Name::parent).nth(name.labels().count().saturating_sub(1));
            if name == Name::root() || top.as_ref() == Some(&arpa) {
                return Err(format!("{name} is no name of a host"));
            }
            zone.add_host(&name, &addresses);
        }
        zone.add_host(&WELL_KNOWN_NAME.parse()?, &WELL_KNOWN_ADDRESSES.map(IpAddr::V4));
        for domain in ["in-addr.arpa", "ip6.arpa"] {
            zone.add(&domain.parse()?, None);
        }
        Ok(zone)
    }

    fn add_host(&mut self, name: &Name, addresses: &[IpAddr]) {
        self.add(name, None);
        for &address in addresses {
            self.add(name, Some(Data::of(address)));
            let reverse = Name::reverse(address);
            if !self.0.contains_key(&reverse) {
                self.add(&reverse, Some(Data::Ptr(name.clone())));
            }
        }
    }

    /// A name is there where one below it is, without data of its own: RFC 8020.
    fn add(&mut self, name: &Name, data: Option<Data>) {
        let held = self.0.entry(name.clone()).or_default();
        held.extend(data.filter(|data| !held.contains(data)));
        let mut at = name.parent();
        while let Some(name) = at {
            at = name.parent();
            self.0.entry(name).or_default();
        }
    }

    /// The records of a name and a type.
    pub fn records(&self, name: &Name, kind: Kind) -> Found {
        let Some(held) = self.0.get(name) else { return Found::NoName(Absence::in_zone()) };
        let found: Vec<Record> = held
            .iter()
            .filter(|data| kind == Kind::ANY || data.kind() == kind)
            .map(|data| Record::of_this_server(name.clone(), data.clone()))
            .collect();
        if found.is_empty() { Found::NoData(Absence::in_zone()) } else { Found::Data(found) }
    }
}

impl Source for Zone {
    fn find(&self, name: &Name, kind: Kind) -> Result<Found, Question> {
        Ok(self.records(name, kind))
    }
}

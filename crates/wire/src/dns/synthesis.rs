//! What a question is answered with where a translator lets IPv6 nodes reach IPv4 nodes: RFC 6147 section 5.

use std::net::{IpAddr, Ipv6Addr};

use super::prefix::WELL_KNOWN_ADDRESSES;
use super::{Data, Found, Kind, Name, Record, Source};
use crate::siit::{Ipv6Net, Net, Prefix6};

/// The IPv6 addresses that are none for a client: RFC 6147 section 5.1.4.
pub fn default_excluded() -> Vec<Ipv6Net> {
    vec![Net { address: Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), bits: 96 }]
}

/// How addresses are synthesised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dns64 {
    /// The translator's: RFC 6052.
    prefix: Prefix6,
    /// IPv6 addresses that are as good as none.
    excluded: Vec<Ipv6Net>,
}

/// What a question is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The records, or why there are none.
    pub found: Result<Vec<Record>, Found>,
    /// Whether the answer was made of records of another name or type.
    pub is_synthesised: bool,
}

impl Dns64 {
    /// Fails where no IPv4 address can be in the prefix.
    pub fn new(prefix: Prefix6, excluded: Vec<Ipv6Net>) -> Result<Self, String> {
        prefix.check().map(|()| Self { prefix, excluded })
    }

    /// The answer, by what the source has. `validates`: who asks checks signatures itself and wants what is signed (CD and DO are set), so that
    /// nothing is made up (section 5.5).
    pub fn answer(&self, source: &impl Source, name: &Name, kind: Kind, validates: bool) -> Answer {
        let found = source.find(name, kind);
        if validates {
            return Answer::plain(name, found);
        }
        match kind {
            Kind::AAAA => self.addresses(source, name, found),
            Kind::PTR if matches!(found, Found::NoName | Found::NoData) => self.pointer(source, name, found),
            _ => self.within_prefix(name, found),
        }
    }

    /// Sections 5.1.1 to 5.1.6.
    fn addresses(&self, source: &impl Source, name: &Name, found: Found) -> Answer {
        match found {
            // Section 5.1.2.
            Found::NoName => return self.within_prefix(name, found),
            // Section 5.1.4.
            Found::Data(data) => {
                let kept: Vec<Data> = data.into_iter().filter(|one| !self.is_excluded(one)).collect();
                if !kept.is_empty() {
                    return Answer::plain(name, Found::Data(kept));
                }
            }
            // Also after a failure: section 5.1.2.
            Found::NoData | Found::Failed => (),
        }
        match source.find(name, Kind::A) {
            Found::Data(data) => {
                let made: Vec<Data> = data.iter().filter_map(|one| self.embedded(one)).map(Data::Aaaa).collect();
                let found = if made.is_empty() { Found::NoData } else { Found::Data(made) };
                Answer { is_synthesised: matches!(found, Found::Data(_)), ..Answer::plain(name, found) }
            }
            found => Answer::plain(name, found),
        }
    }

    fn is_excluded(&self, data: &Data) -> bool {
        matches!(data, Data::Aaaa(address) if self.excluded.iter().any(|net| net.contains(*address)))
    }

    fn embedded(&self, data: &Data) -> Option<Ipv6Addr> {
        match *data {
            // The well-known prefix stands for these although they are not global: RFC 7050 section 2.2.
            Data::A(address) if WELL_KNOWN_ADDRESSES.contains(&address) || self.prefix.may_represent(address) => {
                Some(self.prefix.embed(address))
            }
            _ => None,
        }
    }

    /// Section 5.3.1, the second way: a CNAME to the name below in-addr.arpa, if that has a pointer.
    fn pointer(&self, source: &impl Source, name: &Name, found: Found) -> Answer {
        let Some(ipv4) = name.reversed_ipv6().and_then(|(bits, count)| {
            let address = Ipv6Addr::from_bits(bits);
            // What follows the IPv4 address is zero: RFC 6052 section 2.2.
            self.prefix.embedded(address).filter(|&ipv4| count == 128 && self.prefix.embed(ipv4) == address)
        }) else {
            return self.within_prefix(name, found);
        };
        let target = Name::reverse(IpAddr::V4(ipv4));
        match source.find(&target, Kind::PTR) {
            Found::Data(data) => {
                let alias = Record { name: name.clone(), data: Data::Cname(target.clone()) };
                let pointers = data.into_iter().map(|data| Record { name: target.clone(), data });
                Answer { found: Ok(std::iter::once(alias).chain(pointers).collect()), is_synthesised: true }
            }
            Found::Failed => Answer::plain(name, Found::Failed),
            Found::NoData | Found::NoName => Answer::plain(name, found),
        }
    }

    /// A name below ip6.arpa is there if it leads to names of the prefix: RFC 8020.
    fn within_prefix(&self, name: &Name, found: Found) -> Answer {
        let leads_there = |(bits, count): (u128, u32)| {
            let common = count.min(self.prefix.bits.into());
            let differing = bits ^ self.prefix.address.to_bits();
            count < 128 && differing.checked_shr(128 - common).unwrap_or(0) == 0
        };
        let is_there = found == Found::NoName && name.reversed_ipv6().is_some_and(leads_there);
        Answer::plain(name, if is_there { Found::NoData } else { found })
    }
}

impl Answer {
    /// What the source has, as it is.
    pub(super) fn plain(name: &Name, found: Found) -> Self {
        let found = match found {
            Found::Data(data) => Ok(data.into_iter().map(|data| Record { name: name.clone(), data }).collect()),
            nothing => Err(nothing),
        };
        Self { found, is_synthesised: false }
    }
}

//! The answers to questions where a translator lets IPv6 nodes reach IPv4 nodes: RFC 6147 section 5.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::prefix::WELL_KNOWN_ADDRESSES;
use super::{Absence, Data, Found, Kind, Name, Question, Record, Source};
use crate::addresses::{Ipv6Net, Net, Prefix6};

/// Time for which synthesised records may be kept where the answer names no authority, in seconds: RFC 6147 section
/// 5.1.7.
const WITHOUT_AUTHORITY_S: u32 = 600;

/// The IPv6 addresses that are none for a client: RFC 6147 section 5.1.4.
pub fn default_excluded() -> Vec<Ipv6Net> {
    vec![Net { address: Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), bits: 96 }]
}

/// The rules by which addresses are synthesised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dns64 {
    /// The translator's: RFC 6052.
    prefix: Prefix6,
    /// IPv6 addresses that are as good as none.
    excluded: Vec<Ipv6Net>,
    /// True if 64:ff9b::/96 may stand for IPv4 addresses that are not global, against RFC 6052 section 3.1.
    allows_non_global: bool,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The records, or why there are none.
    pub found: Found,
    /// True if the answer was made of records of another name or type.
    pub is_synthesised: bool,
}

impl Dns64 {
    /// Fails where no IPv4 address can be in the prefix.
    pub fn new(prefix: Prefix6, excluded: Vec<Ipv6Net>) -> Result<Self, String> {
        prefix.check().map(|()| Self { prefix, excluded, allows_non_global: false })
    }

    /// The same with a well-known prefix that stands for all IPv4 addresses, as its translator has it.
    #[must_use]
    pub fn allowing_non_global(self, allows_non_global: bool) -> Self {
        Self { allows_non_global, ..self }
    }

    /// The answer, from the source's records, or the question that has to be asked first. `validates`: the client
    /// checks signatures itself and wants what is signed (CD and DO are set), so that nothing is synthesised (section
    /// 5.5).
    pub fn answer(&self, source: &impl Source, name: &Name, kind: Kind, validates: bool) -> Result<Answer, Question> {
        let found = source.find(name, kind)?;
        if validates {
            return Ok(Answer::plain(found));
        }
        match kind {
            Kind::AAAA => self.addresses(source, name, found),
            Kind::PTR if matches!(found, Found::NoName(_) | Found::NoData(_)) => self.pointer(source, name, found),
            _ => Ok(self.within_prefix(name, found)),
        }
    }

    /// Sections 5.1.1 to 5.1.7.
    fn addresses(&self, source: &impl Source, name: &Name, found: Found) -> Result<Answer, Question> {
        let absence = match found {
            // Section 5.1.2.
            Found::NoName(_) => return Ok(self.within_prefix(name, found)),
            // Section 5.1.4.
            Found::Data(records) => {
                let kept: Vec<Record> = records.into_iter().filter(|one| !self.is_excluded(&one.data)).collect();
                if kept.iter().any(is_aaaa) {
                    return Ok(Answer::plain(Found::Data(kept)));
                }
                Absence::default()
            }
            Found::NoData(absence) => absence,
            // IPv4 addresses are tried also after a failure, or where nobody answered: sections 5.1.2 and 5.1.3.
            Found::Failed => Absence::default(),
        };
        Ok(match source.find(name, Kind::A)? {
            Found::Data(records) => self.synthesised(records, absence),
            found => Answer::plain(found),
        })
    }

    /// The answer with AAAA records in the place of A records, and with the aliases before them as they are. Section
    /// 5.1.7 says how long they may be kept.
    fn synthesised(&self, records: Vec<Record>, absence: Absence) -> Answer {
        let most_s = absence.authority.as_ref().map_or(WITHOUT_AUTHORITY_S, Record::negative_ttl_s);
        let records: Vec<Record> = records
            .into_iter()
            .filter_map(|one| match one.data {
                Data::Cname(_) => Some(one),
                data => {
                    let address = self.embedded(&data)?;
                    Some(Record { name: one.name, ttl_s: one.ttl_s.min(most_s), data: Data::Aaaa(address) })
                }
            })
            .collect();
        if records.iter().any(is_aaaa) {
            Answer { found: Found::Data(records), is_synthesised: true }
        } else {
            Answer::plain(Found::NoData(absence))
        }
    }

    fn is_excluded(&self, data: &Data) -> bool {
        matches!(data, Data::Aaaa(address) if self.excluded.iter().any(|net| net.contains(*address)))
    }

    fn may_represent(&self, address: Ipv4Addr) -> bool {
        self.allows_non_global || self.prefix.may_represent(address)
    }

    fn embedded(&self, data: &Data) -> Option<Ipv6Addr> {
        match *data {
            // The well-known prefix stands for these although they are not global: RFC 7050 section 2.2.
            Data::A(address) if WELL_KNOWN_ADDRESSES.contains(&address) || self.may_represent(address) => {
                Some(self.prefix.embed(address))
            }
            _ => None,
        }
    }

    /// Section 5.3.1, the second way: a CNAME to the name below in-addr.arpa, if that has a pointer.
    fn pointer(&self, source: &impl Source, name: &Name, found: Found) -> Result<Answer, Question> {
        let Some(ipv4) = name.reversed_ipv6().and_then(|(bits, count)| {
            let address = Ipv6Addr::from_bits(bits);
            // The bits after the IPv4 address are zero: RFC 6052 section 2.2.
            self.prefix.embedded(address).filter(|&ipv4| count == 128 && self.prefix.embed(ipv4) == address)
        }) else {
            return Ok(self.within_prefix(name, found));
        };
        let target = Name::reverse(IpAddr::V4(ipv4));
        Ok(match source.find(&target, Kind::PTR)? {
            Found::Data(mut records) => {
                let ttl_s = records.iter().map(|one| one.ttl_s).min().unwrap_or(0);
                records.insert(0, Record { name: name.clone(), ttl_s, data: Data::Cname(target) });
                Answer { found: Found::Data(records), is_synthesised: true }
            }
            Found::Failed => Answer::plain(Found::Failed),
            Found::NoData(_) | Found::NoName(_) => Answer::plain(found),
        })
    }

    /// A name below ip6.arpa is there if it leads to names of the prefix: RFC 8020.
    fn within_prefix(&self, name: &Name, found: Found) -> Answer {
        let leads_there = |(bits, count): (u128, u32)| {
            let common = count.min(self.prefix.bits.into());
            let differing = bits ^ self.prefix.address.to_bits();
            count < 128 && differing.checked_shr(128 - common).unwrap_or(0) == 0
        };
        Answer::plain(match found {
            Found::NoName(absence) if name.reversed_ipv6().is_some_and(leads_there) => Found::NoData(absence),
            found => found,
        })
    }
}

impl Answer {
    /// An answer with the source's records as they are.
    pub(super) fn plain(found: Found) -> Self {
        Self { found, is_synthesised: false }
    }
}

fn is_aaaa(record: &Record) -> bool {
    record.data.kind() == Kind::AAAA
}

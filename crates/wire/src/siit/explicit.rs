//! The table of explicit mappings: RFC 7757.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::addresses::{Ipv4Net, Ipv6Net};

/// The table, of which the longest prefix that fits holds: sections 3.3 and 5.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    ipv4: ByPrefix,
    ipv6: ByPrefix,
}

/// Mappings by a prefix of theirs, whose bits are on the left: one list for each length, the longest one first. The
/// lists are in order.
#[derive(Debug, Clone, Default)]
struct ByPrefix(Vec<(u8, Vec<(u128, Mapping)>)>);

impl Table {
    /// The table of mappings that passed [`Table::check`].
    pub fn new(mappings: &[(Ipv4Net, Ipv6Net)]) -> Self {
        let mappings = mappings.iter().map(|&(ipv4, ipv6)| Mapping(ipv4, ipv6));
        Self {
            ipv4: ByPrefix::new(mappings.clone().map(|mapping| (mapping.0.bits, left4(mapping.0.address), mapping))),
            ipv6: ByPrefix::new(mappings.map(|mapping| (mapping.1.bits, mapping.1.address.to_bits(), mapping))),
        }
    }

    /// Fails with a sentence about the mistake in the mappings.
    pub fn check(mappings: &[(Ipv4Net, Ipv6Net)], overlapping: bool) -> Result<(), String> {
        mappings.iter().try_for_each(|&(ipv4, ipv6)| Mapping(ipv4, ipv6).check())?;
        let ipv4 = mappings.iter().map(|(ipv4, _)| (left4(ipv4.address), ipv4.bits, ipv4.to_string()));
        let ipv6 = mappings.iter().map(|(_, ipv6)| (ipv6.address.to_bits(), ipv6.bits, ipv6.to_string()));
        check_apart(ipv4.collect(), overlapping)?;
        check_apart(ipv6.collect(), overlapping)
    }

    /// RFC 7757 section 3.3.1.
    pub fn to_ipv6(&self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        self.ipv4.find(left4(address)).map(|mapping| mapping.to_ipv6(address))
    }

    /// RFC 7757 section 3.3.2.
    pub fn to_ipv4(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        self.ipv6.find(address.to_bits()).map(|mapping| mapping.to_ipv4(address))
    }
}

impl ByPrefix {
    fn new(mappings: impl Iterator<Item = (u8, u128, Mapping)>) -> Self {
        let mut lists: Vec<(u8, Vec<(u128, Mapping)>)> = Vec::new();
        for (bits, prefix, mapping) in mappings {
            match lists.iter_mut().find(|(length, _)| *length == bits) {
                Some((_, list)) => list.push((prefix, mapping)),
                None => lists.push((bits, vec![(prefix, mapping)])),
            }
        }
        lists.sort_by_key(|(bits, _)| std::cmp::Reverse(*bits));
        lists.iter_mut().for_each(|(_, list)| list.sort_by_key(|(prefix, _)| *prefix));
        Self(lists)
    }

    fn find(&self, address: u128) -> Option<Mapping> {
        self.0.iter().find_map(|(bits, list)| {
            let prefix = address & mask(*bits);
            list.binary_search_by_key(&prefix, |(one, _)| *one).ok().map(|index| list[index].1)
        })
    }
}

/// A mapping of a prefix to a prefix, both ways. It is right, so the suffix in IPv6 has at least as many bits.
#[derive(Debug, Clone, Copy)]
struct Mapping(Ipv4Net, Ipv6Net);

impl Mapping {
    fn check(self) -> Result<(), String> {
        let Self(ipv4, ipv6) = self;
        let is_right = ipv4.check_canonical().is_ok()
            && ipv6.check_canonical().is_ok()
            && ipv4.suffix_bits() <= ipv6.suffix_bits();
        is_right
            .then_some(())
            .ok_or_else(|| format!("{ipv4} and {ipv6} are no prefixes that map one to one (RFC 7757 section 3.1)"))
    }

    fn to_ipv6(self, address: Ipv4Addr) -> Ipv6Addr {
        let suffix = u128::from(address.to_bits() ^ self.0.address.to_bits());
        Ipv6Addr::from_bits(self.1.address.to_bits() | suffix.checked_shl(self.padding_bits()).unwrap_or(0))
    }

    fn to_ipv4(self, address: Ipv6Addr) -> Ipv4Addr {
        let suffix = address.to_bits() ^ self.1.address.to_bits();
        let suffix = suffix.checked_shr(self.padding_bits()).unwrap_or(0);
        Ipv4Addr::from_bits(self.0.address.to_bits() | suffix as u32)
    }

    fn padding_bits(self) -> u32 {
        self.1.suffix_bits() - self.0.suffix_bits()
    }
}

/// Prefixes of one family: their first address, their length, and how they are written.
fn check_apart(mut prefixes: Vec<(u128, u8, String)>, overlapping: bool) -> Result<(), String> {
    prefixes.sort();
    for pair in prefixes.windows(2) {
        let [(first, bits, one), (second, other_bits, other)] = pair else { continue };
        if first == second && bits == other_bits {
            return Err(format!("{one} is twice in the table, and must map one to one (RFC 7757 section 5)"));
        }
        // A prefix that holds others comes before them, and the next one is the first of those.
        if !overlapping && second & mask(*bits) == *first {
            return Err(format!(
                "{one} and {other} of the table overlap, so their addresses do not map one to one (RFC 7757 section 5)"
            ));
        }
    }
    Ok(())
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or(0)
}

fn left4(address: Ipv4Addr) -> u128 {
    u128::from(address.to_bits()) << 96
}

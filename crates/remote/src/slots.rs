//! Chooses the connection that loses its slot when slots run short: one of the network that has most of them.
//!
//! A network is the prefix that one customer usually has: a /48 of IPv6 (RFC 6177, section 2), and a /24 of IPv4, the
//! longest prefix that is routed between providers. Within a /48 it is a /64, which is one link (RFC 4291, section
//! 2.5.4): a provider may also give its customers longer prefixes of the same /48. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

use sixbench_wire::addresses::Ipv6Net;

/// The order in which slots were taken.
pub type Number = u64;

const ADDRESS_BITS: u8 = 128;
/// Prefix lengths of everything, of networks and of addresses. IPv4 addresses are those of ::ffff:0:0/96.
const BITS_OF_IPV6: &[u8] = &[0, 48, 64, ADDRESS_BITS];
const BITS_OF_IPV4: &[u8] = &[0, 96 + 24, ADDRESS_BITS];

const EVERYTHING: Ipv6Net = Ipv6Net { address: Ipv6Addr::UNSPECIFIED, bits: 0 };

/// The slots that are taken, by network. Every method takes a time that grows with the logarithm of their number: a
/// flood asks at each connection.
#[derive(Debug, Default)]
pub struct Slots {
    from: HashMap<Number, IpAddr>,
    /// The longer prefixes in each prefix.
    within: HashMap<Ipv6Net, Shares>,
}

/// Slots by prefix; the prefix with most slots is the last in order.
#[derive(Debug, Default)]
struct Shares {
    numbers: HashMap<Ipv6Net, BTreeSet<Number>>,
    /// Number of slots, the oldest slot, the prefix: the last one loses its slot.
    order: BTreeSet<(usize, Reverse<Number>, Ipv6Net)>,
}

impl Slots {
    /// Takes one. Later ones have greater numbers.
    pub fn take(&mut self, number: Number, from: IpAddr) {
        self.from.insert(number, from);
        for (outer, inner) in prefixes(from) {
            self.within.entry(outer).or_default().insert(inner, number);
        }
    }

    /// Gives one back; one that is not taken changes nothing.
    pub fn give_back(&mut self, number: Number) {
        let Some(from) = self.from.remove(&number) else { return };
        for (outer, inner) in prefixes(from) {
            let Some(shares) = self.within.get_mut(&outer) else { continue };
            shares.remove(inner, number);
            if shares.numbers.is_empty() {
                self.within.remove(&outer);
            }
        }
    }

    /// Number of slots that are taken.
    pub fn count(&self) -> usize {
        self.from.len()
    }

    /// The slot that is taken for the next connection. It is the oldest slot of the address with most slots, in the
    /// network with most within the network that has most. Of equals it is the one with the oldest slot.
    pub fn dispensable(&self) -> Option<Number> {
        let mut outer = EVERYTHING;
        loop {
            let (_, Reverse(oldest), inner) = self.within.get(&outer)?.order.last()?;
            if inner.bits == ADDRESS_BITS {
                return Some(*oldest);
            }
            outer = *inner;
        }
    }
}

impl Shares {
    fn insert(&mut self, whose: Ipv6Net, number: Number) {
        self.change(whose, |numbers| numbers.insert(number));
    }

    fn remove(&mut self, whose: Ipv6Net, number: Number) {
        self.change(whose, |numbers| numbers.remove(&number));
    }

    fn change(&mut self, whose: Ipv6Net, change: impl FnOnce(&mut BTreeSet<Number>) -> bool) {
        let numbers = self.numbers.entry(whose).or_default();
        if let Some(oldest) = numbers.first() {
            self.order.remove(&(numbers.len(), Reverse(*oldest), whose));
        }
        change(numbers);
        match numbers.first() {
            Some(oldest) => drop(self.order.insert((numbers.len(), Reverse(*oldest), whose))),
            None => drop(self.numbers.remove(&whose)),
        }
    }
}

/// The prefixes that an address is in, each with the next longer one.
fn prefixes(address: IpAddr) -> impl Iterator<Item = (Ipv6Net, Ipv6Net)> {
    let (address, bits) = match address.to_canonical() {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), BITS_OF_IPV4),
        IpAddr::V6(address) => (address, BITS_OF_IPV6),
    };
    bits.windows(2).map(move |pair| (Ipv6Net::of(address, pair[0]), Ipv6Net::of(address, pair[1])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_network_with_most_gives_way_and_of_it_the_address_with_most() {
        let mut slots = Slots::default();
        let taken = [
            "192.0.2.1",
            "2001:db8::1",
            "198.51.100.1",
            "2001:db8::2",
            "2001:db8::ffff:1",
            "198.51.100.1",
            "2001:db8::2",
        ];
        for (number, from) in (0..).zip(taken) {
            slots.take(number, address(from));
        }
        // Four of the /64: two of them of one address.
        for expected in [3, 1, 2, 4, 0, 5, 6] {
            assert_eq!(slots.dispensable(), Some(expected));
            slots.give_back(expected);
        }
        assert_eq!((slots.dispensable(), slots.count()), (None, 0));
        assert!(slots.within.is_empty());
    }

    /// A customer who has a /48 has 65,536 times a /64.
    #[test]
    fn many_networks_of_one_customer_give_way_before_a_single_one_of_another() {
        let mut slots = Slots::default();
        slots.take(0, address("2001:db8:1::1"));
        slots.take(1, address("192.0.2.1"));
        for number in 2..100 {
            slots.take(number, address(&format!("2001:db8:2:{number:x}::1")));
        }
        // Somebody who has a /64 of the same /48, and more of it.
        for number in 100..103 {
            slots.take(number, address(&format!("2001:db8:2::{number}")));
        }
        let mut gone = Vec::new();
        while slots.count() > 3 {
            let number = slots.dispensable().unwrap();
            slots.give_back(number);
            gone.push(number);
        }
        assert_eq!(gone[..2], [100, 101]);
        assert!(!gone.contains(&0) && !gone.contains(&1), "{gone:?}");
    }

    #[test]
    fn networks_are_of_24_and_of_48_and_64_bits() {
        let shared = |one, other| {
            prefixes(address(one)).zip(prefixes(address(other))).filter(|(one, other)| one.1 == other.1).count()
        };
        for (one, other, expected) in [
            ("192.0.2.1", "192.0.2.255", 1),
            ("192.0.2.1", "192.0.3.1", 0),
            ("192.0.2.1", "::ffff:192.0.2.9", 1),
            ("2001:db8::1", "2001:db8::1", 3),
            ("2001:db8::1", "2001:db8::ffff:0:0:1", 2),
            ("2001:db8::1", "2001:db8:0:1::1", 1),
            ("2001:db8::1", "2001:db8:1::1", 0),
        ] {
            assert_eq!(shared(one, other), expected, "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn who_gives_way_has_a_place_and_nobody_has_more(sources in prop::collection::vec((0..3_u16, 0..3_u16, 0..4_u16), 1..80)) {
            let mut slots = Slots::default();
            let sources: Vec<IpAddr> =
                sources.iter().map(|&(site, link, host)| IpAddr::from([0x2001, 0xdb8, site, link, 0, 0, 0, host])).collect();
            for (number, from) in (0..).zip(&sources) {
                slots.take(number, *from);
            }
            let mut left: Vec<Number> = (0..sources.len() as u64).collect();
            while let Some(number) = slots.dispensable() {
                let of = |number: Number| prefixes(sources[number as usize]);
                let count = |prefix| left.iter().filter(|other| of(**other).any(|(_, inner)| inner == prefix)).count();
                for (outer, own) in of(number) {
                    let most = left.iter().flat_map(|other| of(*other)).filter(|pair| pair.0 == outer).map(|pair| count(pair.1)).max();
                    prop_assert_eq!(Some(count(own)), most);
                }
                slots.give_back(number);
                left.retain(|other| *other != number);
                prop_assert_eq!(slots.count(), left.len());
            }
            prop_assert!(left.is_empty());
            prop_assert!(slots.within.is_empty());
        }
    }
}

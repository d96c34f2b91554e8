//! Who has to give way where places are short: somebody of the network that has most of them.
//!
//! A network is one link as a rule: a /64 of IPv6 (RFC 4291, section 2.5.4), and a /24 of IPv4, the longest prefix that is routed between providers.
//! Pure.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;

/// The order in which places were taken.
pub type Number = u64;

/// The first bits of an address: 64 of IPv6, 24 of IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Prefix([u8; 8]);

/// Whose the places are that are taken. Every method takes a time that grows with the logarithm of their number: a flood asks at each connection.
#[derive(Debug, Default)]
pub struct Places {
    from: HashMap<Number, IpAddr>,
    networks: Shares<Prefix>,
    addresses: HashMap<Prefix, Shares<IpAddr>>,
}

/// Places by whose they are, and who has most of them.
#[derive(Debug)]
struct Shares<K> {
    numbers: HashMap<K, BTreeSet<Number>>,
    /// How many, the oldest, whose: the last one gives way.
    order: BTreeSet<(usize, Reverse<Number>, K)>,
}

impl Places {
    /// Takes one. Later ones have greater numbers.
    pub fn take(&mut self, number: Number, from: IpAddr) {
        let prefix = Prefix::of(from);
        self.from.insert(number, from);
        self.networks.insert(prefix, number);
        self.addresses.entry(prefix).or_default().insert(from, number);
    }

    /// Gives one back; one that is not taken changes nothing.
    pub fn give_back(&mut self, number: Number) {
        let Some(from) = self.from.remove(&number) else { return };
        let prefix = Prefix::of(from);
        self.networks.remove(prefix, number);
        let Some(addresses) = self.addresses.get_mut(&prefix) else { return };
        addresses.remove(from, number);
        if addresses.numbers.is_empty() {
            self.addresses.remove(&prefix);
        }
    }

    /// How many are taken.
    pub fn count(&self) -> usize {
        self.from.len()
    }

    /// Who gives way for the next: of the network that has most, the address that has most, and its oldest. Of equals it is the one with the oldest.
    pub fn dispensable(&self) -> Option<Number> {
        let (_, _, prefix) = self.networks.order.last()?;
        let (_, Reverse(oldest), _) = self.addresses.get(prefix)?.order.last()?;
        Some(*oldest)
    }
}

impl<K: Copy + Ord + Hash> Shares<K> {
    fn insert(&mut self, whose: K, number: Number) {
        self.change(whose, |numbers| numbers.insert(number));
    }

    fn remove(&mut self, whose: K, number: Number) {
        self.change(whose, |numbers| numbers.remove(&number));
    }

    fn change(&mut self, whose: K, change: impl FnOnce(&mut BTreeSet<Number>) -> bool) {
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

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), order: BTreeSet::new() }
    }
}

impl Prefix {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            // Beside those of IPv6: nobody has addresses in 0:ff:ff00::/40.
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Self([0, 0, 0, 0xff, 0xff, a, b, c])
            }
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self([a, b, c, d, e, f, g, h])
            }
        }
    }
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
        let mut places = Places::default();
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
            places.take(number, address(from));
        }
        // Four of the /64: two of them of one address.
        for expected in [3, 1, 2, 4, 0, 5, 6] {
            assert_eq!(places.dispensable(), Some(expected));
            places.give_back(expected);
        }
        assert_eq!((places.dispensable(), places.count()), (None, 0));
        assert!(places.networks.order.is_empty() && places.networks.numbers.is_empty() && places.addresses.is_empty());
    }

    #[test]
    fn networks_are_of_24_and_of_64_bits() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.255", true),
            ("192.0.2.1", "192.0.3.1", false),
            ("192.0.2.1", "::ffff:192.0.2.9", true),
            ("2001:db8::1", "2001:db8::ffff:0:0:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            assert_eq!(Prefix::of(address(one)) == Prefix::of(address(other)), same, "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn who_gives_way_has_a_place_and_nobody_has_more(sources in prop::collection::vec((0..4_u8, 0..6_u8), 1..80)) {
            let mut places = Places::default();
            let sources: Vec<IpAddr> = sources.iter().map(|&(network, host)| IpAddr::from([10, 0, network, host])).collect();
            for (number, from) in (0..).zip(&sources) {
                places.take(number, *from);
            }
            let mut left: Vec<Number> = (0..sources.len() as u64).collect();
            while let Some(number) = places.dispensable() {
                let of = |number: Number| Prefix::of(sources[number as usize]);
                let count = |prefix| left.iter().filter(|number| of(**number) == prefix).count();
                let own = count(of(number));
                prop_assert!(left.iter().all(|other| count(of(*other)) <= own));
                places.give_back(number);
                left.retain(|other| *other != number);
                prop_assert_eq!(places.count(), left.len());
            }
            prop_assert!(left.is_empty());
        }
    }
}

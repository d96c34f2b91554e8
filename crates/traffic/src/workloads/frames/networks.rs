//! The networks behind a host, to which frames are addressed in turn (RFC 2544 section 12). Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sixbench_measure::random::{Random, Stream};

/// RFC 2544 section 12: one network, then this many.
pub const MAX_NETWORKS: u64 = 256;
/// Number of the address that is used in each network: RFC 2544 appendix C.2.2 has it for the tester. A network of one
/// address has only that one.
const HOST: u128 = 2;
/// Number of draws before they begin anew.
const DRAWS: usize = 1 << 16;

/// Networks of one size that lie side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Networks {
    base: u128,
    is_ipv4: bool,
    /// Size of one network, as a power of two.
    shift: u32,
    count: u64,
}

impl Networks {
    /// This many networks from the first on, such as `198.19.0.0/25`. Absent where it is no prefix, or the last network
    /// is beyond the end of all addresses.
    pub fn parse(first: &str, count: u64) -> Option<Self> {
        let (address, length) = first.split_once('/')?;
        let (base, bits, is_ipv4) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(u32::from(address)), 32_u32, true),
            IpAddr::V6(address) => (u128::from(address), 128, false),
        };
        let shift = bits.checked_sub(length.parse().ok()?).filter(|shift| *shift == 0 || (2..=80).contains(shift))?;
        let networks = Self { base, is_ipv4, shift, count };
        let last = base.checked_add(u128::from(count) << shift)?;
        let is_whole = base & ((1 << shift) - 1) == 0;
        (is_whole && (!is_ipv4 || last <= 1 << 32) && (1..=MAX_NETWORKS).contains(&count)).then_some(networks)
    }

    /// True if the networks are of IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.is_ipv4
    }

    /// Number of the address that is used in each of them.
    fn host(&self) -> u128 {
        if self.shift == 0 { 0 } else { HOST }
    }

    /// The address in each of them.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let (Self { base, is_ipv4, shift, count }, host) = (*self, self.host());
        (0..u128::from(count)).map(move |index| {
            let address = base + (index << shift) + host;
            if is_ipv4 { Ipv4Addr::from(address as u32).into() } else { Ipv6Addr::from(address).into() }
        })
    }

    /// True if one of them has this address.
    pub fn have(&self, address: IpAddr) -> bool {
        let number = match (self.is_ipv4, address) {
            (true, IpAddr::V4(address)) => u128::from(u32::from(address)),
            (false, IpAddr::V6(address)) => u128::from(address),
            _ => return false,
        };
        let Some(offset) = number.checked_sub(self.base) else { return false };
        offset >> self.shift < u128::from(self.count) && offset & ((1 << self.shift) - 1) == self.host()
    }
}

/// The network of each frame, by pseudo-random draws.
#[derive(Debug)]
pub struct Draws(Vec<u8>);

impl Draws {
    /// The seed decides. With one network there is nothing to draw.
    pub fn new(networks: usize, seed: u64) -> Self {
        if networks < 2 {
            return Self(vec![0]);
        }
        let mut random = Random::new(seed, Stream::Networks, 0);
        Self((0..DRAWS).map(|_| (random.next_u64() % networks.min(256) as u64) as u8).collect())
    }

    /// The network of that frame, from 0.
    #[inline]
    pub fn of(&self, sequence: u64) -> usize {
        self.0[(sequence % self.0.len() as u64) as usize].into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_networks_lie_side_by_side() {
        for (first, count, expected) in [
            ("198.19.0.0/25", 255, ["198.19.0.2", "198.19.0.130", "198.19.127.2"]),
            ("2001:2:0:fe00::/64", 255, ["2001:2:0:fe00::2", "2001:2:0:fe01::2", "2001:2:0:fefe::2"]),
            ("2001:db8:fe00::/48", 255, ["2001:db8:fe00::2", "2001:db8:fe01::2", "2001:db8:fefe::2"]),
            ("2001:2:0:fd00::/126", 255, ["2001:2:0:fd00::2", "2001:2:0:fd00::6", "2001:2:0:fd00::3fa"]),
            ("2001:2:0:fd01::/128", 255, ["2001:2:0:fd01::", "2001:2:0:fd01::1", "2001:2:0:fd01::fe"]),
        ] {
            let networks = Networks::parse(first, count).unwrap();
            let all: Vec<IpAddr> = networks.addresses().collect();
            let expected = expected.map(|text| text.parse::<IpAddr>().unwrap());
            assert_eq!([all[0], all[1], *all.last().unwrap()], expected);
            assert!(all.iter().all(|&address| networks.have(address)));
            assert_eq!(networks.is_ipv4(), expected[0].is_ipv4());
        }
        let networks = Networks::parse("198.19.0.0/25", 255).unwrap();
        for other in ["198.19.0.3", "198.19.127.130", "198.18.255.130", "::2"] {
            assert!(!networks.have(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn what_is_no_row_of_networks_is_refused() {
        for (first, count) in [
            ("198.19.0.0", 2),
            ("198.19.0.0/33", 2),
            ("198.19.0.0/-1", 2),
            ("198.19.0.1/25", 2),
            ("255.255.255.0/25", 3),
            ("x/25", 2),
            ("198.19.0.0/31", 2),
            ("2000::/8", 2),
            ("198.19.0.0/25", 0),
            ("198.19.0.0/25", 257),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00/120", 2),
        ] {
            assert_eq!(Networks::parse(first, count), None, "{first} {count}");
        }
    }

    #[test]
    fn draws_reach_every_network_and_repeat() {
        let (draws, again) = (Draws::new(256, 5), Draws::new(256, 5));
        let drawn: std::collections::BTreeSet<usize> = (0..10_000).map(|sequence| draws.of(sequence)).collect();
        assert_eq!(drawn.len(), 256);
        assert!((0..100_000).all(|sequence| draws.of(sequence) == again.of(sequence)));
        assert_eq!(Draws::new(1, 5).of(77), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[0-9a-f:./-]{0,40}", count in 0_u64..400) {
            if let Some(networks) = Networks::parse(&text, count) {
                prop_assert!(networks.addresses().all(|address| networks.have(address)));
            }
        }
    }
}

//! Leases by client, with their numbers and their ends; and the /64 of a pool. No clock and no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use sixbench_wire::addresses::Ipv6Net;

/// Prefix length of a lease.
const LEASE_BITS: u8 = 64;

/// The prefixes that are there to be leased.
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    first: Ipv6Addr,
    count: u32,
}

/// A prefix or an address that somebody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Its place in the pool.
    pub number: u32,
    /// Time at which it ends.
    pub expires: Instant,
}

/// The leases of a pool, by client.
#[derive(Debug)]
pub struct Leases {
    count: u32,
    lifetime: Duration,
    by_client: BTreeMap<IpAddr, Lease>,
}

impl Pool {
    /// The first `max_count` /64 of a prefix, or as many as it has; `None` for a prefix that has none.
    pub fn new(prefix: Ipv6Net, max_count: u32) -> Option<Self> {
        let free_bits = LEASE_BITS.checked_sub(prefix.bits)?;
        Some(Self {
            first: prefix.address,
            count: 1_u32.checked_shl(free_bits.into()).unwrap_or(u32::MAX).min(max_count),
        })
    }

    /// The prefix of that number.
    pub fn prefix(&self, number: u32) -> Ipv6Net {
        Ipv6Net { address: self.address(number, 0), bits: LEASE_BITS }
    }

    /// An address of the prefix of that number.
    pub fn address(&self, number: u32, host: u64) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.first.to_bits() + (u128::from(number) << LEASE_BITS) + u128::from(host))
    }

    /// Number of prefixes in the pool.
    pub fn count(&self) -> u32 {
        self.count
    }
}

impl Leases {
    /// Leases of this many numbers, none of which is taken.
    pub fn new(count: u32, lifetime: Duration) -> Self {
        Self { count, lifetime, by_client: BTreeMap::new() }
    }

    /// Gives a client the lowest free number, or more time for the one it has. `None`: there is no room.
    pub fn grant(&mut self, client: IpAddr, now: Instant) -> Option<Lease> {
        let number = match self.by_client.get(&client) {
            Some(lease) => lease.number,
            None => {
                let taken: BTreeSet<u32> = self.by_client.values().map(|lease| lease.number).collect();
                (0..self.count).find(|number| !taken.contains(number))?
            }
        };
        let lease = Lease { number, expires: now + self.lifetime };
        self.by_client.insert(client, lease);
        Some(lease)
    }

    /// A client's lease.
    pub fn of(&self, client: IpAddr) -> Option<Lease> {
        self.by_client.get(&client).copied()
    }

    /// Takes a lease back.
    pub fn release(&mut self, client: IpAddr) -> Option<Lease> {
        self.by_client.remove(&client)
    }

    /// Takes back what was not renewed.
    pub fn expire(&mut self, now: Instant) -> Vec<Lease> {
        let expired: Vec<IpAddr> =
            self.by_client.iter().filter(|(_, lease)| lease.expires <= now).map(|(&client, _)| client).collect();
        expired.into_iter().filter_map(|client| self.release(client)).collect()
    }

    /// Time at which the next lease ends.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.by_client.values().map(|lease| lease.expires).min()
    }

    /// All leases by client.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, Lease)> {
        self.by_client.iter().map(|(&client, &lease)| (client, lease))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const CLIENTS: [IpAddr; 3] = [
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3)),
    ];

    fn pool(bits: u8, max_count: u32) -> Option<Pool> {
        Pool::new(Ipv6Net { address: "2001:db8:b00::".parse().expect("an address"), bits }, max_count)
    }

    #[test]
    fn prefixes_are_numbered_within_the_pool() {
        let pool = pool(48, 500).expect("a pool");
        assert_eq!(pool.prefix(0).address.to_string(), "2001:db8:b00::");
        assert_eq!(pool.address(300, 2).to_string(), "2001:db8:b00:12c::2");
        assert_eq!(self::pool(63, 500).map(|pool| pool.count()), Some(2));
        assert_eq!(self::pool(64, 500).map(|pool| pool.count()), Some(1));
        assert_eq!(self::pool(0, 500).map(|pool| pool.count()), Some(500));
        assert!(self::pool(65, 500).is_none());
    }

    #[test]
    fn a_client_keeps_its_lease_and_what_is_released_is_free_again() {
        let now = Instant::now();
        let mut leases = Leases::new(2, Duration::from_secs(10));
        let mut number = |client: usize, at: u64| {
            leases.grant(CLIENTS[client], now + Duration::from_secs(at)).map(|lease| lease.number)
        };
        assert_eq!([number(0, 0), number(1, 0), number(0, 5), number(2, 5)], [Some(0), Some(1), Some(0), None]);
        assert_eq!(leases.release(CLIENTS[0]).map(|lease| lease.number), Some(0));
        assert_eq!(leases.release(CLIENTS[0]), None);
        assert_eq!(leases.grant(CLIENTS[2], now).map(|lease| lease.number), Some(0));
    }

    #[test]
    fn what_is_not_renewed_is_taken_back() {
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut leases = Leases::new(9, Duration::from_secs(10));
        leases.grant(CLIENTS[0], now);
        leases.grant(CLIENTS[1], after(1));
        leases.grant(CLIENTS[0], after(5));
        assert_eq!(leases.next_expiry(), Some(after(11)));
        assert_eq!(leases.expire(after(10)), []);
        assert_eq!(leases.expire(after(11)).iter().map(|lease| lease.number).collect::<Vec<_>>(), [1]);
        assert_eq!(leases.next_expiry(), Some(after(15)));
        assert_eq!(leases.of(CLIENTS[1]), None);
    }
}

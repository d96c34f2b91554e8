//! The IPv4 addresses and ports that a stateful translator binds: RFC 6146 section 3.5.1.1, RFC 4787 section 4.2.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use super::ends::{Inside, Outside, Protocol};
use crate::addresses::Ipv4Net;

/// Ports below this are the system's: RFC 6335 section 6.
const FIRST_USER_PORT: u16 = 1024;
const WORDS: usize = 1024;
/// Number of addresses that are tried for a port.
const MAX_TRIES: u64 = 256;

/// Addresses of a pool, and the ports that each has there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PoolRange {
    pub net: Ipv4Net,
    /// The ports of TCP and UDP, and the identifiers of echoes.
    pub ports: RangeInclusive<u16>,
}

/// The pool, and the ports of it that are bound.
#[derive(Debug)]
pub struct Pool {
    ranges: Vec<PoolRange>,
    taken: HashMap<(Protocol, Ipv4Addr), Ports>,
    /// The place where the next search begins, if ports are drawn at random.
    drawn: Option<u64>,
    /// The number of the last address that had a free port, if they are not.
    latest: u64,
}

/// The ports of an address that are taken: a bit each.
#[derive(Debug)]
struct Ports {
    bits: Box<[u64; WORDS]>,
    count: u32,
}

impl PoolRange {
    pub(super) fn check(&self) -> Result<(), String> {
        self.net
            .check_canonical()
            .map_err(|net| format!("the pool {net} has bits beyond its length, or a length that is not possible"))?;
        if !crate::addresses::is_host4(self.net.address, true) {
            return Err(format!("the pool {} has addresses that no host may have", self.net));
        }
        if self.ports.is_empty() {
            return Err(format!("the pool {} has no ports: the first is beyond the last", self.net));
        }
        Ok(())
    }

    pub(super) fn has(&self, address: Ipv4Addr) -> bool {
        self.net.contains(address)
    }

    fn address_count(&self) -> u64 {
        1 << (32 - u32::from(self.net.bits))
    }
}

impl Pool {
    /// A pool of which nothing is bound.
    pub fn new(ranges: &[PoolRange], seed: Option<u64>) -> Self {
        Self { ranges: ranges.to_vec(), taken: HashMap::new(), drawn: seed, latest: 0 }
    }

    /// True if an address is in the pool.
    pub fn has(&self, address: Ipv4Addr) -> bool {
        self.ranges.iter().any(|range| range.has(address))
    }

    /// Binds an address and port to an IPv6 host's. `own`: the address that the host has already; it gets another one
    /// only if that has no port left.
    pub fn bind(&mut self, protocol: Protocol, inside: Inside, own: Option<Ipv4Addr>) -> Option<Outside> {
        let draw = self.draw();
        if let Some(address) = own {
            let ports = self.ranges.iter().filter(|range| range.has(address)).map(|range| range.ports.clone());
            let found = ports.collect::<Vec<_>>().into_iter();
            let found = found.filter_map(|ports| self.bind_at(protocol, address, &ports, inside.port, draw)).next();
            if found.is_some() {
                return found;
            }
        }
        let count: u64 = self.ranges.iter().map(PoolRange::address_count).sum();
        let first = if self.drawn.is_some() { mixed(inside.address.to_bits() as u64) % count } else { self.latest };
        for index in (0..count.min(MAX_TRIES)).map(|step| (first + step) % count) {
            let (address, ports) = self.at(index)?;
            if let Some(found) = self.bind_at(protocol, address, &ports, inside.port, draw) {
                self.latest = index;
                return Some(found);
            }
        }
        None
    }

    /// Binds that address and port. False: they are bound already.
    pub fn bind_exactly(&mut self, protocol: Protocol, outside: Outside) -> bool {
        self.taken.entry((protocol, outside.address)).or_default().take(outside.port)
    }

    /// Gives back what was bound.
    pub fn give_back(&mut self, protocol: Protocol, outside: Outside) {
        let key = (protocol, outside.address);
        if let Some(ports) = self.taken.get_mut(&key) {
            ports.give_back(outside.port);
            if ports.count == 0 {
                self.taken.remove(&key);
            }
        }
    }

    fn at(&self, mut index: u64) -> Option<(Ipv4Addr, RangeInclusive<u16>)> {
        for range in &self.ranges {
            if index < range.address_count() {
                let address = Ipv4Addr::from_bits(range.net.address.to_bits() + index as u32);
                return Some((address, range.ports.clone()));
            }
            index -= range.address_count();
        }
        None
    }

    fn draw(&mut self) -> Option<u64> {
        let drawn = self.drawn.as_mut()?;
        *drawn = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Some(mixed(*drawn))
    }

    /// A port of the system's for one of the system's, and in UDP an even one for an even one, as long as there are
    /// such: RFC 4787 sections 4.2.1 and 4.2.2.
    fn bind_at(
        &mut self,
        protocol: Protocol,
        address: Ipv4Addr,
        ports: &RangeInclusive<u16>,
        wished: u16,
        draw: Option<u64>,
    ) -> Option<Outside> {
        let most: usize = self.ranges.iter().filter(|range| range.has(address)).map(|range| range.ports.len()).sum();
        let taken = self.taken.entry((protocol, address)).or_default();
        if taken.count as usize >= most {
            return None;
        }
        let kind = if wished < FIRST_USER_PORT { 0..=FIRST_USER_PORT - 1 } else { FIRST_USER_PORT..=u16::MAX };
        let same = *ports.start().max(kind.start())..=*ports.end().min(kind.end());
        let found = match protocol {
            Protocol::Udp => taken
                .free(&same, wished, draw, 2)
                .or_else(|| taken.free(&same, wished, draw, 1))
                .or_else(|| taken.free(ports, wished, draw, 2))
                .or_else(|| taken.free(ports, wished, draw, 1)),
            Protocol::Tcp => taken.free(&same, wished, draw, 1).or_else(|| taken.free(ports, wished, draw, 1)),
            Protocol::Icmp => taken.free(ports, wished, draw, 1),
        };
        match found {
            Some(port) => {
                taken.take(port);
                Some(Outside { address, port })
            }
            None => {
                if taken.count == 0 {
                    self.taken.remove(&(protocol, address));
                }
                None
            }
        }
    }
}

impl Default for Ports {
    fn default() -> Self {
        Self { bits: Box::new([0; WORDS]), count: 0 }
    }
}

impl Ports {
    /// The first free port from a wished or drawn one on, and round to it. `step` 2: of the wished one's parity.
    fn free(&self, within: &RangeInclusive<u16>, wished: u16, draw: Option<u64>, step: u32) -> Option<u16> {
        let (first, last) = (u32::from(*within.start()), u32::from(*within.end()));
        let first = if step == 2 { first + ((first ^ u32::from(wished)) & 1) } else { first };
        let count = (last + 1).checked_sub(first)?.div_ceil(step);
        if count == 0 {
            return None;
        }
        let start = match draw {
            Some(draw) => (draw % u64::from(count)) as u32,
            None if within.contains(&wished) => (u32::from(wished) - first) / step,
            None => 0,
        };
        let ports = (start..count).chain(0..start).map(|index| (first + index * step) as u16);
        ports.into_iter().find(|&port| !self.is_taken(port))
    }

    fn is_taken(&self, port: u16) -> bool {
        (self.bits[usize::from(port / 64)] >> (port % 64)) & 1 == 1
    }

    fn take(&mut self, port: u16) -> bool {
        let is_free = !self.is_taken(port);
        self.bits[usize::from(port / 64)] |= 1 << (port % 64);
        self.count += u32::from(is_free);
        is_free
    }

    fn give_back(&mut self, port: u16) {
        if self.is_taken(port) {
            self.bits[usize::from(port / 64)] &= !(1 << (port % 64));
            self.count -= 1;
        }
    }
}

/// The finaliser of SplitMix64: Steele, Lea and Flood 2014.
fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

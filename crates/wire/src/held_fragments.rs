//! The store that `virtual_reassembly` and `reassembly` share: the fragments of packets whose end has not come.
//!
//! The number of waiting packets, their bytes and their time are bounded, so that nobody can fill the memory. Fragments
//! that overlap others are dropped, and so are those of their packet that come after them (RFC 5722).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use crate::ipv4::Fragment;
use crate::ipv6::FragmentHeader;
use crate::siit::{Clause, Ports};
use crate::{Span, ipv4, ipv6, protocol};

/// Packets whose fragments are known at a time.
pub const MAX_PACKETS: usize = 4096;
/// Fragments of a packet. One of 64 KiB has 52 over IPv6's least MTU.
pub const MAX_FRAGMENTS: usize = 128;
/// Bytes of all fragments that wait at a time.
pub const MAX_WAITING_BYTES: usize = 16 << 20;

/// The fields that the fragments of a packet have in common: RFC 791 section 3.2, RFC 8200 section 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    /// The protocol of IPv4; 0 in IPv6, whose identification is the packet's whatever follows.
    protocol: u8,
    identification: u32,
}

/// The fragments of a packet so far.
#[derive(Debug, Default)]
struct Parts {
    expires: Duration,
    /// The ports, if the first fragment has come.
    ports: Option<Ports>,
    /// The beginning and the end of each fragment in the packet's data, in bytes.
    ranges: Vec<(u32, u32)>,
    /// The end of the packet's data, if its last fragment has come.
    end_bytes: Option<u32>,
    waiting: Vec<Vec<u8>>,
    overlaps: bool,
    /// True if the first fragment came, and was not forwarded.
    is_refused: bool,
}

/// Packets and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

/// The fragments that those of a packet wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The first fragment, which has the ports.
    Ports,
    /// All fragments.
    Whole,
}

/// The result for a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It is no fragment, or none that can be read.
    NoFragment,
    /// All that the packet waits for has come, with these fragments before it.
    Complete {
        ports: Option<Ports>,
        waited: Vec<Vec<u8>>,
    },
    Waits,
    Dropped(Clause),
}

/// The fragments of packets that wait.
#[derive(Debug)]
pub struct HeldFragments {
    until: Until,
    timeout: Duration,
    packets: HashMap<Key, Parts>,
    /// The times at which packets are forgotten, in order. Packets that are whole by then are no longer in `packets`.
    order: VecDeque<(Duration, Key)>,
    waiting: Amount,
    missed: Amount,
}

impl HeldFragments {
    pub(crate) fn new(until: Until, timeout: Duration) -> Self {
        Self {
            until,
            timeout,
            packets: HashMap::new(),
            order: VecDeque::new(),
            waiting: Amount::default(),
            missed: Amount::default(),
        }
    }

    /// Notes a packet, from its IP header on. `carrier` is what waits: the packet, or one in which it is.
    pub(crate) fn note(&mut self, packet: &[u8], carrier: &[u8], now: Duration) -> Noted {
        let Some((key, fragment, payload_bytes)) = read(packet) else { return Noted::NoFragment };
        self.forget(now);
        if !self.packets.contains_key(&key) {
            if self.packets.len() == MAX_PACKETS {
                return Noted::Dropped(Clause::TooManyFragments);
            }
            let expires = now + self.timeout;
            self.packets.insert(key, Parts { expires, ..Parts::default() });
            self.order.push_back((expires, key));
        }
        let room_bytes = MAX_WAITING_BYTES.saturating_sub(self.waiting.bytes as usize);
        let Some(parts) = self.packets.get_mut(&key) else { return Noted::Dropped(Clause::TooManyFragments) };
        let waits = self.until == Until::Whole || (parts.ports.is_none() && fragment.offset_bytes != 0);
        let has_room = !waits || carrier.len() <= room_bytes;
        if let Some(clause) = parts.add(&fragment, payload_bytes, has_room) {
            if parts.overlaps {
                let lost = Amount::of(parts.waiting.drain(..).map(|one| one.len()));
                self.waiting.subtract(lost);
                self.missed.add(lost);
            }
            return Noted::Dropped(clause);
        }
        if fragment.offset_bytes == 0 {
            parts.ports = Some(ports_of(packet));
        }
        let is_complete = match self.until {
            Until::Ports => parts.ports.is_some(),
            Until::Whole => parts.is_whole(),
        };
        if !is_complete {
            parts.waiting.push(carrier.to_vec());
            self.waiting.add(Amount { packets: 1, bytes: carrier.len() as u64 });
            return Noted::Waits;
        }
        let waited = std::mem::take(&mut parts.waiting);
        self.waiting.subtract(Amount::of(waited.iter().map(Vec::len)));
        let ports = parts.ports;
        if parts.is_whole() {
            self.packets.remove(&key);
            if self.order.len() > 2 * MAX_PACKETS {
                let packets = &self.packets;
                self.order.retain(|(expires, key)| packets.get(key).is_some_and(|parts| parts.expires == *expires));
            }
        }
        Noted::Complete { ports, waited }
    }

    /// Notes that a fragment did not go on. If it is the first one of its packet, those that come later do not either.
    pub(crate) fn refuse(&mut self, packet: &[u8]) {
        let first = read(packet).filter(|(_, fragment, _)| fragment.offset_bytes == 0);
        if let Some(parts) = first.and_then(|(key, ..)| self.packets.get_mut(&key)) {
            parts.is_refused = true;
        }
    }

    /// True if other fragments of this fragment's packet are held.
    pub fn holds(&self, packet: &[u8]) -> bool {
        read(packet).is_some_and(|(key, ..)| self.packets.contains_key(&key))
    }

    /// The fragments that waited in vain since the last call: those that they waited for did not come in time, or
    /// fragments of their packet overlapped.
    pub fn take_missed(&mut self, now: Duration) -> Amount {
        self.forget(now);
        std::mem::take(&mut self.missed)
    }

    /// The fragments that wait.
    pub fn waiting(&self) -> Amount {
        self.waiting
    }

    fn forget(&mut self, now: Duration) {
        while let Some(&(expires, key)) = self.order.front().filter(|(expires, _)| *expires <= now) {
            self.order.pop_front();
            if self.packets.get(&key).is_some_and(|parts| parts.expires == expires) {
                let waiting = self.packets.remove(&key).map(|parts| parts.waiting).unwrap_or_default();
                let lost = Amount::of(waiting.iter().map(Vec::len));
                self.waiting.subtract(lost);
                self.missed.add(lost);
            }
        }
    }
}

impl Parts {
    fn is_whole(&self) -> bool {
        self.end_bytes == Some(self.ranges.iter().map(|(start, end)| end - start).sum())
    }

    /// Notes a fragment, or returns the reason why it cannot be one. `has_room`: whether it may wait, if it has to.
    fn add(&mut self, fragment: &Fragment, payload_bytes: usize, has_room: bool) -> Option<Clause> {
        if self.overlaps {
            return Some(Clause::OverlappingFragment);
        }
        if self.is_refused {
            return Some(Clause::FirstFragmentDropped);
        }
        let (start, end) = (fragment.offset_bytes, fragment.offset_bytes + payload_bytes as u32);
        // A copy says nothing new, whatever is in it (RFC 8200 section 4.5).
        if self.ranges.contains(&(start, end)) {
            return Some(Clause::OverlappingFragment);
        }
        let is_last_wrong = match (self.end_bytes, fragment.more) {
            (Some(last), true) => end > last,
            (Some(_), false) => true,
            (None, true) => false,
            (None, false) => self.ranges.iter().any(|&(_, known)| known > end),
        };
        if is_last_wrong || self.ranges.iter().any(|&(from, to)| start < to && from < end) {
            self.overlaps = true;
            return Some(Clause::OverlappingFragment);
        }
        if self.ranges.len() == MAX_FRAGMENTS || !has_room {
            return Some(Clause::TooManyFragments);
        }
        self.ranges.push((start, end));
        if !fragment.more {
            self.end_bytes = Some(end);
        }
        None
    }
}

impl Amount {
    /// A store for packets of these lengths.
    pub fn of(lengths: impl Iterator<Item = usize>) -> Self {
        let mut amount = Self::default();
        lengths.for_each(|bytes| amount.add(Self { packets: 1, bytes: bytes as u64 }));
        amount
    }

    /// Adds another amount.
    pub fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }

    fn subtract(&mut self, other: Self) {
        self.packets -= other.packets;
        self.bytes -= other.bytes;
    }
}

/// The packet that a fragment belongs to, its place there, and the number of its bytes of data. `None` if it is no
/// fragment.
fn read(packet: &[u8]) -> Option<(Key, Fragment, usize)> {
    match packet.first()? >> 4 {
        4 => {
            let parsed = ipv4::Packet::parse(Span::whole(packet)).ok()?;
            let fragment = parsed.fragment()?;
            let key = Key {
                source: parsed.source().into(),
                destination: parsed.destination().into(),
                protocol: parsed.protocol(),
                identification: fragment.identification,
            };
            Some((key, fragment, parsed.total_bytes() - parsed.header_bytes()))
        }
        6 => {
            let parsed = ipv6::Packet::parse(Span::whole(packet)).ok()?;
            let (fragment, payload_bytes) = fragment6(&parsed)?;
            let key = Key {
                source: parsed.source().into(),
                destination: parsed.destination().into(),
                protocol: 0,
                identification: fragment.identification,
            };
            Some((key, fragment, payload_bytes))
        }
        _ => None,
    }
}

/// The Fragment header, and the number of bytes after it. `None` if there is none, or one of a whole packet (RFC 6946).
fn fragment6(packet: &ipv6::Packet<'_>) -> Option<(Fragment, usize)> {
    let (mut number, mut rest) = (packet.next_header(), packet.payload().captured());
    for _ in 0..=ipv6::MAX_EXTENSIONS {
        let header: &[u8; 8] = match number {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS | protocol::FRAGMENT => {
                rest.first_chunk()?
            }
            _ => return None,
        };
        if number == protocol::FRAGMENT {
            let fragment = FragmentHeader::parse(header).fragment;
            let is_part = fragment.more || fragment.offset_bytes != 0;
            return is_part.then_some((fragment, rest.len() - header.len()));
        }
        number = header[0];
        rest = rest.get((usize::from(header[1]) + 1) * 8..)?;
    }
    None
}

fn ports_of(packet: &[u8]) -> Ports {
    match packet.first().map(|octet| octet >> 4) {
        Some(4) => ipv4::Packet::parse(Span::whole(packet)).map_or(Ports::ABSENT, |parsed| Ports::of_ipv4(&parsed)),
        _ => ipv6::Packet::parse(Span::whole(packet)).map_or(Ports::ABSENT, |parsed| Ports::of_ipv6(&parsed)),
    }
}

//! Translators and hostile packets: a million of them, each from a number, so that a failure can be repeated.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::siit::{Clause, Settings};
use sixbench_wire::{ipv4, ipv6, protocol};

use super::held::{HOST4, KNOWN4, KNOWN6, RULE, all_settings, check};
use super::packets::{header4, header6, packet4, packet6};
use super::seeded::{self, Random, a_million};

/// A packet of one family, with ICMP errors in one another up to a depth.
struct Maker<'a> {
    random: Random,
    settings: &'a Settings,
}

impl Maker<'_> {
    fn host4(&mut self) -> Ipv4Addr {
        match self.random.below(24) {
            0 => Ipv4Addr::from_bits(self.random.next() as u32),
            1 => Ipv4Addr::LOCALHOST,
            2 => Ipv4Addr::new(224, 0, 0, 1),
            3 => Ipv4Addr::new(10, 0, 0, 1),
            4 => Ipv4Addr::new(203, 0, 113, self.random.next() as u8),
            5 => self.settings.own4,
            6..12 => KNOWN4,
            12..18 => HOST4,
            _ => Ipv4Addr::new(20, 1, 2, self.random.next() as u8),
        }
    }

    fn host6(&mut self) -> Ipv6Addr {
        let host4 = self.host4();
        match self.random.below(24) {
            0 => Ipv6Addr::from_bits((u128::from(self.random.next()) << 64) | u128::from(self.random.next())),
            1 => Ipv6Addr::LOCALHOST,
            2 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
            3 => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
            4 => Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1),
            5 => Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0x100, 0, 0, 0),
            6..8 if self.settings.domain.is_some() => RULE.address(KNOWN4, self.random.below(8) as u16),
            6 if !self.settings.own6.is_unspecified() => self.settings.own6,
            6..14 => KNOWN6,
            _ => self.settings.prefixes.first().map_or(KNOWN6, |prefix| prefix.embed(host4)),
        }
    }

    fn message(&mut self, is_ipv6: bool, depth: usize) -> (u8, Vec<u8>) {
        let bytes = match self.random.below(12) {
            0 => 1400,
            1 => self.random.below(5000),
            2 => self.random.below(9),
            _ => self.random.below(64),
        };
        match self.random.below(10) {
            0..4 => self.error(is_ipv6, depth),
            4 => (self.random.next() as u8, self.random.bytes(bytes)),
            5 => {
                let kind = self.random.of(if is_ipv6 { &[128, 129, 135, 1] } else { &[8, 0, 13, 3] });
                let mut message = self.random.bytes(bytes.max(8));
                message[0] = kind;
                (if is_ipv6 { protocol::ICMPV6 } else { protocol::ICMP }, message)
            }
            6 => (protocol::TCP, self.random.bytes(bytes)),
            7 => (self.random.of(&[0, 1, 2, 43, 44, 50, 51, 58, 59, 60, 135]), self.random.bytes(bytes)),
            _ => {
                let mut message = self.random.bytes(bytes.max(8));
                let length = message.len() as u16;
                message[4..6].copy_from_slice(&length.to_be_bytes());
                (protocol::UDP, message)
            }
        }
    }

    /// An ICMP error, most of which have a type and a code that there are, about a packet or its first part, with
    /// extensions or without.
    fn error(&mut self, is_ipv6: bool, depth: usize) -> (u8, Vec<u8>) {
        let kind = self.random.of(if is_ipv6 { &[1, 2, 3, 4] } else { &[3, 3, 11, 12] });
        let mut message = vec![kind, self.random.below(6) as u8, 0, 0];
        message.extend(self.random.of(&[[0; 4], [0, 0, 5, 0], [8, 0, 0, 0], [0, 0, 0, 8]]));
        let mut quoted = if depth > 0 { self.packet(is_ipv6, depth - 1) } else { self.random.bytes(60) };
        let word_bytes = if is_ipv6 { 8 } else { 4 };
        if self.random.one_in(3) {
            let words = self.random.below(160);
            quoted.resize(words * word_bytes, 0);
            message[if is_ipv6 { 4 } else { 5 }] = words as u8;
            let most = self.random.of(&[1200, 60, 60, 60]);
            let extensions = self.random.below(most);
            quoted.extend(self.random.bytes(extensions));
        } else if self.random.one_in(2) {
            quoted.truncate(self.random.below(quoted.len() + 1));
        }
        message.extend(quoted);
        message.truncate(4000);
        (if is_ipv6 { protocol::ICMPV6 } else { protocol::ICMP }, message)
    }

    fn packet(&mut self, is_ipv6: bool, depth: usize) -> Vec<u8> {
        let (number, message) = self.message(is_ipv6, depth);
        let mut packet = if is_ipv6 { self.ipv6(number, message) } else { self.ipv4(number, message) };
        if self.random.one_in(4) {
            self.spoil(&mut packet);
        }
        packet
    }

    fn ipv4(&mut self, number: u8, message: Vec<u8>) -> Vec<u8> {
        let ends = [self.host4(), self.host4()];
        let is_fragment = self.random.one_in(6);
        let header = ipv4::Repr {
            hop_limit: if self.random.one_in(8) { self.random.below(3) as u8 } else { 64 },
            dont_fragment: self.random.one_in(2),
            more_fragments: is_fragment && self.random.one_in(2),
            offset_bytes: if is_fragment { self.random.of(&[0, 8, 1480, 65_528]) } else { 0 },
            ..header4(ends, number)
        };
        let mut packet = packet4(header, message);
        self.lose_checksum(number, &mut packet[20..]);
        if self.random.one_in(8) {
            let words = 1 + self.random.below(10);
            let mut options = self.random.bytes(4 * words);
            options[0] = self.random.of(&[0, 1, 131, 137, 7, 255]);
            let bytes = (packet.len() + options.len()) as u16;
            packet[0] = 0x45 + words as u8;
            packet[2..4].copy_from_slice(&bytes.to_be_bytes());
            packet.splice(20..20, options);
            sum_up(&mut packet);
        }
        packet
    }

    fn ipv6(&mut self, number: u8, message: Vec<u8>) -> Vec<u8> {
        let mut number = number;
        let ends = [self.host6(), self.host6()];
        let whole = packet6(header6(ends, number), message);
        let mut payload = whole[40..].to_vec();
        self.lose_checksum(number, &mut payload);
        let count = if self.random.one_in(50) { 12 } else { self.random.below(6).saturating_sub(2) };
        for _ in 0..count {
            let kind = self.random.of(&[0, 43, 44, 60, 51]);
            let words = if self.random.one_in(8) { self.random.below(4) as u8 } else { 0 };
            let mut header = vec![number, if kind == 44 { 0 } else { words }];
            header.extend(match kind {
                44 => self.random.of(&[
                    [0, 0, 0, 0, 0, 9],
                    [0, 1, 0, 0, 0, 9],
                    [0, 8, 0, 0, 0, 9],
                    [255, 249, 0, 0, 0, 9],
                ]),
                43 => [0, self.random.of(&[0, 0, 0, 3]), 0, 0, 0, 0],
                _ => [0; 6],
            });
            let extra = if kind == 44 { 0 } else { 8 * usize::from(words) };
            header.extend(vec![0; extra]);
            payload.splice(0..0, header);
            number = kind;
        }
        let hop_limit = if self.random.one_in(8) { self.random.below(3) as u8 } else { 64 };
        let header = ipv6::Repr { hop_limit, payload_bytes: payload.len(), ..header6(ends, number) };
        [&header.emit()[..], &payload].concat()
    }

    /// UDP can do without.
    fn lose_checksum(&mut self, number: u8, message: &mut [u8]) {
        if number == protocol::UDP && self.random.one_in(4) {
            message.iter_mut().skip(6).take(2).for_each(|octet| *octet = 0);
        }
    }

    /// The header's checksum is right again in most.
    fn spoil(&mut self, packet: &mut Vec<u8>) {
        seeded::spoil(&mut self.random, packet);
        if !self.random.one_in(4) && packet.first().is_some_and(|first| first >> 4 == 4) {
            sum_up(packet);
        }
    }
}

/// Gives an IPv4 header its checksum, as far as it is there.
fn sum_up(packet: &mut [u8]) {
    let bytes = usize::from(packet[0] & 15) * 4;
    if bytes < 20 || packet.len() < bytes {
        return;
    }
    packet[10..12].fill(0);
    let sum = sixbench_wire::checksum::checksum(&packet[..bytes]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn hostile(settings: &Settings, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    if random.one_in(16) {
        let count = random.below(120);
        return random.bytes(count);
    }
    let (is_ipv6, depth) = (random.one_in(2), random.below(4));
    Maker { random, settings }.packet(is_ipv6, depth)
}

#[test]
fn no_packet_breaks_a_rule() {
    let all = all_settings();
    a_million(|seed| {
        let settings = &all[(seed >> 32) as usize % all.len()];
        check(settings, &hostile(settings, seed));
    });
}

/// The rules that decide only where other packets are remembered: those of sessions, or fragments of the same packet.
const OF_MEMORY: [Clause; 13] = [
    Clause::FragmentWaits,
    Clause::FragmentHeld,
    Clause::FirstFragmentMissing,
    Clause::FirstFragmentDropped,
    Clause::OverlappingFragment,
    Clause::TooManyFragments,
    Clause::OfPrefix,
    Clause::OfPool,
    Clause::NoBinding,
    Clause::Filtered,
    Clause::NoPortLeft,
    Clause::TableFull,
    Clause::Sessionless,
];

/// The generator does not only make what is dropped at once.
#[test]
fn hostile_packets_come_to_every_rule() {
    let all = all_settings();
    let mut counts = BTreeMap::<Clause, u32>::new();
    for seed in 0..100_000 {
        let settings = &all[seed as usize % all.len()];
        *counts.entry(check(settings, &hostile(settings, seed)).clause).or_default() += 1;
    }
    let own = Clause::ALL.iter().filter(|clause| !OF_MEMORY.contains(clause));
    let rare: Vec<_> = own.filter(|clause| counts.get(clause).is_none_or(|&count| count < 20)).collect();
    assert!(rare.is_empty(), "{rare:?} of {counts:?}");
}

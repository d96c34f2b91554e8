//! Source of hostile packets: each is made from a number, so that a failure can be repeated.
#![allow(dead_code)] // Each file of tests uses a part.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const CASES: u32 = 1_000_000;

/// Gives a check a million numbers.
pub fn a_million(check: impl Fn(u64)) {
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let result = TestRunner::new(config).run(&any::<u64>().no_shrink(), |seed| {
        check(seed);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// SplitMix64: Steele, Lea and Flood 2014.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Some bytes are changed, some are gone, and lengths lie.
pub fn spoil(random: &mut Random, packet: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        if !packet.is_empty() {
            // Most of what matters is in front.
            let limit = if random.one_in(2) { packet.len().min(60) } else { packet.len() };
            let at = random.below(limit);
            let any = random.next() as u8;
            packet[at] = random.of(&[0, 0xff, 0x80, any]);
        }
    }
    match random.below(8) {
        0 => packet.truncate(random.below(packet.len() + 1)),
        1 => packet.extend(random.bytes(8)),
        2 if packet.len() >= 6 => {
            let length = random.of(&[0_u16, 1, 0xffff, packet.len() as u16, (packet.len() as u16).wrapping_sub(39)]);
            let at = if packet[0] >> 4 == 6 { 4 } else { 2 };
            packet[at..at + 2].copy_from_slice(&length.to_be_bytes());
        }
        _ => {}
    }
}

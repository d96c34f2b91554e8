//! Random numbers that are the same on every machine, today and later; and those that nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// Random octets from the kernel, which nobody can guess.
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets)
}

/// Many random numbers of that kind, from one open file.
#[derive(Debug)]
pub struct Secrets {
    file: File,
    octets: [u8; Self::OCTETS],
    /// Number of octets that are used up.
    used: usize,
}

impl Secrets {
    const OCTETS: usize = 512;

    /// Opens the kernel's source of random numbers.
    pub fn open() -> io::Result<Self> {
        Ok(Self { file: File::open("/dev/urandom")?, octets: [0; Self::OCTETS], used: Self::OCTETS })
    }

    /// The next one.
    pub fn number(&mut self) -> io::Result<u32> {
        if self.used == Self::OCTETS {
            self.file.read_exact(&mut self.octets)?;
            self.used = 0;
        }
        let mut number = [0; 4];
        number.copy_from_slice(&self.octets[self.used..self.used + 4]);
        self.used += 4;
        Ok(u32::from_ne_bytes(number))
    }
}

/// xoshiro256++ 1.0 (Blackman and Vigna, <https://prng.di.unimi.it>), seeded by SplitMix64 as its authors recommend.
///
/// It is written out here, in a dozen lines, so that no version of a crate decides which packets a seed means.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

/// The use of a seed: each use has random numbers of its own.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    /// Times between datagrams.
    Gaps = 1,
    /// Sizes of datagrams.
    Sizes = 2,
    /// Lengths of on and off periods.
    Periods = 3,
    /// Ports of frames.
    Ports = 4,
    /// Networks that frames go to.
    Networks = 5,
    /// The packets that a link loses.
    Losses = 16,
    /// The changes of a link between the state with few losses and the state with many.
    LossStates = 17,
    /// The packets that a link duplicates.
    Duplicates = 18,
    /// The packets in which a link flips a bit.
    Corruption = 19,
    /// The bit that is flipped.
    Bits = 20,
    /// The packets that overtake others on a link.
    Reordering = 21,
    /// The delays of a link's packets.
    Delays = 22,
}

impl Random {
    /// The numbers of a seed for one use. `round` tells flows with the same seed apart, such as the warm-up's.
    pub fn new(seed: u64, stream: Stream, round: u64) -> Self {
        let mut mixer = SplitMix64(seed);
        let mut mixer = SplitMix64(mixer.next() ^ ((round << 8) | stream as u64));
        Self { state: [(); 4].map(|()| mixer.next()) }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform over the multiples of 2^-53 in [0, 1), moved by half of one: never 0, never 1.
    pub fn unit(&mut self) -> f64 {
        let half = 0.5 / (1_u64 << 53) as f64;
        ((self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 + half).min(1.0 - 2.0 * half)
    }
}

/// Steele, Lea and Flood, OOPSLA 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequences() {
        // The authors' splitmix64.c from 1234567, and their xoshiro256plusplus.c from the state 1, 2, 3, 4.
        let mut mixer = SplitMix64(1_234_567);
        assert_eq!(
            [(); 3].map(|()| mixer.next()),
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(
            [(); 4].map(|()| random.next_u64()),
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]
        );
    }

    #[test]
    fn seeds_uses_and_rounds_differ_and_repeat() {
        let first = |seed, stream, round| Random::new(seed, stream, round).next_u64();
        let all = [
            first(1, Stream::Gaps, 0),
            first(2, Stream::Gaps, 0),
            first(1, Stream::Sizes, 0),
            first(1, Stream::Periods, 0),
            first(1, Stream::Gaps, 1),
        ];
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
        assert_eq!(all[0], first(1, Stream::Gaps, 0));
    }

    #[test]
    fn a_unit_is_never_an_end() {
        let mut random = Random::new(0, Stream::Gaps, 0);
        assert!((0..100_000).map(|_| random.unit()).all(|u| u > 0.0 && u < 1.0));
    }
}

//! The identifications of packets that others may fragment.

/// Identifications of IPv4 packets that may be fragmented: RFC 7915 section 5.1. They go through all 65,536 values but
/// 0 before one comes again.
#[derive(Debug, Clone)]
pub(super) struct Identifications {
    last: u16,
    /// Odd, so that it leads to every value.
    step: u16,
}

impl Identifications {
    pub fn new(seed: Option<u64>) -> Self {
        // SplitMix64: Steele, Lea and Flood 2014.
        let mut mixed = seed.map_or(0, |seed| seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        Self { last: mixed as u16, step: (mixed >> 16) as u16 | 1 }
    }

    pub fn next(&mut self) -> u16 {
        self.last = self.last.wrapping_add(self.step);
        if self.last == 0 {
            self.last = self.step;
        }
        self.last
    }
}

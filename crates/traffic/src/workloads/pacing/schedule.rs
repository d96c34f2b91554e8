//! When each datagram of a flow is due.
//!
//! Pure: numbers in, numbers out. The interval is a fraction, so that no rounding adds up over a long flow.

/// The most datagrams a second, and the most bits a second, that a schedule may ask for.
pub const MAX_PPS: u64 = 1_000_000_000;
/// See [`MAX_PPS`].
pub const MAX_BPS: u64 = 10_000_000_000_000;

const SECOND_NS: u128 = 1_000_000_000;

/// Datagram k is due k intervals after the start, whatever happened to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The interval is `numerator / denominator` nanoseconds.
    numerator: u128,
    denominator: u128,
}

impl Schedule {
    /// So many datagrams a second.
    pub fn of_pps(rate_pps: u64) -> Self {
        Self { numerator: SECOND_NS, denominator: u128::from(rate_pps.clamp(1, MAX_PPS)) }
    }

    /// So many bits of payload a second, in datagrams of this size.
    pub fn of_bps(rate_bps: u64, datagram_bytes: usize) -> Self {
        Self {
            numerator: datagram_bytes.max(1) as u128 * 8 * SECOND_NS,
            denominator: u128::from(rate_bps.clamp(1, MAX_BPS)),
        }
    }

    /// One each interval.
    pub fn of_interval_ns(interval_ns: u64) -> Self {
        Self { numerator: u128::from(interval_ns.max(1)), denominator: 1 }
    }

    /// When this datagram is due, since the start; rounded down.
    pub fn due_ns(&self, index: u64) -> u64 {
        saturate(u128::from(index) * self.numerator / self.denominator)
    }

    /// How many are due at this time since the start or before; the first is due at once.
    pub fn due_by(&self, since_start_ns: u64) -> u64 {
        self.due_before(since_start_ns.saturating_add(1))
    }

    /// How many are due in a window of this length, its end excluded.
    pub fn due_before(&self, length_ns: u64) -> u64 {
        saturate((u128::from(length_ns) * self.denominator).div_ceil(self.numerator))
    }
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        let thirds = Schedule::of_pps(3);
        assert_eq!([0, 1, 2, 3].map(|k| thirds.due_ns(k)), [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(thirds.due_before(1_000_000_000), 3);
        assert_eq!(thirds.due_by(1_000_000_000), 4);
        // 1000 bytes at 8 Mbit/s: one a millisecond.
        let schedule = Schedule::of_bps(8_000_000, 1000);
        assert_eq!(schedule.due_ns(7), 7_000_000);
        assert_eq!(schedule.due_by(6_999_999), 7);
        assert_eq!(Schedule::of_interval_ns(10).due_ns(3), 30);
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        assert_eq!(Schedule::of_bps(1, 65_527).due_ns(u64::MAX), u64::MAX);
        assert_eq!(Schedule::of_pps(u64::MAX).due_by(u64::MAX), u64::MAX);
        assert_eq!(Schedule::of_bps(u64::MAX, 0).due_before(0), 0);
    }

    proptest! {
        #[test]
        fn what_is_due_is_what_has_come_due(rate in 1_u64..20_000_000, index in 0_u64..1 << 32) {
            let schedule = Schedule::of_pps(rate);
            let due = schedule.due_ns(index);
            prop_assert!(schedule.due_by(due) > index);
            prop_assert!(due == 0 || schedule.due_by(due - 1) <= index);
        }
    }
}

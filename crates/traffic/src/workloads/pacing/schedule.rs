//! The due time and the size of each datagram of a flow.
//!
//! Pure: numbers in, numbers out. No clock.

use crate::models::{Datagram, Datagrams};

/// The most datagrams a second, and the most bits a second, that a schedule may ask for.
pub const MAX_PPS: u64 = 1_000_000_000;
/// See [`MAX_PPS`].
pub const MAX_BPS: u64 = 10_000_000_000_000;

const SECOND_NS: u128 = 1_000_000_000;

/// The place of one datagram in a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Due time since the start of the flow, whatever happened to those before it.
    pub due_ns: u64,
    /// Its payload.
    pub payload_bytes: usize,
}

/// The slots of a flow, in the order of their due times, one after the other.
pub trait Schedule {
    /// The next slot, never due earlier than the one before; absent where the flow has no more.
    fn next(&mut self) -> Option<Slot>;

    /// Uses up the slots that are due in a window of this length, its end excluded, and returns their number.
    fn count_before(&mut self, length_ns: u64) -> u64 {
        std::iter::from_fn(|| self.next()).take_while(|slot| slot.due_ns < length_ns).count() as u64
    }
}

/// A constant distance, as a fraction, so that no rounding adds up over a long flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The interval is `numerator / denominator` nanoseconds.
    numerator: u128,
    denominator: u128,
}

impl Interval {
    /// The interval of this many datagrams a second.
    pub fn of_pps(rate_pps: u64) -> Self {
        Self { numerator: SECOND_NS, denominator: u128::from(rate_pps.clamp(1, MAX_PPS)) }
    }

    /// The interval of this many bits of payload a second, in datagrams of this size.
    pub fn of_bps(rate_bps: u64, datagram_bytes: usize) -> Self {
        Self {
            numerator: datagram_bytes.max(1) as u128 * 8 * SECOND_NS,
            denominator: u128::from(rate_bps.clamp(1, MAX_BPS)),
        }
    }

    /// The interval of this length.
    pub fn of_ns(interval_ns: u64) -> Self {
        Self { numerator: u128::from(interval_ns.max(1)), denominator: 1 }
    }

    /// Due time of this datagram, since the start; rounded down.
    pub fn due_ns(&self, index: u64) -> u64 {
        saturate(u128::from(index) * self.numerator / self.denominator)
    }

    /// Number of datagrams due in a window of this length, its end excluded; the first is due at once.
    pub fn due_before(&self, length_ns: u64) -> u64 {
        saturate((u128::from(length_ns) * self.denominator).div_ceil(self.numerator))
    }

    /// The schedule of datagrams of this size.
    pub fn of_payload_bytes(self, payload_bytes: usize) -> Constant {
        Constant { interval: self, payload_bytes, index: 0 }
    }
}

/// Datagrams of one size at a constant distance, without end.
#[derive(Debug, Clone)]
pub struct Constant {
    interval: Interval,
    payload_bytes: usize,
    /// Number of the next datagram.
    index: u64,
}

impl Schedule for Constant {
    fn next(&mut self) -> Option<Slot> {
        let slot = Slot { due_ns: self.interval.due_ns(self.index), payload_bytes: self.payload_bytes };
        self.index += 1;
        Some(slot)
    }

    fn count_before(&mut self, length_ns: u64) -> u64 {
        let used = self.index;
        self.index = self.index.max(self.interval.due_before(length_ns));
        self.index - used
    }
}

impl Schedule for Datagrams {
    fn next(&mut self) -> Option<Slot> {
        Iterator::next(self).map(|Datagram { due_ns, payload_bytes }| Slot { due_ns, payload_bytes })
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
        let thirds = Interval::of_pps(3);
        assert_eq!([0, 1, 2, 3].map(|k| thirds.due_ns(k)), [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(thirds.due_before(1_000_000_000), 3);
        // 1000 bytes at 8 Mbit/s: one a millisecond.
        let interval = Interval::of_bps(8_000_000, 1000);
        assert_eq!(interval.due_ns(7), 7_000_000);
        assert_eq!(interval.due_before(7_000_000), 7);
        assert_eq!(Interval::of_ns(10).due_ns(3), 30);
        let mut schedule = Interval::of_ns(10).of_payload_bytes(100);
        assert_eq!(schedule.next(), Some(Slot { due_ns: 0, payload_bytes: 100 }));
        assert_eq!(schedule.next(), Some(Slot { due_ns: 10, payload_bytes: 100 }));
        assert_eq!(schedule.count_before(51), 4);
        assert_eq!(schedule.count_before(20), 0);
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        assert_eq!(Interval::of_bps(1, 65_527).due_ns(u64::MAX), u64::MAX);
        assert_eq!(Interval::of_pps(u64::MAX).due_before(u64::MAX), u64::MAX);
        assert_eq!(Interval::of_bps(u64::MAX, 0).due_before(0), 0);
    }

    /// Any schedule that does not know its count before.
    struct Each(Constant);

    impl Schedule for Each {
        fn next(&mut self) -> Option<Slot> {
            self.0.next()
        }
    }

    proptest! {
        #[test]
        fn what_is_due_is_what_has_come_due(rate in 1_u64..20_000_000, index in 0_u64..1 << 32) {
            let interval = Interval::of_pps(rate);
            let due = interval.due_ns(index);
            prop_assert!(interval.due_before(due + 1) > index);
            prop_assert!(interval.due_before(due) <= index);
        }

        #[test]
        fn a_count_is_that_of_the_slots(rate in 1_u64..2_000_000, used in 0_usize..50, length_ns in 0_u64..1_000_000) {
            let mut schedule = Interval::of_pps(rate).of_payload_bytes(32);
            for _ in 0..used {
                schedule.next();
            }
            prop_assert_eq!(Each(schedule.clone()).count_before(length_ns), schedule.count_before(length_ns));
        }
    }
}

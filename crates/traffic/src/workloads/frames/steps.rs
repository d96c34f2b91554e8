//! Due times of the frames of a flow: at one rate, and at another from some time on (RFC 2544 section 26.5). Pure.

use crate::workloads::pacing::{Interval, Schedule, Slot};

/// The rate of a flow, and what it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    first: Interval,
    /// Another rate, and the time after the start of the flow from which it holds.
    then: Option<(u64, Interval)>,
}

impl Steps {
    /// A rate in frames a second, and another one from that time on, if any.
    pub fn new(rate_pps: u64, then: Option<(u64, u64)>) -> Self {
        let then = then.map(|(after_ns, rate_pps)| (after_ns, Interval::of_pps(rate_pps)));
        Self { first: Interval::of_pps(rate_pps), then }
    }

    /// Due time of this frame, since the start.
    pub fn due_ns(&self, index: u64) -> u64 {
        match self.then {
            Some((after_ns, then)) if index >= self.first.due_before(after_ns) => {
                after_ns.saturating_add(then.due_ns(index - self.first.due_before(after_ns)))
            }
            _ => self.first.due_ns(index),
        }
    }

    /// Number of frames that are due in a window of this length, its end excluded.
    pub fn due_before(&self, length_ns: u64) -> u64 {
        match self.then {
            Some((after_ns, then)) if length_ns > after_ns => {
                self.first.due_before(after_ns).saturating_add(then.due_before(length_ns - after_ns))
            }
            _ => self.first.due_before(length_ns),
        }
    }

    /// The schedule of frames with this payload.
    pub fn of_payload_bytes(self, payload_bytes: usize) -> Frames {
        Frames { steps: self, payload_bytes, index: 0 }
    }
}

/// Frames of one size, without end.
pub struct Frames {
    steps: Steps,
    payload_bytes: usize,
    /// Number of the next frame.
    index: u64,
}

impl Schedule for Frames {
    fn next(&mut self) -> Option<Slot> {
        let slot = Slot { due_ns: self.steps.due_ns(self.index), payload_bytes: self.payload_bytes };
        self.index += 1;
        Some(slot)
    }

    fn count_before(&mut self, length_ns: u64) -> u64 {
        let used = self.index;
        self.index = self.index.max(self.steps.due_before(length_ns));
        self.index - used
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_rate_changes_when_it_should_and_the_first_frame_of_the_new_one_is_due_then() {
        let steps = Steps::new(1000, Some((10 * MS, 500)));
        assert_eq!([0, 9, 10, 11].map(|index| steps.due_ns(index)), [0, 9 * MS, 10 * MS, 12 * MS]);
        assert_eq!((steps.due_before(10 * MS), steps.due_before(20 * MS)), (10, 15));
        assert_eq!(Steps::new(1000, None).due_ns(1500), 1500 * MS);
    }

    proptest! {
        #[test]
        fn what_is_due_before_a_time_is_what_the_schedule_has_before_it(
            rates in (1_u64..100_000, 1_u64..100_000), after_ns in 0_u64..50 * MS, length_ns in 0_u64..100 * MS
        ) {
            let steps = Steps::new(rates.0, Some((after_ns, rates.1)));
            let due = steps.due_before(length_ns);
            prop_assert!(due == 0 || steps.due_ns(due - 1) < length_ns);
            prop_assert!(steps.due_ns(due) >= length_ns);
            prop_assert_eq!(steps.of_payload_bytes(18).count_before(length_ns), due);
        }
    }
}

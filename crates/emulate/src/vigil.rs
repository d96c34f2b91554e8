//! How long before a packet is due the thread no longer sleeps.

/// A timer's wake-up comes 20 to 40 us late at the median, 60 to 180 us at the 99th percentile (measured).
const LONG_NS: u64 = 120_000;
/// As long as the thread has been awake too much. Most wake-ups come within it.
const SHORT_NS: u64 = 35_000;
/// How much longer than it may the thread can have been awake.
const MOST_CREDIT_NS: i64 = 20_000_000;

/// Watches over how much of a processor's time the thread takes: half of it, but for the packets themselves.
///
/// It runs before all others. Were it always awake, the kernel would take its processor from it for 50 ms of each second
/// (`sched_rt_runtime_us`, the fair server of Linux 6.8), which is worse than any wake-up.
#[derive(Debug)]
pub struct Vigil {
    /// Half of the time that has passed, less all that it was awake.
    credit_ns: i64,
    changed_ns: u64,
}

impl Vigil {
    /// Of a thread that is awake.
    pub fn new(now_ns: u64) -> Self {
        Self { credit_ns: MOST_CREDIT_NS, changed_ns: now_ns }
    }

    /// How long before a packet is due it may be awake. Called while it is.
    pub fn spin_ns(&mut self, now_ns: u64) -> u64 {
        self.sleeps(now_ns);
        if self.credit_ns > 0 { LONG_NS } else { SHORT_NS }
    }

    /// It has been awake, and may be about to sleep.
    pub fn sleeps(&mut self, now_ns: u64) {
        self.credit_ns = (self.credit_ns - self.half_since(now_ns)).max(-MOST_CREDIT_NS);
    }

    /// It has slept.
    pub fn woke(&mut self, now_ns: u64) {
        self.credit_ns = (self.credit_ns + self.half_since(now_ns)).min(MOST_CREDIT_NS);
    }

    fn half_since(&mut self, now_ns: u64) -> i64 {
        let since_ns = now_ns.saturating_sub(self.changed_ns) / 2;
        self.changed_ns = now_ns;
        i64::try_from(since_ns).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_awake_for_less_than_half_the_time_may_spin_for_long() {
        let mut vigil = Vigil::new(0);
        for round in 1..10_000_u64 {
            vigil.woke(round * 1_000_000);
            assert_eq!(vigil.spin_ns(round * 1_000_000 + 400_000), LONG_NS);
        }
    }

    #[test]
    fn who_is_always_awake_may_not_until_it_has_slept_as_long() {
        let mut vigil = Vigil::new(0);
        assert_eq!(vigil.spin_ns(30_000_000), LONG_NS);
        assert_eq!(vigil.spin_ns(41_000_000), SHORT_NS);
        assert_eq!(vigil.spin_ns(3_000_000_000), SHORT_NS);
        vigil.woke(3_039_000_000);
        assert_eq!(vigil.spin_ns(3_039_000_000), SHORT_NS);
        vigil.woke(3_041_000_000);
        assert_eq!(vigil.spin_ns(3_041_000_000), LONG_NS);
    }
}

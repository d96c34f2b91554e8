//! Waiting of the thread for packets that arrive and for packets that are due.

/// A timer's wake-up comes 20 to 40 us late at the median, 60 to 180 us at the 99th percentile (measured): so long
/// before a packet is due the thread no longer sleeps.
const WATCH_NS: u64 = 120_000;
/// The least nap, to which a wake-up adds its own.
const NAP_NS: u64 = 10_000;
/// The most that the time awake can differ from half of the time that has passed.
const MOST_CREDIT_NS: i64 = 20_000_000;

/// The thread's next action until the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Look again at once.
    Watch,
    /// Sleep until something comes, or until then.
    Sleep(Option<u64>),
    /// Sleep until then, whatever comes: the kernel notes when it did.
    Nap(u64),
}

/// Watches over how much of a processor's time the thread takes: half of it, but for the packets themselves.
///
/// It runs before all others. The time that it takes for watching is taken from the sender and the receiver; and were
/// it always awake, the kernel would take its processor from it for 50 ms of each second (`sched_rt_runtime_us`), which
/// is worse than any wake-up. Beyond its half it naps from one packet to the next.
#[derive(Debug)]
pub struct Waiter {
    /// Half of the time that has passed, less all that it was awake.
    credit_ns: i64,
    changed_ns: u64,
}

impl Waiter {
    /// The waiter of a thread that is awake.
    pub fn new(now_ns: u64) -> Self {
        Self { credit_ns: MOST_CREDIT_NS, changed_ns: now_ns }
    }

    /// The next action of a thread that has been awake. `next_ns`: when something is to be done.
    pub fn rest(&mut self, now_ns: u64, next_ns: Option<u64>) -> Rest {
        self.credit_ns = (self.credit_ns - self.half_since(now_ns)).max(-MOST_CREDIT_NS);
        match next_ns {
            Some(next_ns) if next_ns <= now_ns + WATCH_NS => {
                if self.credit_ns > 0 {
                    Rest::Watch
                } else {
                    Rest::Nap(next_ns.max(now_ns + NAP_NS))
                }
            }
            later => Rest::Sleep(later.map(|next_ns| next_ns - WATCH_NS)),
        }
    }

    /// Notes that the thread has slept.
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

    const MS: u64 = 1_000_000;

    #[test]
    fn it_sleeps_until_shortly_before_something_is_due() {
        let mut waiter = Waiter::new(0);
        assert_eq!(waiter.rest(MS, None), Rest::Sleep(None));
        assert_eq!(waiter.rest(MS, Some(3 * MS)), Rest::Sleep(Some(3 * MS - WATCH_NS)));
        assert_eq!(waiter.rest(MS, Some(MS + WATCH_NS)), Rest::Watch);
        assert_eq!(waiter.rest(MS, Some(0)), Rest::Watch);
    }

    #[test]
    fn who_is_awake_for_less_than_half_the_time_watches() {
        let mut waiter = Waiter::new(0);
        for round in 1..10_000 {
            waiter.woke(round * MS);
            assert_eq!(waiter.rest(round * MS + 400_000, Some(round * MS + 400_000)), Rest::Watch);
        }
    }

    #[test]
    fn who_is_always_awake_naps_until_it_has_slept_as_long() {
        let mut waiter = Waiter::new(0);
        assert_eq!(waiter.rest(39 * MS, Some(39 * MS)), Rest::Watch);
        assert_eq!(waiter.rest(41 * MS, Some(41 * MS)), Rest::Nap(41 * MS + NAP_NS));
        assert_eq!(waiter.rest(3000 * MS, Some(3000 * MS + 50_000)), Rest::Nap(3000 * MS + 50_000));
        // However much that was, 40 ms of sleep are enough.
        waiter.woke(3039 * MS);
        assert_eq!(waiter.rest(3039 * MS, Some(0)), Rest::Nap(3039 * MS + NAP_NS));
        waiter.woke(3041 * MS);
        assert_eq!(waiter.rest(3041 * MS, Some(0)), Rest::Watch);
    }
}

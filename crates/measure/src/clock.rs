//! Clocks: monotonic for lengths and schedules, realtime for what crosses the network.

use std::ffi::{c_int, c_ulong};
use std::marker::PhantomData;
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::histogram::Times;

fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux; a failure here means that the process cannot go on in any meaningful way.
    let time = clock_gettime(clock).expect("clock_gettime on a clock that every Linux has");
    Duration::from(time).as_nanos() as u64
}

/// Nanoseconds on the monotonic clock.
pub fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970 on the realtime clock, the clock of the kernel's packet timestamps.
pub fn realtime_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BothClocks {
    /// Time on the monotonic clock, not before the moment.
    pub monotonic_ns: u64,
    /// Lead of the realtime clock over the monotonic one, in ns. It is never more than the true one, so that a time of
    /// the kernel's packet timestamps that is put on the monotonic clock with it is never too early.
    pub lead_ns: i64,
}

impl BothClocks {
    /// Readings that are further apart are tried again: the thread has lost its processor between them.
    const NEAR_NS: u64 = 1_000;
    const TRIES: usize = 4;

    /// Reads both clocks.
    pub fn read() -> Self {
        Self::closest(|| (monotonic_ns(), realtime_ns(), monotonic_ns()))
    }

    /// The first reading whose monotonic times are near each other, or else that where they are nearest.
    fn closest(mut read: impl FnMut() -> (u64, u64, u64)) -> Self {
        let mut nearest_ns = u64::MAX;
        let mut clocks = Self { monotonic_ns: 0, lead_ns: 0 };
        for _ in 0..Self::TRIES {
            let (before_ns, realtime_ns, after_ns) = read();
            let apart_ns = after_ns.saturating_sub(before_ns);
            if apart_ns < nearest_ns {
                nearest_ns = apart_ns;
                clocks = Self { monotonic_ns: after_ns, lead_ns: (realtime_ns as i64).wrapping_sub(after_ns as i64) };
            }
            if nearest_ns <= Self::NEAR_NS {
                break;
            }
        }
        clocks
    }

    /// A time of the realtime clock on the monotonic one.
    pub fn to_monotonic_ns(self, realtime_ns: u64) -> u64 {
        realtime_ns.saturating_add_signed(self.lead_ns.saturating_neg())
    }
}

/// Times between consecutive readings of the realtime clock, by experiment: the cost and the resolution of a timestamp.
pub fn reading_times() -> Times {
    const READINGS: usize = 1_000;
    let mut times = Times::default();
    let mut before_ns = realtime_ns();
    for _ in 0..READINGS {
        let now_ns = realtime_ns();
        times.record(now_ns.saturating_sub(before_ns));
        before_ns = now_ns;
    }
    times
}

/// Sleeps until that time on the monotonic clock, or until a signal; not at all if it has passed.
pub fn sleep_until(monotonic_ns: u64) {
    let until = TimeSpec::from_duration(Duration::from_nanos(monotonic_ns));
    // The only failure that valid arguments leave is a signal, and whoever waits looks at the clock again anyway.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until);
}

/// While it lives, timers of the thread that made it fire on time: the kernel does not gather them to save power, which
/// by default delays each by up to 50 us (`PR_SET_TIMERSLACK`).
pub struct PreciseTimers {
    before: Option<c_int>,
    _in_this_thread: PhantomData<*const ()>,
}

impl PreciseTimers {
    /// Makes the thread's timers precise. Where the kernel refuses, they stay as they were: lateness is measured, not
    /// assumed.
    pub fn new() -> Self {
        let before = prctl::get_timerslack().ok();
        let _ = prctl::set_timerslack(1);
        Self { before, _in_this_thread: PhantomData }
    }
}

impl Default for PreciseTimers {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for PreciseTimers {
    fn drop(&mut self) {
        // 0 restores the thread's default.
        let before = self.before.and_then(|slack| c_ulong::try_from(slack).ok()).unwrap_or(0);
        let _ = prctl::set_timerslack(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both clocks of readings between which the thread lost its processor for so long, in each of the places.
    fn disturbed(pauses_ns: &[(u64, u64)]) -> BothClocks {
        const LEAD_NS: u64 = 1_000_000;
        let mut now_ns = 0;
        let mut pauses = pauses_ns.iter();
        BothClocks::closest(|| {
            let (first_ns, second_ns) = *pauses.next().unwrap();
            let before_ns = now_ns;
            now_ns += 20 + first_ns;
            let realtime_ns = now_ns + LEAD_NS;
            now_ns += 20 + second_ns;
            (before_ns, realtime_ns, now_ns)
        })
    }

    #[test]
    fn a_pause_between_the_clocks_puts_no_time_too_early() {
        for pauses in [[(25_000, 0); 4], [(0, 25_000); 4], [(25_000, 25_000); 4]] {
            let clocks = disturbed(&pauses);
            assert!(clocks.lead_ns <= 1_000_000, "{clocks:?}");
            assert!(clocks.to_monotonic_ns(5_000_000) >= 4_000_000, "{clocks:?}");
        }
    }

    #[test]
    fn the_reading_with_the_shortest_pause_counts() {
        let clocks = disturbed(&[(0, 25_000), (0, 3_000), (0, 9_000), (0, 30_000)]);
        assert_eq!(clocks.lead_ns, 1_000_000 - 3_020);
        let undisturbed = disturbed(&[(0, 25_000), (0, 0)]);
        assert_eq!(undisturbed.lead_ns, 1_000_000 - 20);
    }
}

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

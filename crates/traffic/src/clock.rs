//! Clocks: monotonic for lengths and schedules, realtime for what crosses the network.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

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

//! The only `unsafe` of this crate: system calls that no crate wraps as we need them.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

/// User and system time of this process.
pub fn own_cpu_ns() -> (u64, u64) {
    match getrusage(UsageWho::RUSAGE_SELF) {
        Ok(usage) => {
            (usage.user_time().num_nanoseconds().max(0) as u64, usage.system_time().num_nanoseconds().max(0) as u64)
        }
        Err(_) => (0, 0),
    }
}

/// Length of a tick of `/proc/stat`.
pub fn tick_ns() -> u64 {
    match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(hz)) if hz > 0 => 1_000_000_000 / hz as u64,
        _ => 10_000_000,
    }
}

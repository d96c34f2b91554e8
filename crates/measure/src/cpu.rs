//! CPU samples of the machine (per core) and of this agent.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock;

/// One core's ticks, as `/proc/stat` counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Core {
    /// User space.
    pub user: u64,
    /// User space, niced.
    pub nice: u64,
    /// Kernel, without interrupts.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle, waiting for I/O.
    pub iowait: u64,
    /// Hard interrupts.
    pub irq: u64,
    /// Soft interrupts: most of what a network costs.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

/// A CPU sample, as results carry it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Sample {
    /// Monotonic clock.
    pub clock_ns: u64,
    /// Realtime clock.
    pub realtime_ns: u64,
    /// Length of a tick.
    pub tick_ns: u64,
    /// The machine's cores.
    pub cores: Vec<Core>,
    /// Idle time since the start of a machine of one core, to the nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// This process in user space.
    pub agent_user_ns: u64,
    /// This process in the kernel.
    pub agent_system_ns: u64,
}

/// The two edges of a measured window.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Span {
    /// The sample at its start.
    pub from: Sample,
    /// The sample at its end.
    pub to: Sample,
}

/// Samples now. Where `/proc/stat` cannot be read, `cores` is empty.
pub fn sample() -> Sample {
    let (agent_user_ns, agent_system_ns) = own_cpu_ns();
    let cores: Vec<Core> = std::fs::read_to_string("/proc/stat").map(|text| parse_stat(&text)).unwrap_or_default();
    // The kernel notes the idle time of a core when it ends: of the core that runs this, and of no other, it is up to
    // date.
    let idle_ns = if cores.len() == 1 { std::fs::read_to_string("/proc/timer_list").ok() } else { None };
    Sample {
        clock_ns: clock::monotonic_ns(),
        realtime_ns: clock::realtime_ns(),
        tick_ns: tick_ns(),
        cores,
        idle_ns: idle_ns.and_then(|text| parse_idle(&text)),
        agent_user_ns,
        agent_system_ns,
    }
}

/// User and system time of this process.
fn own_cpu_ns() -> (u64, u64) {
    match getrusage(UsageWho::RUSAGE_SELF) {
        Ok(usage) => {
            (usage.user_time().num_nanoseconds().max(0) as u64, usage.system_time().num_nanoseconds().max(0) as u64)
        }
        Err(_) => (0, 0),
    }
}

/// Length of a tick of `/proc/stat`.
fn tick_ns() -> u64 {
    match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(hz)) if hz > 0 => 1_000_000_000 / hz as u64,
        _ => 10_000_000,
    }
}

fn parse_stat(text: &str) -> Vec<Core> {
    text.lines().filter_map(parse_core).collect()
}

fn parse_core(line: &str) -> Option<Core> {
    let mut words = line.split_ascii_whitespace();
    words.next()?.strip_prefix("cpu")?.parse::<u32>().ok()?;
    let mut next = || words.next().and_then(|word| word.parse().ok());
    Some(Core {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next().unwrap_or(0),
    })
}

/// The idle time in `/proc/timer_list` (kernel/time/timer_list.c), waiting for I/O included; `None` where the kernel
/// does not stop its tick, and so does not know it.
fn parse_idle(text: &str) -> Option<u64> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix('.')?.strip_prefix(name))?;
        line.trim_start().strip_prefix(':')?.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    (value("nohz_mode").or_else(|| value("nohz"))? > 0).then_some(())?; // its name until Linux 6.8, and since
    value("idle_sleeptime")?.checked_add(value("iowait_sleeptime")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_read_where_the_tick_stops() {
        let text =
            "cpu: 0\n  .nohz_mode      : 2\n  .idle_sleeptime : 2018540190 nsecs\n  .iowait_sleeptime: 10 nsecs\n";
        assert_eq!(parse_idle(text), Some(2_018_540_200));
        assert_eq!(parse_idle(&text.replace(": 2\n", ": 0\n")), None);
        assert_eq!(parse_idle("Timer List Version: v0.9\n"), None);
    }

    #[test]
    fn cores_are_read_and_the_sum_is_left_out() {
        let cores = parse_stat("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 0 0 0 0 0 0\nintr 5\n");
        assert_eq!(cores.len(), 2);
        assert_eq!(cores[0].softirq, 7);
        assert_eq!(cores[1].steal, 0);
    }
}

//! The resources that the processes of a device have used.

use std::collections::HashMap;
use std::fs;
use std::io;

use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// The value that makes `clear_refs` forget the peak of resident memory (proc_pid_clear_refs(5); Linux 4.0).
const FORGET_PEAK: &str = "5";

/// The resources of all processes together.
#[derive(Debug, Default)]
pub struct Usage {
    /// Their CPU time. That of those that have ended is in steps of the kernel's clock tick.
    pub cpu_ns: u64,
    /// The most that each had resident, added up.
    pub peak_memory_bytes: u64,
    /// Number of processes.
    pub processes: u64,
}

/// A process as /proc/PID/stat has it.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    parent: i32,
    /// CPU time of its children that have ended, theirs included.
    ended_ticks: u64,
}

/// Reads it. `holder`: the parent of the first process of the device's namespace, whose own time does not count.
pub fn read(holder: u32, reset_peak: bool) -> io::Result<Usage> {
    let ticks = sysconf(SysconfVar::CLK_TCK)?.and_then(|ticks| u64::try_from(ticks).ok()).unwrap_or(100);
    let ns_a_tick = 1_000_000_000 / ticks;
    let processes = all()?;
    let mut used = Usage::default();
    let mut parents: Vec<i32> = children(&processes, holder as i32);
    for &first in &parents {
        used.cpu_ns += processes[&first].ended_ticks * ns_a_tick;
    }
    while let Some(parent) = parents.pop() {
        for pid in children(&processes, parent) {
            // The time of a process that ends meanwhile is in its parent's.
            used.cpu_ns += running_ns(pid).unwrap_or(0) + processes[&pid].ended_ticks * ns_a_tick;
            used.peak_memory_bytes += peak_bytes(pid).unwrap_or(0);
            used.processes += 1;
            if reset_peak {
                // A kernel that refuses leaves the peak since the start.
                let _ = fs::write(format!("/proc/{pid}/clear_refs"), FORGET_PEAK);
            }
            parents.push(pid);
        }
    }
    Ok(used)
}

/// Kills the first process of the device's namespace, and so all of them. Their holder ends once they are gone.
pub fn end_namespace(holder: u32) {
    let first = all().map(|processes| children(&processes, holder as i32)).unwrap_or_default();
    // Where there is none yet, the holder ends with its child.
    for pid in if first.is_empty() { vec![holder as i32] } else { first } {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

fn children(processes: &HashMap<i32, Process>, parent: i32) -> Vec<i32> {
    processes.iter().filter(|(_, process)| process.parent == parent).map(|(&pid, _)| pid).collect()
}

fn all() -> io::Result<HashMap<i32, Process>> {
    let mut processes = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // Some processes end meanwhile.
        if let Some(process) = fs::read_to_string(format!("/proc/{pid}/stat")).ok().as_deref().and_then(parse) {
            processes.insert(pid, process);
        }
    }
    Ok(processes)
}

/// Reads proc_pid_stat(5). A process may have any name, brackets included.
fn parse(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Process { parent: fields.get(1)?.parse().ok()?, ended_ticks: number(16)? + number(17)? })
}

fn running_ns(pid: i32) -> Option<u64> {
    let clock: ClockId = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(u64::try_from(time.tv_sec()).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec()).ok()?)
}

fn peak_bytes(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let stat = "42 (a) S 1 (b) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 5 6 7";
        assert_eq!(parse(stat), Some(Process { parent: 7, ended_ticks: 70 }));
        assert_eq!(parse("42 (a) S"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let pid = std::process::id() as i32;
        assert!(running_ns(pid).expect("it runs") > 0);
        assert!(peak_bytes(pid).expect("it has memory") > 100_000);
        assert!(all().expect("there is /proc").contains_key(&pid));
    }
}

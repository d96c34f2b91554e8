//! Counting events of the whole machine: a group of two perf events on each CPU (`perf_event_open(2)`).
//!
//! Both events of a group are counted over exactly the same time, so that their quotient is meaningful. If a CPU has
//! fewer counters than all programs together ask of it, the kernel lets the events take turns. Then a count is scaled
//! by the time for which it was enabled over the time for which it ran, as the manual says.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;

use crate::sys::perf_event;
pub use crate::sys::perf_event::Event;

const PERF_TYPE_HARDWARE: u32 = 0;

/// Cycles of a CPU's clock while it is not halted (`PERF_COUNT_HW_CPU_CYCLES`).
pub const CYCLES: Event = Event { kind: PERF_TYPE_HARDWARE, config: 0 };
/// Instructions that were completed (`PERF_COUNT_HW_INSTRUCTIONS`).
pub const INSTRUCTIONS: Event = Event { kind: PERF_TYPE_HARDWARE, config: 1 };

/// Two events of one PMU, counted together. (Linux 6.18 reads 0 for the second where they are of two, such as a clock
/// and context switches.)
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// Its name in messages.
    pub name: &'static str,
    /// The two events.
    pub events: [Event; 2],
}

/// The events that show how much processor time a trial costs.
pub const CYCLES_AND_INSTRUCTIONS: Pair = Pair { name: "cycles and instructions", events: [CYCLES, INSTRUCTIONS] };

/// Counters that run. They end when this is dropped.
#[derive(Debug)]
pub struct PerfCounters {
    pair: Pair,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    cpu: u32,
    leader: OwnedFd,
    _second: OwnedFd,
}

/// Counts of one group since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    counts: [u64; 2],
    /// Time for which it was asked to count.
    enabled_ns: u64,
    /// Time for which it had counters.
    running_ns: u64,
}

/// Sums of the counts on all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// The count of each event, in the order of the pair; scaled where the counters took turns with others'.
    pub counts: [u64; 2],
    /// Sum of the times that the CPUs were asked to count.
    pub enabled_ns: u64,
    /// Sum of the times that they counted; less than `enabled_ns` where counters took turns, and the counts are
    /// estimates.
    pub running_ns: u64,
    /// Number of CPUs.
    pub cpus: usize,
}

/// The reason why nothing is counted.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {call} failed: {source}{}", Help(.help.as_deref()))]
pub struct Refusal {
    doing: String,
    /// The system call.
    pub call: &'static str,
    /// The system's words.
    pub source: io::Error,
    help: Option<String>,
}

struct Help<'a>(Option<&'a str>);

impl fmt::Display for Help<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl PerfCounters {
    /// Begins to count on every CPU that is online, for all processes, in user space and in the kernel.
    pub fn open(pair: Pair) -> Result<Self, Refusal> {
        let cpus = online_cpus().map_err(|source| Refusal {
            doing: format!("reading {ONLINE}, to count {}", pair.name),
            call: "read",
            source,
            help: None,
        })?;
        let groups = cpus.into_iter().map(|cpu| Group::open(pair, cpu)).collect::<Result<_, _>>()?;
        Ok(Self { pair, groups })
    }

    /// The counts since [`PerfCounters::open`].
    pub fn total(&self) -> Result<Total, Refusal> {
        let mut total = Total { counts: [0; 2], enabled_ns: 0, running_ns: 0, cpus: self.groups.len() };
        for group in &self.groups {
            let failed = |source| Refusal {
                doing: format!("reading the counters of {} on CPU {}", self.pair.name, group.cpu),
                call: "read",
                source,
                help: None,
            };
            let reading = group.read().map_err(failed)?;
            let scaled = reading.scaled().ok_or_else(|| {
                failed(io::Error::other(
                    "the counters never ran: other programs, or the NMI watchdog, use the CPU's counters",
                ))
            })?;
            for (sum, count) in total.counts.iter_mut().zip(scaled) {
                *sum = sum.saturating_add(count);
            }
            total.enabled_ns = total.enabled_ns.saturating_add(reading.enabled_ns);
            total.running_ns = total.running_ns.saturating_add(reading.running_ns);
        }
        Ok(total)
    }
}

const READING_BYTES: usize = 40;

impl Group {
    fn open(pair: Pair, cpu: u32) -> Result<Self, Refusal> {
        let refused = |source: io::Error| Refusal {
            doing: format!("counting {} on CPU {cpu}", pair.name),
            call: "perf_event_open",
            help: help(Errno::from_raw(source.raw_os_error().unwrap_or(0)), paranoid()),
            source,
        };
        let leader = perf_event::open(pair.events[0], cpu, None).map_err(refused)?;
        let second = perf_event::open(pair.events[1], cpu, Some(leader.as_fd())).map_err(refused)?;
        Ok(Self { cpu, leader, _second: second })
    }

    fn read(&self) -> io::Result<Reading> {
        let mut bytes = [0; READING_BYTES];
        let length = nix::unistd::read(&self.leader, &mut bytes)?;
        Reading::parse(&bytes[..length]).ok_or_else(|| io::Error::other("the CPU has gone offline meanwhile"))
    }
}

impl Reading {
    /// `struct read_format` of a group of two: how many, both times, both counts. None where it is another: the kernel
    /// has given the group up.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; READING_BYTES] = bytes.try_into().ok()?;
        let word = |index: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * index + byte]));
        (word(0) == 2).then(|| Self { counts: [word(3), word(4)], enabled_ns: word(1), running_ns: word(2) })
    }

    /// The counts, extrapolated to the whole time that they were asked for; None where the counters never ran.
    fn scaled(self) -> Option<[u64; 2]> {
        if self.running_ns == 0 {
            return None;
        }
        let scale = |count: u64| {
            let product = u128::from(count) * u128::from(self.enabled_ns);
            u64::try_from(product / u128::from(self.running_ns)).unwrap_or(u64::MAX)
        };
        Some(if self.running_ns < self.enabled_ns { self.counts.map(scale) } else { self.counts })
    }
}

const ONLINE: &str = "/sys/devices/system/cpu/online";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

fn online_cpus() -> io::Result<Vec<u32>> {
    parse_cpus(&fs::read_to_string(ONLINE)?).ok_or_else(|| io::Error::other("not a list of CPUs"))
}

/// More than any Linux has (`CONFIG_NR_CPUS`).
const MAX_CPUS: u32 = 1 << 16;

/// A list such as `0-3,8` (`cpulist` of the kernel's documentation).
fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if last >= MAX_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

fn paranoid() -> Option<i32> {
    fs::read_to_string(PARANOID).ok()?.trim().parse().ok()
}

/// The meaning of a refusal and its remedy, where they are known.
fn help(errno: Errno, paranoid: Option<i32>) -> Option<String> {
    Some(match errno {
        Errno::ENOENT | Errno::ENODEV | Errno::EOPNOTSUPP => {
            "the kernel has no hardware counters here, as in most virtual machines".to_owned()
        }
        Errno::EACCES | Errno::EPERM => {
            let now = paranoid.map_or_else(String::new, |level| format!(" (it is {level})"));
            format!(
                "counting on the whole machine needs root's CAP_PERFMON or the sysctl kernel.perf_event_paranoid at most \
                 0{now}, and a container that permits it"
            )
        }
        Errno::ENOSYS => "the kernel is built without perf events (CONFIG_PERF_EVENTS)".to_owned(),
        Errno::EBUSY => "another program uses the counters exclusively".to_owned(),
        Errno::EMFILE | Errno::ENFILE => {
            "counting needs two open files per CPU: raise the limit of open files".to_owned()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    const PERF_TYPE_SOFTWARE: u32 = 1;
    const CPU_CLOCK: Event = Event { kind: PERF_TYPE_SOFTWARE, config: 0 };
    const PAGE_FAULTS: Event = Event { kind: PERF_TYPE_SOFTWARE, config: 2 };
    const CONTEXT_SWITCHES: Event = Event { kind: PERF_TYPE_SOFTWARE, config: 3 };
    const NONE_SUCH: Event = Event { kind: PERF_TYPE_SOFTWARE, config: 999_999 };

    fn pair(events: [Event; 2]) -> Pair {
        Pair { name: "this and that", events }
    }

    fn reading(counts: [u64; 2], enabled_ns: u64, running_ns: u64) -> Reading {
        Reading { counts, enabled_ns, running_ns }
    }

    /// Opens the counters if this process may count the whole machine; else checks that the refusal says what helps.
    fn opened(pair: Pair) -> Option<PerfCounters> {
        match PerfCounters::open(pair) {
            Ok(counters) => Some(counters),
            Err(refusal) => {
                assert!(matches!(refusal.source.raw_os_error(), Some(libc::EACCES | libc::EPERM)), "{refusal}");
                assert!(refusal.to_string().contains("kernel.perf_event_paranoid"), "{refusal}");
                None
            }
        }
    }

    #[test]
    fn both_events_of_all_cpus_are_counted_until_they_are_read() {
        const SLEEPS: u64 = 20;
        // 64 MiB: up to 32 MiB, malloc may give memory again that another test has used (mallopt(3), M_MMAP_THRESHOLD).
        const PAGES: usize = 16_384;
        let Some(counters) = opened(pair([CONTEXT_SWITCHES, PAGE_FAULTS])) else { return };
        for _ in 0..SLEEPS {
            thread::sleep(Duration::from_micros(100));
        }
        let mut fresh = vec![0_u8; PAGES * 4096];
        fresh.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        let total = counters.total().unwrap();
        let [switches, faults] = std::hint::black_box((total.counts, fresh)).0;
        assert!(switches >= SLEEPS, "each sleep is a switch: {total:?}");
        assert!(faults > 0, "new memory comes by page faults: {total:?}");
        assert_eq!(total.running_ns, total.enabled_ns, "software events never take turns");
        assert_eq!(total.cpus, online_cpus().unwrap().len());
        let later = counters.total().unwrap();
        assert!(later.counts[0] >= switches && later.enabled_ns > total.enabled_ns, "{later:?}");
    }

    #[test]
    fn a_clock_counts_the_time_of_every_cpu() {
        let Some(counters) = opened(pair([CPU_CLOCK, CPU_CLOCK])) else { return };
        let before = counters.total().unwrap();
        let started = std::time::Instant::now();
        thread::sleep(Duration::from_millis(2));
        let slept_ns = started.elapsed().as_nanos() as u64;
        let after = counters.total().unwrap();
        for (before_ns, after_ns) in before.counts.into_iter().zip(after.counts) {
            assert!(after_ns - before_ns >= slept_ns / 2, "on every CPU: {before:?}, {after:?}");
        }
    }

    #[test]
    fn hardware_is_counted_or_the_refusal_says_why_not() {
        match PerfCounters::open(CYCLES_AND_INSTRUCTIONS) {
            Ok(counters) => match counters.total() {
                Ok(total) => assert!(total.counts.iter().all(|&count| count > 0), "{total:?}"),
                Err(refusal) => assert!(refusal.to_string().contains("the counters never ran"), "{refusal}"),
            },
            Err(refusal) => {
                let words = refusal.to_string();
                assert!(
                    words.starts_with("counting cycles and instructions on CPU ") && words.contains("; "),
                    "{words}"
                );
            }
        }
    }

    #[test]
    fn a_second_event_that_is_refused_refuses_the_pair() {
        let refusal = PerfCounters::open(pair([CPU_CLOCK, NONE_SUCH])).unwrap_err();
        assert_eq!(refusal.call, "perf_event_open");
        assert!(refusal.to_string().starts_with("counting this and that on CPU "), "{refusal}");
    }

    #[test]
    fn counts_are_scaled_by_the_time_without_counters() {
        assert_eq!(reading([10, 7], 100, 100).scaled(), Some([10, 7]));
        assert_eq!(reading([10, 7], 100, 25).scaled(), Some([40, 28]));
        assert_eq!(reading([1 << 62, 7], 3 << 40, 2 << 40).scaled(), Some([3 << 61, 10]), "no overflow on the way");
        assert_eq!(reading([0, 0], 100, 0).scaled(), None, "what never ran has no count");
        assert_eq!(reading([0, 0], 100, 100).scaled(), Some([0, 0]), "an idle CPU has");
    }

    #[test]
    fn a_group_is_read_as_the_kernel_writes_it() {
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(Reading::parse(&bytes(&[2, 30, 20, 5, 6])), Some(reading([5, 6], 30, 20)));
        assert_eq!(Reading::parse(&bytes(&[2, 30, 20, 5])), None);
        assert_eq!(Reading::parse(&bytes(&[1, 30, 20, 5, 6])), None);
        assert_eq!(Reading::parse(&bytes(&[2, 30, 20, 5, 6])[..39]), None);
        assert_eq!(Reading::parse(&[]), None, "the CPU went offline");
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_cpus("0\n"), Some(vec![0]));
        assert_eq!(parse_cpus("0-2,5,7-8\n"), Some(vec![0, 1, 2, 5, 7, 8]));
        for wrong in ["", "\n", "a", "0-", "0,,1", "0-4294967295"] {
            assert_eq!(parse_cpus(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn every_refusal_has_its_words() {
        let words = |errno, paranoid| help(errno, paranoid).unwrap_or_default();
        for errno in [Errno::ENOENT, Errno::ENODEV, Errno::EOPNOTSUPP] {
            assert!(words(errno, None).contains("no hardware counters here"), "{errno}");
        }
        for errno in [Errno::EACCES, Errno::EPERM] {
            assert!(words(errno, Some(2)).contains("kernel.perf_event_paranoid at most 0 (it is 2), and"), "{errno}");
            assert!(words(errno, None).contains("CAP_PERFMON or the sysctl kernel.perf_event_paranoid at most 0, and"));
        }
        assert!(words(Errno::ENOSYS, None).contains("CONFIG_PERF_EVENTS"));
        assert!(words(Errno::EBUSY, None).contains("another program"));
        assert!(words(Errno::EMFILE, None).contains("limit of open files"));
        assert_eq!(help(Errno::EINVAL, Some(2)), None);
    }

    #[test]
    fn a_refusal_is_one_sentence() {
        let refusal = |help| Refusal {
            doing: "counting this and that on CPU 3".to_owned(),
            call: "perf_event_open",
            source: Errno::ENOENT.into(),
            help,
        };
        let plain = "counting this and that on CPU 3: perf_event_open failed: No such file or directory (os error 2)";
        assert_eq!(refusal(None).to_string(), plain);
        assert_eq!(refusal(Some("so it is".to_owned())).to_string(), format!("{plain}; so it is"));
    }
}

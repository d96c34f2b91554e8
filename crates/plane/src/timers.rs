//! The lateness of timers of queueing disciplines: `bpf/timers.bpf.c`.

use std::fs::File;
use std::io::{self, BufReader};

use aya::include_bytes_aligned;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::tracepoints::{Programs, Tracepoints, refused};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/timers.bpf.o"));

const PROGRAMS: Programs =
    &[("expired", "hrtimer_expire_entry"), ("started", "hrtimer_start"), ("dequeued", "qdisc_dequeue")];
/// The watched events, as errors name them.
const WATCHING: &str = "the timers of queues";
/// The function of the timers that queueing disciplines set (net/sched/sch_api.c).
const WATCHDOG: &str = "qdisc_watchdog";
const KERNEL_SYMBOLS: &str = "/proc/kallsyms";

/// Most devices that can be watched: `MAX_DEVICES` in `bpf/timers.h`.
pub const MAX_DEVICES: usize = 4096;
const NAME_BYTES: usize = 16;

/// `struct timer_device`.
type RawDevice = [u8; 4 + NAME_BYTES];
/// `struct timer_count`: slack, expired, late, worst, lost.
type RawCount = [u64; 5];

/// A device whose timers are watched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its namespace.
    pub netns_inode: u32,
    /// Its name.
    #[serde(rename = "device")]
    pub name: String,
    /// Lateness that a timer may have without a loss of tokens.
    pub slack_ns: u64,
}

/// Counters of the timers of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// See [`Device`].
    pub netns_inode: u32,
    /// See [`Device`].
    pub device: String,
    /// Number of runs of a timer.
    pub expired: u64,
    /// Number of runs that were late by more than the slack.
    pub late: u64,
    /// The lateness of the latest run.
    pub worst_ns: u64,
    /// Sum of the lateness beyond the slack of all late runs.
    pub lost_ns: u64,
}

/// The programs, loaded, and watching while they are attached.
pub struct Timers(Tracepoints);

impl Timers {
    /// Loads the programs. Nothing is watched yet.
    pub fn load() -> Result<Self> {
        let symbols = File::open(KERNEL_SYMBOLS).map_err(|error| refused(WATCHING, &error))?;
        let watchdog = find_symbol(BufReader::new(symbols), WATCHDOG).map_err(|error| refused(WATCHING, &error))?;
        Tracepoints::load(WATCHING, OBJECT, ("WATCHDOG", &watchdog), PROGRAMS).map(Self)
    }

    /// Watches these devices from now on, and forgets earlier counts.
    pub fn start(&mut self, devices: &[Device]) -> Result<()> {
        self.0.detach();
        let unseen = devices.iter().map(|device| (key_of(device), [device.slack_ns, 0, 0, 0, 0]));
        self.0.replace::<RawDevice, RawCount>("DEVICES", unseen)?;
        self.0.attach()
    }

    /// Stops watching, and returns the counts of each device's timers.
    pub fn stop(&mut self) -> Result<Vec<Seen>> {
        self.0.detach();
        let watched = self.0.entries::<RawDevice, RawCount>("DEVICES")?;
        Ok(watched.iter().map(|(key, count)| seen(key, *count)).collect())
    }
}

/// The address of a function of the kernel, out of lines such as `ffffffff81a5d0c0 t qdisc_watchdog`.
fn find_symbol(lines: impl io::BufRead, name: &str) -> io::Result<u64> {
    for line in lines.lines() {
        let line = line?;
        let mut words = line.split_ascii_whitespace();
        if let (Some(address), Some(_), Some(found)) = (words.next(), words.next(), words.next()) {
            if found == name {
                // A process that may not know the kernel's addresses reads zeros.
                let address = u64::from_str_radix(address, 16).ok().filter(|&address| address != 0);
                return address.ok_or_else(|| io::Error::other(format!("{KERNEL_SYMBOLS} hides where {name} is")));
            }
        }
    }
    Err(io::Error::other(format!("{KERNEL_SYMBOLS} has no {name}")))
}

fn key_of(device: &Device) -> RawDevice {
    let mut key = [0; 4 + NAME_BYTES];
    key[..4].copy_from_slice(&device.netns_inode.to_ne_bytes());
    // A byte less than there is room for: the kernel ends names with a zero.
    for (place, byte) in key[4..3 + NAME_BYTES].iter_mut().zip(device.name.bytes()) {
        *place = byte;
    }
    key
}

fn seen(key: &RawDevice, [_, expired, late, worst_ns, lost_ns]: RawCount) -> Seen {
    let name = key[4..].split(|&byte| byte == 0).next().unwrap_or_default();
    Seen {
        netns_inode: u32::from_ne_bytes([key[0], key[1], key[2], key[3]]),
        device: String::from_utf8_lossy(name).into_owned(),
        expired,
        late,
        worst_ns,
        lost_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_found_or_why_not_is_told() {
        let text =
            "ffffffff81000000 T _stext\nffffffff81a5d0c0 t qdisc_watchdog\nffffffff81a5d100 t qdisc_watchdog_init\n";
        assert_eq!(find_symbol(text.as_bytes(), WATCHDOG).unwrap(), 0xffff_ffff_81a5_d0c0);
        let hidden = find_symbol("0000000000000000 t qdisc_watchdog\n".as_bytes(), WATCHDOG).unwrap_err();
        assert!(hidden.to_string().contains("hides where"), "{hidden}");
        let missing = find_symbol("nonsense\n".as_bytes(), WATCHDOG).unwrap_err();
        assert!(missing.to_string().contains("has no qdisc_watchdog"), "{missing}");
    }

    #[test]
    fn a_device_has_a_key_that_the_kernel_fills_alike() {
        let device = Device { netns_inode: 7, name: "h1r1".to_owned(), slack_ns: 5 };
        let key = key_of(&device);
        assert_eq!((&key[..4], &key[4..9], &key[9..]), (&7_u32.to_ne_bytes()[..], &b"h1r1\0"[..], &[0; 11][..]));
        let counts = seen(&key, [5, 4, 3, 2, 1]);
        assert_eq!(
            (counts.device.as_str(), counts.expired, counts.late, counts.worst_ns, counts.lost_ns),
            ("h1r1", 4, 3, 2, 1)
        );
        assert_eq!(key_of(&Device { name: "x".repeat(40), ..device })[19], 0);
    }
}

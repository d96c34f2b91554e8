//! `awake-start` and `awake`: processors that do not sleep, and how long each of them was busy.
//!
//! A processor of a virtual machine that sleeps is woken when its host has time, which takes up to milliseconds. A thread of the
//! idle class that spins keeps it awake, and yields to whoever else has work. It reads the clock all the time. Where two readings
//! are further apart than a round of its loop takes, the processor did something else: an interrupt, the network's work after it,
//! another thread. So the thread also measures how long its processor was busy, which the kernel only samples at each tick.
//!
//! To one the idle thread does not always yield. What remains to be done for the network after an interrupt or a system call, the
//! kernel leaves to a thread of its own (`ksoftirqd`), and to the scheduler this is in another group (sched(7), "The autogroup
//! feature"). Since Linux 6.12 an idle thread steps back as such only within its group, so that work waited for the next tick, with
//! it timers of queues. But whoever returns from the kernel's part for networks does that work first. So the spinner goes there
//! again and again.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::json;
use sixbench_measure::{clock, sys::scheduling};

use crate::failure::{Failure, Outcome};

/// Readings of the clock that are further apart had something between them. A round takes 30 to 80 ns, an interrupt 1000 or more.
const GAP_NS: u64 = 500;

/// How long the kernel's own work for networks waits behind a spinner at most.
const PENDING_EVERY_NS: u64 = 20_000;

/// While it is open, processors wake within the microseconds that were written to it (Documentation/power/pm_qos_interface of
/// Linux).
const LATENCY_DEVICE: &str = "/dev/cpu_dma_latency";

/// A request to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    processors: Vec<usize>,
    /// Whether nothing but this agent is in its session, which then gets the least share of the processors.
    #[serde(default)]
    is_alone: bool,
}

/// The processors that are kept awake, until this is dropped.
#[derive(Default)]
pub struct Awake {
    spinners: Vec<Spinner>,
    latency: Option<File>,
}

impl Awake {
    /// Keeps these processors awake from now on, and no others any more.
    pub fn start(&mut self, request: &Start) -> Outcome {
        self.spinners.clear();
        self.latency = without_latency();
        if request.is_alone {
            scheduling::give_session_least_share();
        }
        let started: Result<Vec<_>, _> = request.processors.iter().map(|&number| Spinner::start(number)).collect();
        self.spinners = started?;
        Ok(if self.latency.is_some() { json!({"latency_ns": 0}) } else { json!({}) })
    }

    /// How long each was busy with something else since then.
    pub fn read(&self) -> Outcome {
        let processors: Vec<_> = self
            .spinners
            .iter()
            .map(|spinner| json!({"processor": spinner.processor, "busy_ns": spinner.seen.busy_ns()}))
            .collect();
        Ok(json!({"clock_ns": clock::monotonic_ns(), "processors": processors}))
    }
}

/// Keeps the processors of a real machine out of deep sleep, where this may be asked for.
fn without_latency() -> Option<File> {
    let mut device = OpenOptions::new().write(true).open(LATENCY_DEVICE).ok()?;
    device.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(device)
}

struct Spinner {
    processor: usize,
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

/// What a spinner has seen so far. Only it writes.
#[derive(Default)]
struct Seen {
    is_over: AtomicBool,
    /// When it began.
    started_ns: AtomicU64,
    /// How long nothing else ran since then.
    idle_ns: AtomicU64,
}

impl Seen {
    /// How long something else has run on its processor so far.
    fn busy_ns(&self) -> u64 {
        let idle_ns = self.idle_ns.load(Ordering::Acquire);
        clock::monotonic_ns().saturating_sub(self.started_ns.load(Ordering::Acquire)).saturating_sub(idle_ns)
    }

    fn watch(&self, pending: &PendingWork) {
        let mut due_ns = 0;
        let mut last_ns = self.started_ns.load(Ordering::Acquire);
        let mut idle_ns = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
            if last_ns >= due_ns {
                pending.run();
                due_ns = last_ns + PENDING_EVERY_NS;
            }
            let now_ns = clock::monotonic_ns();
            let round_ns = now_ns - last_ns;
            if round_ns <= GAP_NS {
                idle_ns += round_ns;
                self.idle_ns.store(idle_ns, Ordering::Release);
            }
            last_ns = now_ns;
        }
    }
}

/// What the kernel still has to do for networks on the processor of the calling thread (softirqs).
struct PendingWork {
    /// Of UDP, without a port.
    socket: OwnedFd,
}

impl PendingWork {
    fn of_this_processor() -> Result<Self, Failure> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|error| Failure::system("making a socket that nobody uses", "socket", error))?;
        Ok(Self { socket })
    }

    /// Lets the kernel do it now. To say how much there is to read, it locks the socket's queue against softirqs, and does what is
    /// pending when it unlocks it.
    fn run(&self) {
        let mut readable: libc::c_int = 0;
        // SAFETY: the socket is open, and the kernel writes one integer.
        unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::FIONREAD, &raw mut readable) };
    }
}

impl Spinner {
    fn start(processor: usize) -> Result<Self, Failure> {
        let seen = Arc::new(Seen::default());
        let pending = PendingWork::of_this_processor()?;
        let (told, hears) = std::sync::mpsc::channel();
        let watching = Arc::clone(&seen);
        let work = move || {
            let refused = settle(processor).err();
            let is_ready = refused.is_none();
            watching.started_ns.store(clock::monotonic_ns(), Ordering::Release);
            // Whoever started it waits for this.
            let _ = told.send(refused);
            if is_ready {
                watching.watch(&pending);
            }
        };
        let thread = thread::Builder::new()
            .name(format!("awake-{processor}"))
            .spawn(work)
            .map_err(|error| Failure::system("starting a thread that keeps a processor awake", "clone", error))?;
        let spinner = Self { processor, seen, thread: Some(thread) };
        match hears.recv() {
            Ok(None) => Ok(spinner),
            Ok(Some(failure)) => Err(failure),
            Err(_) => Err(Failure::new("internal", "the thread that keeps a processor awake ended")),
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.seen.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its only end is this one.
            let _ = thread.join();
        }
    }
}

/// Puts the calling thread on a processor, behind all others that want it.
fn settle(processor: usize) -> Result<(), Failure> {
    let mut one = CpuSet::new();
    one.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &one)).map_err(|error| {
        Failure::system(format_args!("running on processor {processor}"), "sched_setaffinity", error)
    })?;
    scheduling::run_when_idle()
        .map_err(|error| Failure::system("running only where nobody else does", "sched_setscheduler", error))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use nix::time::{ClockId, clock_gettime};

    use super::*;

    /// A processor that this test may use.
    fn own_processor() -> usize {
        let allowed = nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap();
        (0..CpuSet::count()).find(|&one| allowed.is_set(one).unwrap()).unwrap()
    }

    fn busy_ns(awake: &Awake) -> u64 {
        awake.read().unwrap()["processors"][0]["busy_ns"].as_u64().unwrap()
    }

    #[test]
    fn work_on_the_processor_is_seen() {
        let processor = own_processor();
        let mut awake = Awake::default();
        awake.start(&Start { processors: vec![processor], is_alone: false }).unwrap();
        let worker = thread::spawn(move || {
            let mut one = CpuSet::new();
            one.set(processor).unwrap();
            sched_setaffinity(Pid::from_raw(0), &one).unwrap();
            let until = Instant::now() + Duration::from_millis(50);
            while Instant::now() < until {}
            Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap())
        });
        // Not all of the 50 ms: the scheduler may give the spinner, or another test, a tick of them.
        let worked = worker.join().unwrap();
        assert!(
            busy_ns(&awake) + 500_000 >= u64::try_from(worked.as_nanos()).unwrap(),
            "{} of {worked:?}",
            busy_ns(&awake)
        );
        assert!(worked > Duration::from_millis(1), "{worked:?}");
    }

    #[test]
    fn what_is_read_grows_no_faster_than_the_clock() {
        let mut awake = Awake::default();
        awake.start(&Start { processors: vec![own_processor()], is_alone: false }).unwrap();
        let (started_ns, first_ns) = (clock::monotonic_ns(), busy_ns(&awake));
        for _ in 0..1000 {
            let busy_ns = busy_ns(&awake);
            // Another reading of the clock by the spinner may lie between the two readings here.
            assert!(busy_ns <= first_ns + (clock::monotonic_ns() - started_ns) + GAP_NS);
        }
    }

    #[test]
    fn a_processor_that_is_not_there_is_told() {
        let mut awake = Awake::default();
        for processor in [CpuSet::count() - 1, CpuSet::count()] {
            let failure = awake.start(&Start { processors: vec![processor], is_alone: false }).unwrap_err();
            assert_eq!(failure.code, "system", "{}", failure.message);
            assert!(failure.message.starts_with(&format!("running on processor {processor}: ")), "{}", failure.message);
        }
        assert!(awake.spinners.is_empty());
    }
}

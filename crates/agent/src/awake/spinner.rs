//! `keep-awake`: the process whose threads spin, each on its processor.
//!
//! Each reads the clock all the time. Where two readings are further apart than a round of its loop takes, the
//! processor did something else: an interrupt, the network's work after it, another thread. So it also measures how
//! long its processor was busy, which the kernel only samples at each tick.
//!
//! Within its group a thread of the idle class yields at once. To others it yields as its group does since Linux 6.12,
//! which is by the group's share (sched(7), "The autogroup feature"). So these threads have a session of their own with
//! the least share. In the nodes' session they took a third of a processor from programs of other sessions, and where
//! two runs had some, other programs waited for up to 0.3 s.
//!
//! Even so, one thread of the kernel may wait. After an interrupt or a system call, the kernel leaves remaining work
//! for the network to a thread of its own (`ksoftirqd`), which then waited for the next tick, and timers of queues
//! waited with it. But a thread that returns from the kernel's network code does that work first. So a spinner calls it
//! again and again.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::Pid;
use serde_json::json;
use sixbench_measure::{clock, sys::scheduling};

use crate::error::{Code, Error};
use crate::sys::SharedCounters;

/// The command that the agent starts itself with as this process. Processors follow. Standard input is the memory that
/// both share.
pub const COMMAND: &str = "keep-awake";

/// Line printed once each processor is kept awake. Where that is not possible, the reason is printed instead, as JSON.
pub const READY: &str = "ready";

/// Readings of the clock that are further apart had something between them. A round takes 30 to 80 ns, an interrupt
/// 1000 or more.
const GAP_NS: u64 = 500;

/// Longest time, in nanoseconds, for which the kernel's own work for networks waits behind a spinner.
const PENDING_EVERY_NS: u64 = 20_000;

/// Interval, in nanoseconds, at which the scheduler is asked whether another thread is to run. The scheduler itself
/// looks only at each tick, so that where a spinner's small share of a busy processor was due, it had it in pieces of 4
/// ms.
const YIELDS_EVERY_NS: u64 = 200_000;

/// Runs as that process, until it is killed.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let number = |argument: OsString| argument.to_str().and_then(|text| text.parse().ok());
    let Some(processors) = arguments.into_iter().map(number).collect::<Option<Vec<usize>>>() else {
        return crate::complain("a processor has a number", 1);
    };
    scheduling::take_least_share();
    match spin(&processors) {
        Ok(never) => match never {},
        Err(failure) => {
            println!("{}", json!(failure));
            ExitCode::FAILURE
        }
    }
}

fn spin(processors: &[usize]) -> Result<Infallible, Error> {
    let counters = SharedCounters::of(io::stdin().as_fd(), Seen::COUNTERS * processors.len())
        .map_err(|error| Error::system("sharing memory with the agent", "mmap", error))?;
    // The memory is shared for as long as this process lives.
    let counters: &'static SharedCounters = Box::leak(Box::new(counters));
    for (&processor, seen) in processors.iter().zip(Seen::each(counters)) {
        let (started, hears) = mpsc::channel();
        thread::Builder::new()
            .name(format!("awake-{processor}"))
            .spawn(move || watch(processor, &seen, &started))
            .map_err(|error| Error::system("starting a thread that keeps a processor awake", "clone", error))?;
        hears.recv().map_err(|_| Error::new(Code::Internal, "the thread that keeps a processor awake ended"))??;
    }
    println!("{READY}");
    io::stdout().flush().map_err(|error| Error::system("telling the agent", "write", error))?;
    loop {
        thread::park();
    }
}

fn watch(processor: usize, seen: &Seen<'_>, started: &Sender<Result<(), Error>>) {
    match settle(processor).and_then(|()| PendingWork::of_this_processor()) {
        Ok(pending) => {
            seen.begin();
            // Whoever started it waits for this.
            let _ = started.send(Ok(()));
            seen.watch(&pending, || false);
        }
        Err(failure) => drop(started.send(Err(failure))),
    }
}

/// Observations of a spinner so far. Only the spinner writes them.
pub struct Seen<'a> {
    /// Time at which the spinner began.
    started_ns: &'a AtomicU64,
    /// Time for which nothing else ran since then.
    idle_ns: &'a AtomicU64,
}

impl<'a> Seen<'a> {
    /// Number of counters of one spinner. No other spinner's are in the same line of a processor's cache.
    pub const COUNTERS: usize = 16;

    /// The observations of all spinners.
    pub fn each(counters: &'a SharedCounters) -> impl Iterator<Item = Seen<'a>> {
        counters
            .all()
            .chunks_exact(Self::COUNTERS)
            .map(|counters| Self { started_ns: &counters[0], idle_ns: &counters[1] })
    }

    /// Time for which something else has run on its processor so far.
    pub fn busy_ns(&self) -> u64 {
        let idle_ns = self.idle_ns.load(Ordering::Acquire);
        clock::monotonic_ns().saturating_sub(self.started_ns.load(Ordering::Acquire)).saturating_sub(idle_ns)
    }

    fn begin(&self) {
        self.started_ns.store(clock::monotonic_ns(), Ordering::Release);
    }

    fn watch(&self, pending: &PendingWork, is_over: impl Fn() -> bool) {
        let (mut due_ns, mut yields_ns) = (0, 0);
        let mut last_ns = self.started_ns.load(Ordering::Acquire);
        let mut idle_ns = 0;
        while !is_over() {
            std::hint::spin_loop();
            if last_ns >= due_ns {
                pending.run();
                due_ns = last_ns + PENDING_EVERY_NS;
            }
            if last_ns >= yields_ns {
                thread::yield_now();
                yields_ns = last_ns + YIELDS_EVERY_NS;
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

/// The work that the kernel still has to do for networks on the processor of the calling thread (softirqs).
struct PendingWork {
    /// A socket of UDP, without a port.
    socket: OwnedFd,
}

impl PendingWork {
    fn of_this_processor() -> Result<Self, Error> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|error| Error::system("making an unused socket", "socket", error))?;
        Ok(Self { socket })
    }

    /// Lets the kernel do it now. To say how much there is to read, it locks the socket's queue against softirqs, and
    /// does what is pending when it unlocks it.
    fn run(&self) {
        let mut readable: libc::c_int = 0;
        // SAFETY: the socket is open, and the kernel writes one integer.
        unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::FIONREAD, &raw mut readable) };
    }
}

/// Puts the calling thread on a processor, behind all others that want it.
fn settle(processor: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(processor)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|error| Error::system(format_args!("running on processor {processor}"), "sched_setaffinity", error))?;
    scheduling::run_when_idle()
        .map_err(|error| Error::system("running on an idle processor", "sched_setscheduler", error))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use nix::time::{ClockId, clock_gettime};

    use super::*;

    /// A processor that this test may use.
    fn own_processor() -> usize {
        let allowed = nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap();
        (0..CpuSet::count()).find(|&core| allowed.is_set(core).unwrap()).unwrap()
    }

    /// Does `work` while a spinner is on that processor.
    fn beside_a_spinner(processor: usize, work: impl FnOnce(&Seen<'_>)) {
        let (_memory, counters) = SharedCounters::shared(Seen::COUNTERS).unwrap();
        let seen = Seen::each(&counters).next().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (started, hears) = mpsc::channel();
            let (seen, is_over) = (&seen, &is_over);
            scope.spawn(move || {
                settle(processor).unwrap();
                seen.begin();
                started.send(()).unwrap();
                seen.watch(&PendingWork::of_this_processor().unwrap(), || is_over.load(Ordering::Relaxed));
            });
            hears.recv().unwrap();
            work(seen);
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn work_on_the_processor_is_seen() {
        let processor = own_processor();
        beside_a_spinner(processor, |seen| {
            let worker = thread::spawn(move || {
                let mut set = CpuSet::new();
                set.set(processor).unwrap();
                sched_setaffinity(Pid::from_raw(0), &set).unwrap();
                let until = Instant::now() + Duration::from_millis(50);
                while Instant::now() < until {}
                Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap())
            });
            // The work may get less than all of the 50 ms: the scheduler may give the spinner, or another test, a tick
            // of them.
            let worked = worker.join().unwrap();
            let busy_ns = seen.busy_ns();
            assert!(busy_ns + 500_000 >= u64::try_from(worked.as_nanos()).unwrap(), "{busy_ns} of {worked:?}");
            assert!(worked > Duration::from_millis(1), "{worked:?}");
        });
    }

    #[test]
    fn what_is_read_grows_no_faster_than_the_clock() {
        beside_a_spinner(own_processor(), |seen| {
            let (started_ns, first_ns) = (clock::monotonic_ns(), seen.busy_ns());
            for _ in 0..1000 {
                let busy_ns = seen.busy_ns();
                // Another reading of the clock by the spinner may lie between the two readings here.
                assert!(busy_ns <= first_ns + (clock::monotonic_ns() - started_ns) + GAP_NS);
            }
        });
    }

    #[test]
    fn a_processor_that_is_not_there_is_told() {
        for processor in [CpuSet::count() - 1, CpuSet::count()] {
            let failure = thread::spawn(move || settle(processor)).join().unwrap().unwrap_err();
            assert_eq!(failure.code, Code::System, "{}", failure.message);
            assert!(failure.message.starts_with(&format!("running on processor {processor}: ")), "{}", failure.message);
        }
    }
}

//! A thread that must not wait for others.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::thread;
use std::time::Duration;

/// The least of the priorities of real time: ahead of every ordinary thread, behind whatever else is urgent.
const PRIORITY: libc::c_int = 1;

/// The least share that an ordinary thread can ask for.
const LEAST_NICE: i32 = 19;

/// A share that is ten times that of other threads.
const FIRST_NICE: i32 = -10;

/// Attempts to set a session's share, and the time between them.
const ATTEMPTS: u32 = 10;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(110);

/// The longest time that an ordinary thread can ask for at once.
const LONGEST_SLICE_NS: u64 = 100_000_000;

/// While it lives, the thread that made it is scheduled by `SCHED_FIFO` (sched(7)), where the kernel permits
/// (CAP_SYS_NICE): it runs when it wakes, whoever else has work. Threads that it starts are scheduled as before.
pub struct RealTime {
    before: Option<(libc::c_int, libc::sched_param)>,
    _in_this_thread: PhantomData<*const ()>,
}

impl RealTime {
    /// Asks for it.
    pub fn ask() -> Self {
        let before = current().filter(|_| set(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter(PRIORITY)));
        Self { before, _in_this_thread: PhantomData }
    }

    /// True if the kernel permitted it.
    pub fn is_granted(&self) -> bool {
        self.before.is_some()
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        if let Some((policy, parameter)) = &self.before {
            set(*policy, parameter);
        }
    }
}

/// From now on the calling thread runs only where nobody else wants the processor (`SCHED_IDLE`, sched(7)), and the
/// kernel counts its time as niced.
///
/// Since Linux 6.12 a thread of the idle class steps back as such only behind threads of its own group (a session's,
/// sched(7); a control group's). Those of other groups, the kernel's (`ksoftirqd`) among them, have their group's share
/// (`take_least_share`). When they wake, they take the processor at once in most cases if they ask for less time than
/// it does, and wait for the next tick otherwise. So it asks for the most, which it keeps in the idle class.
pub fn run_when_idle() -> io::Result<()> {
    if ask_slice(LEAST_NICE, LONGEST_SLICE_NS) && set(libc::SCHED_IDLE, &parameter(0)) {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// From now on the calling thread, and none that it starts, runs at once when another one on its processor wakes it,
/// where the kernel permits (CAP_SYS_NICE).
///
/// It is for a thread that answers another one. Of two ordinary threads the scheduler lets the one that was woken run
/// at once, or has it wait until it has some hundred answers to give, by what each has had so far (since Linux 6.6).
/// Either may last for as long as a trial. A connection took 20 or 27 us. A larger share decides it within a session
/// and not between two (sched(7), "The autogroup feature"), so it is asked for only where the policies of real time are
/// not to be had, as in a control group without time for them.
pub fn run_when_asked() {
    if !set(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter(PRIORITY)) {
        let _ = ask_slice(FIRST_NICE, 0);
    }
}

/// From now on the calling thread preempts no other thread when it is woken: it waits until that one waits, or its turn
/// is over (`SCHED_BATCH`, sched(7)). The processor that it is woken on may be its own and sleep, so that it runs at
/// once.
///
/// It is for a thread that reads what others send as fast as they can. It may run for each packet, or for a hundred of
/// them, and the scheduler decides that anew for each trial as in `run_when_asked`. Here a hundred are wanted: they
/// take least time.
pub fn run_in_turn() {
    set(libc::SCHED_BATCH, &parameter(0));
}

/// Has the calling thread scheduled as an ordinary one with this nice value, for that long at once (0: as long as
/// others). Returns true if the kernel permits it.
fn ask_slice(nice: i32, slice_ns: u64) -> bool {
    let asked = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: slice_ns,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads a struct of the size that is in it; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const asked, 0) == 0 }
}

/// Makes the calling process a session of its own with the least share of the processors (sched(7), "The autogroup
/// feature"). Threads of the idle class that are a session's only ones would have as much as any other session
/// otherwise. Where the process leads a session already, that one has the least share from now on. Where it leads only
/// a process group, and where the kernel makes no groups of sessions, nothing changes.
pub fn take_least_share() {
    // SAFETY: none of these calls takes a pointer; 0 is the calling process.
    let leads = unsafe { libc::setsid() >= 0 || libc::getsid(0) == libc::getpid() };
    if !leads {
        return;
    }
    for _ in 0..ATTEMPTS {
        match fs::write("/proc/self/autogroup", LEAST_NICE.to_string()) {
            // Users who are not root may ask for it ten times a second, all of them together.
            Err(refused) if refused.kind() == io::ErrorKind::WouldBlock => thread::sleep(BETWEEN_ATTEMPTS),
            _ => return,
        }
    }
}

fn parameter(priority: libc::c_int) -> libc::sched_param {
    // SAFETY: all bytes 0 is a valid value of this struct of integers.
    let mut parameter: libc::sched_param = unsafe { MaybeUninit::zeroed().assume_init() };
    parameter.sched_priority = priority;
    parameter
}

/// Policy and priority of the calling thread.
fn current() -> Option<(libc::c_int, libc::sched_param)> {
    let mut current = parameter(0);
    // SAFETY: 0 is the calling thread, and the kernel writes no more than the struct.
    let (policy, result) = unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, &raw mut current)) };
    (policy >= 0 && result == 0).then_some((policy, current))
}

/// Sets policy and priority of the calling thread. Returns true if the kernel permits it.
fn set(policy: libc::c_int, parameter: &libc::sched_param) -> bool {
    // SAFETY: 0 is the calling thread, and the kernel only reads the struct.
    unsafe { libc::sched_setscheduler(0, policy, parameter) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_as_long_as_it_lives() {
        let policy = || current().unwrap().0 & !libc::SCHED_RESET_ON_FORK;
        let before = policy();
        let real_time = RealTime::ask();
        assert_eq!(policy() == libc::SCHED_FIFO, real_time.is_granted());
        assert_eq!(std::thread::spawn(policy).join().unwrap(), before);
        drop(real_time);
        assert_eq!(policy(), before);
    }

    #[test]
    fn a_thread_that_answers_is_ahead_of_others_where_permitted() {
        let before = current().unwrap().0;
        let is_permitted = RealTime::ask().is_granted();
        let answering = || {
            run_when_asked();
            (current().unwrap().0, std::thread::spawn(|| current().unwrap().0).join().unwrap())
        };
        let (policy, started_by_it) = std::thread::spawn(answering).join().unwrap();
        assert_eq!(policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO, is_permitted);
        assert_eq!(started_by_it & !libc::SCHED_RESET_ON_FORK, before & !libc::SCHED_RESET_ON_FORK);
    }

    #[test]
    fn a_thread_can_wait_for_its_turn() {
        let in_turn = || {
            run_in_turn();
            current().unwrap().0
        };
        assert_eq!(std::thread::spawn(in_turn).join().unwrap(), libc::SCHED_BATCH);
    }

    /// The time that the calling thread asks for at once; 0 before Linux 6.12, which does not tell.
    fn slice_ns() -> u64 {
        // SAFETY: all bytes 0 is a valid value of this struct of integers.
        let mut asked: libc::sched_attr = unsafe { MaybeUninit::zeroed().assume_init() };
        let size = size_of::<libc::sched_attr>();
        // SAFETY: the kernel writes no more than the size that it is given; 0 is the calling thread.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut asked, size, 0) };
        assert_eq!(result, 0);
        asked.sched_runtime
    }

    #[test]
    fn a_thread_can_step_back_behind_all_others() {
        let stepped_back = || run_when_idle().map(|()| (current().unwrap().0, slice_ns()));
        let (policy, slice_ns) = std::thread::spawn(stepped_back).join().unwrap().unwrap();
        assert_eq!(policy, libc::SCHED_IDLE);
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        if (numbers.next(), numbers.next()) >= (Some(6), Some(12)) {
            assert_eq!(slice_ns, LONGEST_SLICE_NS);
        }
    }
}

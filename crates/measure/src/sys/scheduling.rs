//! A thread that must not wait for others.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use nix::unistd::setsid;

/// The least of the priorities of real time: ahead of every ordinary thread, behind whatever else is urgent.
const PRIORITY: libc::c_int = 1;

/// The least share that an ordinary thread can ask for.
const LEAST_NICE: libc::c_int = 19;

/// While it lives, the thread that made it is scheduled by `SCHED_FIFO` (sched(7)), where the kernel permits (CAP_SYS_NICE):
/// it runs when it wakes, whoever else has work. Threads that it starts are scheduled as before.
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

    /// Whether it was permitted.
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

/// From now on the calling thread runs only where nobody else wants the processor (`SCHED_IDLE`, sched(7)), and the kernel counts
/// its time as niced.
pub fn run_when_idle() -> io::Result<()> {
    // SAFETY: a plain call with numbers; 0 is the calling thread.
    let is_niced = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LEAST_NICE) } == 0;
    if is_niced && set(libc::SCHED_IDLE, &parameter(0)) { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes the calling process out of the groups of processes that share processors: of a control group (cgroups(7)) where that is
/// permitted, and of a session (sched(7), "The autogroup feature"). Its new group has the least share.
///
/// Since Linux 6.12 a thread of the idle class steps back only behind threads of its own group. Behind others, the kernel's among
/// them (`ksoftirqd`), its group does, as any does of that share. In a group with busy threads it keeps the kernel waiting until the
/// next tick. Where a group cannot be left, the process stays in it.
pub fn leave_groups() {
    if let Some(file) = root_of_processors(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default()) {
        let _ = fs::write(file, std::process::id().to_string());
    }
    // A leader of a session has a group of its own already, which its session shares.
    if setsid().is_ok() {
        let _ = fs::write("/proc/self/autogroup", LEAST_NICE.to_string());
    }
}

/// The file that takes processes into the root of the control groups that share processors, for a process that is in another. Of
/// both versions of control groups, by the text of `/proc/PID/cgroup`.
fn root_of_processors(cgroups: &str) -> Option<&'static str> {
    let is_elsewhere = |path: &str| path != "/";
    let of_version_1 = cgroups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|one| one == "cpu").then_some(path)
    });
    match of_version_1 {
        Some(path) => is_elsewhere(path).then_some("/sys/fs/cgroup/cpu/cgroup.procs"),
        None => cgroups
            .lines()
            .find_map(|line| line.strip_prefix("0::"))
            .filter(|path| is_elsewhere(path))
            .map(|_| "/sys/fs/cgroup/cgroup.procs"),
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

/// Of the calling thread.
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
    fn a_thread_can_step_back_behind_all_others() {
        let policy = std::thread::spawn(|| run_when_idle().map(|()| current().unwrap().0)).join().unwrap();
        assert_eq!(policy.unwrap(), libc::SCHED_IDLE);
    }

    #[test]
    fn the_root_of_control_groups_is_asked_of_those_elsewhere() {
        let version_1 = "5:memory:/one\n2:cpuacct,cpu:/one\n1:cpuset:/\n0::/\n";
        assert_eq!(root_of_processors(version_1), Some("/sys/fs/cgroup/cpu/cgroup.procs"));
        assert_eq!(root_of_processors("1:cpu:/\n0::/one\n"), None);
        assert_eq!(root_of_processors("0::/user.slice/one.scope\n"), Some("/sys/fs/cgroup/cgroup.procs"));
        assert_eq!(root_of_processors("0::/\n"), None);
        assert_eq!(root_of_processors("1:cpuset:/one\n"), None);
        assert_eq!(root_of_processors(""), None);
    }
}

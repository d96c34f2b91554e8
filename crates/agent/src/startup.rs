//! Preparations, once, before the first request and before any thread exists.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::args::Options;
use crate::lending::{Keeper, Lent};
use crate::sys;

/// Ties this process to its parent and, unless it is to stay here, gives it a network namespace, with the interfaces
/// that it borrows. The error is for the user.
pub fn prepare(options: &Options) -> Result<Option<Lent>, String> {
    let parent = getppid();
    set_pdeathsig(Signal::SIGKILL)
        .map_err(|errno| format!("asking to end with the parent process: prctl(PR_SET_PDEATHSIG) failed: {errno}"))?;
    if getppid() != parent {
        return Err("the parent process ended before the agent could be tied to it".to_owned());
    }
    // Ctrl-C in a terminal goes to the orchestrator and to its agents alike; what is to end, the orchestrator decides.
    sys::ignore_interrupts().map_err(|error| format!("ignoring SIGINT: sigaction failed: {error}"))?;
    if options.here {
        return Ok(None);
    }
    let keeper = if options.borrow.interfaces.is_empty() { None } else { Some(Keeper::start(&options.borrow)?) };
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| {
        let remedy = match errno {
            Errno::EPERM => "; run it as root, or with CAP_SYS_ADMIN",
            Errno::EINVAL => "; the kernel needs CONFIG_NET_NS",
            Errno::ENOSPC => "; the limit in /proc/sys/user/max_net_namespaces is reached",
            _ => "",
        };
        format!("making a network namespace for node {}: unshare(CLONE_NEWNET) failed: {errno}{remedy}", options.name)
    })?;
    let Some(mut keeper) = keeper else { return Ok(None) };
    keeper.take()?;
    Ok(Some(keeper.watched()))
}

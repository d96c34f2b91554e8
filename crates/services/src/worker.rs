//! A thread that works until it is stopped, and the functions by which it waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::unistd::pipe2;

use crate::{Error, Result};

/// A thread that ends when this is dropped.
#[derive(Debug)]
pub struct Worker {
    /// Closed to stop the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// The thread's side: hangs up once it is to stop.
#[derive(Debug)]
pub struct Stop(OwnedFd);

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The reason why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The descriptor has something.
    Ready,
    /// The thread is to stop.
    Stopped,
    /// The time is over.
    Late,
}

impl Worker {
    /// Starts a thread, in the network namespace of this one.
    pub fn start(name: &'static str, work: impl FnOnce(Stop) + Send + 'static) -> Result<Self> {
        let failed = |call, error: io::Error| Error::system(format!("starting the thread {name}"), call, error);
        let (stopped, stop) = pipe2(OFlag::O_CLOEXEC).map_err(|errno| failed("pipe2", errno.into()))?;
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(Stop(stopped)))
            .map_err(|error| failed("clone", error))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic was printed when it happened; what the thread held is gone.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Waits for one of: `events` on the descriptor, the order to stop, the deadline.
pub fn wait(
    ready: Option<(BorrowedFd<'_>, PollFlags)>,
    stop: Option<&Stop>,
    deadline: Option<Instant>,
) -> io::Result<Woken> {
    wait_any(ready.as_slice(), stop, deadline).map(|(woken, _)| woken)
}

/// Waits until there is something to read; `false` once the thread is to stop.
pub fn is_readable(socket: &impl AsFd, stop: &Stop) -> bool {
    matches!(wait(Some((socket.as_fd(), PollFlags::POLLIN)), Some(stop), None), Ok(Woken::Ready))
}

/// Waits for one of: the events of one of the descriptors, the order to stop, the deadline. Also returns for each
/// descriptor whether it is ready.
pub fn wait_any(
    ready: &[(BorrowedFd<'_>, PollFlags)],
    stop: Option<&Stop>,
    deadline: Option<Instant>,
) -> io::Result<(Woken, Vec<bool>)> {
    loop {
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(ready.len() + 1);
        polled.extend(ready.iter().map(|&(fd, events)| PollFd::new(fd, events)));
        polled.extend(stop.map(|stop| PollFd::new(stop.0.as_fd(), PollFlags::POLLIN)));
        let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let woken = match ppoll(&mut polled, timeout.map(TimeSpec::from), None) {
            Ok(0) => Woken::Late,
            Ok(_) => {
                let is_stopped = polled.get(ready.len()).is_some_and(|stop| stop.any() == Some(true));
                if is_stopped { Woken::Stopped } else { Woken::Ready }
            }
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let are_ready = polled[..ready.len()].iter().map(|one| one.any() == Some(true)).collect();
        return Ok((woken, are_ready));
    }
}

/// The moment `after` from now; `None` where that is beyond the range of the clock: never.
pub fn deadline(after: Duration) -> Option<Instant> {
    Instant::now().checked_add(after)
}

/// Locks what a thread that panicked may have left: counts and tables, which are whole after each statement.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

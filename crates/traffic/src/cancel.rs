//! The end of a session before its time, wherever it comes from: [`Cancel`] is raised by those who ask for the session,
//! [`Stop`] also by a side of it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use sixbench_measure::clock;

use crate::Result;
use crate::error::cancelled;

/// Blocking calls return at least this often, to see whether the session was stopped.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// A flag that another thread may raise to end a session early. Blocking calls must be cut into pieces of at most
/// [`PATIENCE`] (socket timeouts, poll, a thread that interrupts them) between which it is checked. Tasks wait for
/// [`Cancel::raised`], which wakes them.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Default)]
struct Flag {
    is_raised: AtomicBool,
    /// The tasks that wait for it. A session has a few at most, and those that have ended stay until it does.
    waiting: Mutex<Vec<Waker>>,
}

impl Flag {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cancel {
    /// Raises the flag, and wakes the tasks that wait for it.
    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Relaxed);
        let waiting = std::mem::take(&mut *self.0.waiting());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// True if the flag is raised.
    pub fn is_raised(&self) -> bool {
        self.0.is_raised.load(Ordering::Relaxed)
    }

    /// Waits until the flag is raised, in any runtime.
    pub async fn raised(&self) {
        poll_fn(|context| {
            let mut waiting = self.0.waiting();
            // The lock orders this look and `raise`: either it sees the flag, or `raise` sees the waker.
            if self.is_raised() {
                return Poll::Ready(());
            }
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// `Err(Cancelled)` once the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_raised() { Err(cancelled()) } else { Ok(()) }
    }
}

/// Raised when the session is cancelled from outside, or when this side of it ends (server dropped, one stream failed).
#[derive(Clone)]
pub struct Stop {
    cancel: Cancel,
    ended: Cancel,
}

impl Stop {
    /// A stop of our own on top of the session's cancel.
    pub fn new(cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ended: Cancel::default() }
    }

    /// Raises our own flag; the session's cancel stays as it is.
    pub fn raise(&self) {
        self.ended.raise();
    }

    /// True if either is raised.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.ended.is_raised() || self.cancel.is_raised()
    }

    /// `Err(Cancelled)` once either is raised.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.ended.check()?;
        self.cancel.check()
    }

    /// Sleeps until a time on the monotonic clock, unless either is raised.
    pub fn sleep_until(&self, until_ns: u64) -> Result<()> {
        loop {
            self.check()?;
            let now_ns = clock::monotonic_ns();
            if now_ns >= until_ns {
                return Ok(());
            }
            clock::sleep_until(until_ns.min(now_ns.saturating_add(PATIENCE.as_nanos() as u64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Wake};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn tasks_that_wait_are_woken_once() {
        let (cancel, woken) = (Cancel::default(), Arc::new(Woken::default()));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut raised = pin!(cancel.raised());
        for _ in 0..2 {
            assert!(raised.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        cancel.clone().raise();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(raised.poll(&mut context).is_ready());
        assert!(pin!(cancel.raised()).poll(&mut context).is_ready());
    }
}

//! The end of a session before its time, wherever it comes from: [`Cancel`] is raised by those who ask for the session,
//! [`Stop`] also by a side of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sixbench_measure::clock;

use crate::Result;
use crate::error::cancelled;

/// Blocking calls return at least this often, to see whether the session was stopped.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// A flag that another thread may raise to end a session early. Blocking calls must be cut into pieces of at most
/// [`PATIENCE`] (socket timeouts, poll, a thread that interrupts them) between which it is checked.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the flag is raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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

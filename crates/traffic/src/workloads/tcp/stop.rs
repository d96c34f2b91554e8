//! The end of a session, wherever it comes from.

use sixbench_measure::clock;

use super::PATIENCE;
use crate::{Cancel, Result};

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

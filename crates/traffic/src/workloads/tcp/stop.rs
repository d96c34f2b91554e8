//! The end of a session, wherever it comes from.

use crate::{Cancel, Result};

/// Raised when the session is cancelled from outside, or when this side of it ends (server dropped, one stream failed).
#[derive(Clone)]
pub struct Stop {
    cancel: Cancel,
    own: Cancel,
}

impl Stop {
    /// A stop of our own on top of the session's cancel.
    pub fn new(cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), own: Cancel::default() }
    }

    /// Raises our own flag; the session's cancel stays as it is.
    pub fn raise(&self) {
        self.own.raise();
    }

    /// Whether either is raised.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.own.is_raised() || self.cancel.is_raised()
    }

    /// `Err(Cancelled)` once either is raised.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.own.check()?;
        self.cancel.check()
    }
}

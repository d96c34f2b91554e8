//! Datagrams that could not be sent.

use std::collections::BTreeMap;

use nix::errno::Errno;

use crate::Result;
use crate::error::timeout;
use crate::params::SECOND_NS;

/// Time after which the run has failed if nothing at all could be sent.
const NO_PROGRESS_NS: u64 = 10 * SECOND_NS;

/// Failures of sending, by the name of the error. Pure: callers pass the time.
#[derive(Debug, Default)]
pub struct SendFailures {
    counts: BTreeMap<String, u64>,
    since_ns: Option<u64>,
}

impl SendFailures {
    /// Notes a failure; fails with `timeout` where there was nothing else for too long. Returns true if it counts:
    /// having no room yet, or being interrupted, is no failure but a reason to try again.
    pub fn note(&mut self, errno: Errno, now_ns: u64, doing: &str) -> Result<bool> {
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        let after_ns = now_ns.saturating_sub(since_ns);
        if after_ns >= NO_PROGRESS_NS {
            return Err(timeout(format!("{doing} (the last error was {errno:?})"), after_ns));
        }
        let counts = !matches!(errno, Errno::EAGAIN | Errno::EINTR);
        if counts {
            *self.counts.entry(format!("{errno:?}")).or_default() += 1;
        }
        Ok(counts)
    }

    /// Notes that something was sent.
    #[inline]
    pub fn end(&mut self) {
        self.since_ns = None;
    }

    /// Starts the count again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// `send_errors` of the results.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_name_until_they_last_too_long() {
        let mut failures = SendFailures::default();
        assert!(failures.note(Errno::ENOBUFS, 0, "sending").unwrap());
        failures.end();
        assert!(failures.note(Errno::ECONNREFUSED, 5 * SECOND_NS, "sending").unwrap());
        assert!(!failures.note(Errno::EAGAIN, 14 * SECOND_NS, "sending").unwrap());
        let counts = [("ENOBUFS".to_owned(), 1), ("ECONNREFUSED".to_owned(), 1)];
        assert_eq!(*failures.counts(), counts.into());
        let error = failures.note(Errno::ENOBUFS, 15 * SECOND_NS, "sending").unwrap_err();
        assert_eq!(error.to_string(), "sending (the last error was ENOBUFS): nothing after 10000 ms");
    }
}

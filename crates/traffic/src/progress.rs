//! How far a session is, for whoever asks while it is at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has arrived in the measured window so far, over all flows of a session's end. Each value is a recent one by itself.
#[derive(Clone, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// On the monotonic clock; 0 before.
    first_ns: AtomicU64,
    bytes: AtomicU64,
}

/// What has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// When the first of it came, on the monotonic clock.
    pub first_ns: u64,
    /// Payload.
    pub bytes: u64,
}

impl Progress {
    /// Counts payload that came now.
    #[inline]
    pub fn add(&self, now_ns: u64, bytes: u64) {
        if self.0.bytes.fetch_add(bytes, Ordering::Relaxed) == 0 {
            self.0.first_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// What has arrived, if anything.
    pub fn arrived(&self) -> Option<Arrived> {
        let first_ns = self.0.first_ns.load(Ordering::Relaxed);
        (first_ns != 0).then(|| Arrived { first_ns, bytes: self.0.bytes.load(Ordering::Relaxed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_is_added_up_from_the_first_time_on_and_seen_by_all() {
        let progress = Progress::default();
        assert_eq!(progress.arrived(), None);
        let other = progress.clone();
        other.add(5, 100);
        other.add(9, 20);
        assert_eq!(progress.arrived(), Some(Arrived { first_ns: 5, bytes: 120 }));
    }
}

//! Progress of a session, for requests while it is at work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Counts of the measured window so far, over all flows of a session's end, and the state of its senders. Each value is
/// a recent one by itself.
#[derive(Clone, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// Time of the first arrival on the monotonic clock; 0 before.
    first_ns: AtomicU64,
    bytes: AtomicU64,
    datagrams: Mutex<Option<Datagrams>>,
    sending: Mutex<Option<Sending>>,
}

/// Counts of a flow's datagrams so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Datagrams {
    /// Datagrams that came, each counted once.
    pub unique: u64,
    /// Datagrams that have not come, though a later one has.
    pub lost_middle: u64,
    /// The interarrival jitter as it is now (RFC 3550 section 6.4.1); absent before the second datagram.
    #[serde(rename = "jitter_rfc3550_ns", skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<f64>,
}

/// State of TCP senders, by one sample of `TCP_INFO`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Sending {
    /// Time of the sample, since the measured window opened.
    pub t_ns: u64,
    /// The smoothed round-trip time, a mean over the streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<u64>,
    /// The congestion window, a mean over the streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_packets: Option<f64>,
    /// Retransmits over all streams, since the window opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
}

/// Payload that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Arrived {
    /// Time of the first arrival, on the monotonic clock.
    pub first_ns: u64,
    /// Payload.
    #[serde(rename = "received_bytes")]
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

    /// The payload that has arrived, if any.
    pub fn arrived(&self) -> Option<Arrived> {
        let first_ns = self.0.first_ns.load(Ordering::Relaxed);
        (first_ns != 0).then(|| Arrived { first_ns, bytes: self.0.bytes.load(Ordering::Relaxed) })
    }

    /// Notes how many datagrams of the flow came.
    pub fn note_datagrams(&self, datagrams: Datagrams) {
        *lock(&self.0.datagrams) = Some(datagrams);
    }

    /// Notes a sample of senders.
    pub fn note_sending(&self, sending: Sending) {
        *lock(&self.0.sending) = Some(sending);
    }

    /// All values so far.
    pub fn tally(&self) -> ProgressTally {
        ProgressTally { arrived: self.arrived(), datagrams: *lock(&self.0.datagrams), sending: *lock(&self.0.sending) }
    }
}

/// The progress of a session, by the names of the answer to `progress` (docs/protocol.md). Unknown values are absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProgressTally {
    #[serde(flatten)]
    arrived: Option<Arrived>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datagrams: Option<Datagrams>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sending: Option<Sending>,
}

fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[test]
    fn what_was_noted_last_is_told_to_all_and_what_is_not_known_is_absent() {
        let progress = Progress::default();
        assert_eq!(json!(progress.tally()), json!({}));
        let other = progress.clone();
        other.add(5, 100);
        other.note_datagrams(Datagrams { unique: 1, lost_middle: 0, jitter_ns: None });
        assert_eq!(json!(progress.tally())["datagrams"], json!({"unique": 1, "lost_middle": 0}));
        other.note_datagrams(Datagrams { unique: 5, lost_middle: 1, jitter_ns: Some(0.5) });
        other.note_sending(Sending { t_ns: 1, rtt_ns: Some(6), ..Sending::default() });
        other.note_sending(Sending { t_ns: 2, cwnd_packets: Some(10.5), retransmits: Some(0), ..Sending::default() });
        let expected = json!({
            "first_ns": 5,
            "received_bytes": 100,
            "datagrams": {"unique": 5, "lost_middle": 1, "jitter_rfc3550_ns": 0.5},
            "sending": {"t_ns": 2, "cwnd_packets": 10.5, "retransmits": 0},
        });
        assert_eq!(json!(progress.tally()), expected);
    }
}

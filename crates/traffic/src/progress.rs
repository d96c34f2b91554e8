//! Progress of a session, for requests while it is at work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datagrams {
    /// Datagrams that came, each counted once.
    pub unique: u64,
    /// Datagrams that have not come, though a later one has.
    pub lost_middle: u64,
    /// The interarrival jitter as it is now (RFC 3550 section 6.4.1); absent before the second datagram.
    pub jitter_ns: Option<f64>,
}

/// State of TCP senders, by one sample of `TCP_INFO`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sending {
    /// Time of the sample, since the measured window opened.
    pub t_ns: u64,
    /// The smoothed round-trip time, a mean over the streams.
    pub rtt_ns: Option<u64>,
    /// The congestion window, a mean over the streams.
    pub cwnd_packets: Option<f64>,
    /// Retransmits over all streams, since the window opened.
    pub retransmits: Option<u64>,
}

/// Payload that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Time of the first arrival, on the monotonic clock.
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

    /// All values in the form of the answer to `progress` (docs/protocol.md). Unknown ones are absent.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut answer = Map::new();
        if let Some(Arrived { first_ns, bytes }) = self.arrived() {
            answer.insert("first_ns".into(), json!(first_ns));
            answer.insert("received_bytes".into(), json!(bytes));
        }
        let datagrams = *lock(&self.0.datagrams);
        if let Some(Datagrams { unique, lost_middle, jitter_ns }) = datagrams {
            let mut counts = json!({"unique": unique, "lost_middle": lost_middle});
            if let Some(jitter_ns) = jitter_ns {
                counts["jitter_rfc3550_ns"] = jitter_ns.into();
            }
            answer.insert("datagrams".into(), counts);
        }
        let sending = *lock(&self.0.sending);
        if let Some(Sending { t_ns, rtt_ns, cwnd_packets, retransmits }) = sending {
            let values = [
                ("t_ns", Some(json!(t_ns))),
                ("rtt_ns", rtt_ns.map(Value::from)),
                ("cwnd_packets", cwnd_packets.map(Value::from)),
                ("retransmits", retransmits.map(Value::from)),
            ];
            let known = values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            answer.insert("sending".into(), Value::Object(known.collect()));
        }
        answer
    }
}

fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn what_was_noted_last_is_told_to_all_and_what_is_not_known_is_absent() {
        let progress = Progress::default();
        assert_eq!(progress.to_json(), Map::new());
        let other = progress.clone();
        other.add(5, 100);
        other.note_datagrams(Datagrams { unique: 1, lost_middle: 0, jitter_ns: None });
        assert_eq!(progress.to_json()["datagrams"], json!({"unique": 1, "lost_middle": 0}));
        other.note_datagrams(Datagrams { unique: 5, lost_middle: 1, jitter_ns: Some(0.5) });
        other.note_sending(Sending { t_ns: 1, rtt_ns: Some(6), ..Sending::default() });
        other.note_sending(Sending { t_ns: 2, cwnd_packets: Some(10.5), retransmits: Some(0), ..Sending::default() });
        let expected = json!({
            "first_ns": 5,
            "received_bytes": 100,
            "datagrams": {"unique": 5, "lost_middle": 1, "jitter_rfc3550_ns": 0.5},
            "sending": {"t_ns": 2, "cwnd_packets": 10.5, "retransmits": 0},
        });
        assert_eq!(Value::Object(progress.to_json()), expected);
    }
}

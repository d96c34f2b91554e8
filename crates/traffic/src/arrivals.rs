//! What came of a measured flow: which datagrams or frames, when, and how long they took. Pure.

use serde_json::{Map, Value, json};
use sixbench_measure::delay::Delays;

use crate::ledger::Ledger;
use crate::progress::Datagrams;
use crate::series::Series;

/// The arrivals of a flow, with times of the realtime clock.
pub struct Arrivals {
    /// Of all numbers that came. The first arrival of one is to be recorded too.
    pub ledger: Ledger,
    delays: Delays,
    /// Payload of what came, each once.
    unique_bytes: u64,
    window: Option<Window>,
    series: Series<Interval>,
    /// What the series says of the numbers that are missing.
    told_missing: u64,
}

/// From the first arrival to the last.
#[derive(Clone, Copy)]
struct Window {
    first_ns: u64,
    last_ns: u64,
    /// Payload of the first arrival.
    first_bytes: u64,
}

/// What a datagram or a frame was to the account of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The first of the measured flow, received at that time of the realtime clock.
    First(u64),
    /// Another one of the trial.
    Other,
    /// None of the trial.
    Stray,
}

#[derive(Clone, Copy, Default)]
struct Interval {
    datagrams: u64,
    bytes: u64,
    lost_middle: i64,
}

impl Arrivals {
    /// None yet, of a flow of at most `most`.
    pub fn new(most: u64, interval_ns: u64) -> Self {
        Self {
            ledger: Ledger::new(most),
            delays: Delays::default(),
            unique_bytes: 0,
            window: None,
            series: Series::new(interval_ns),
            told_missing: 0,
        }
    }

    /// Records the first arrival of a number, with that payload.
    pub fn record(&mut self, sequence: u64, sent_ns: u64, received_ns: u64, bytes: u64) -> Entry {
        self.delays.record(sequence, sent_ns, received_ns);
        self.unique_bytes += bytes;
        let is_first = self.window.is_none();
        let first = Window { first_ns: received_ns, last_ns: received_ns, first_bytes: bytes };
        let window = self.window.get_or_insert(first);
        window.last_ns = window.last_ns.max(received_ns);
        let interval = self.series.at(received_ns.saturating_sub(window.first_ns));
        let missing = self.ledger.lost_middle();
        interval.datagrams += 1;
        interval.bytes += bytes;
        interval.lost_middle += missing as i64 - self.told_missing as i64;
        self.told_missing = missing;
        if is_first { Entry::First(received_ns) } else { Entry::Other }
    }

    /// What is told of them while the flow goes on.
    pub fn datagrams(&self) -> Datagrams {
        Datagrams {
            unique: self.ledger.unique(),
            lost_middle: self.ledger.lost_middle(),
            jitter_ns: self.delays.jitter_ns(),
        }
    }

    /// Whether all of so many came.
    pub fn has_all(&self, sent: u64) -> bool {
        self.ledger.unique() >= sent
    }

    /// Payload of what came, each once.
    pub fn unique_bytes(&self) -> u64 {
        self.unique_bytes
    }

    /// From the first arrival to the last.
    pub fn measured_ns(&self) -> u64 {
        self.window.map_or(0, |window| window.last_ns - window.first_ns)
    }

    /// Adds the keys of the protocol document to a result. `sent`: how many the other side says that it sent.
    pub fn write_to(&self, result: &mut Map<String, Value>, sent: Option<u64>) {
        let ledger = &self.ledger;
        let measured_ns = self.measured_ns();
        let counts = [
            ("received", Some(ledger.received())),
            ("unique", Some(ledger.unique())),
            ("duplicates", Some(ledger.duplicates())),
            ("reordered", Some(ledger.reordered())),
            ("lost_middle", Some(ledger.lost_middle())),
            ("highest_sequence", ledger.highest_sequence()),
            ("lost_tail", sent.and_then(|sent| ledger.lost_tail(sent))),
            ("unique_bytes", Some(self.unique_bytes)),
            ("measured_bytes", self.window.map(|window| self.unique_bytes - window.first_bytes)),
            ("measured_ns", self.window.map(|_| measured_ns)),
        ];
        result.extend(counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?.into()))));
        let sequences = json!({
            "lost": ledger.lost_sequences(sent).to_json(),
            "duplicate": ledger.duplicate_sequences().to_json(),
            "reordered": ledger.reordered_sequences().to_json(),
        });
        result.insert("sequences".into(), sequences);
        let mut series = self.series.clone();
        series.close(measured_ns);
        let series = json!({
            "t_ns": series.ends_ns(measured_ns),
            "datagrams": series.column(|interval| interval.datagrams),
            "bytes": series.column(|interval| interval.bytes),
            "lost_middle": series.column(|interval| interval.lost_middle),
        });
        result.insert("series".into(), series);
        self.delays.write_to(result);
    }
}

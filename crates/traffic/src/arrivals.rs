//! The arrivals of a measured flow: the datagrams or frames that arrived, their times and their delays. Pure.

use serde_json::{Map, Value, json};
use sixbench_measure::delay::Delays;

use crate::ledger::Ledger;
use crate::progress::Datagrams;
use crate::series::Series;

/// The arrivals of a flow, with times of the realtime clock.
pub struct Arrivals {
    /// Numbers that have arrived. The first arrival of a number must also be passed to `record`.
    pub ledger: Ledger,
    delays: Delays,
    /// Payload of all arrivals, each counted once.
    unique_bytes: u64,
    window: Option<Window>,
    series: Series<Interval>,
    /// Count of missing numbers at the last arrival: each interval of the series counts the change.
    told_missing: u64,
}

/// The time from the first arrival to the last.
#[derive(Clone, Copy)]
struct Window {
    first_ns: u64,
    last_ns: u64,
    /// Payload of the first arrival.
    first_bytes: u64,
}

/// The kind of an arrival in the account of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The first arrival of the measured flow, received at that time of the realtime clock.
    First(u64),
    /// Another datagram or frame of the trial.
    Other,
    /// A datagram or frame that is not of the trial.
    Stray,
}

#[derive(Clone, Copy, Default)]
struct Interval {
    datagrams: u64,
    bytes: u64,
    lost_middle: i64,
}

impl Arrivals {
    /// Arrivals of a flow of at most `most` datagrams or frames, none so far.
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

    /// The counts that are reported while the flow goes on.
    pub fn datagrams(&self) -> Datagrams {
        Datagrams {
            unique: self.ledger.unique(),
            lost_middle: self.ledger.lost_middle(),
            jitter_ns: self.delays.jitter_ns(),
        }
    }

    /// True if all `sent` datagrams or frames have arrived.
    pub fn has_all(&self, sent: u64) -> bool {
        self.ledger.unique() >= sent
    }

    /// Payload of all arrivals, each counted once.
    pub fn unique_bytes(&self) -> u64 {
        self.unique_bytes
    }

    /// Time from the first arrival to the last.
    pub fn measured_ns(&self) -> u64 {
        self.window.map_or(0, |window| window.last_ns - window.first_ns)
    }

    /// Adds the keys of the protocol document to a result. `sent`: the number of datagrams or frames that the other
    /// side has sent.
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

//! The arrivals of a measured flow: the datagrams or frames that arrived, their times and their delays. Pure.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::delay::{DelayTally, Delays};
use sixbench_measure::ranges::RangesTally;

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
    noted_missing: u64,
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
            noted_missing: 0,
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
        interval.lost_middle += missing as i64 - self.noted_missing as i64;
        self.noted_missing = missing;
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

    /// The account of the flow. `sent`: the number of datagrams or frames that the other side has sent.
    pub fn tally(&self, sent: Option<u64>) -> ArrivalTally {
        let ledger = &self.ledger;
        let measured_ns = self.measured_ns();
        let mut series = self.series.clone();
        series.close(measured_ns);
        ArrivalTally {
            received: ledger.received(),
            unique: ledger.unique(),
            duplicates: ledger.duplicates(),
            reordered: ledger.reordered(),
            lost_middle: ledger.lost_middle(),
            highest_sequence: ledger.highest_sequence(),
            lost_tail: sent.and_then(|sent| ledger.lost_tail(sent)),
            unique_bytes: self.unique_bytes,
            measured_bytes: self.window.map(|window| self.unique_bytes - window.first_bytes),
            measured_ns: self.window.map(|_| measured_ns),
            sequences: Sequences {
                lost: ledger.lost_sequences(sent).tally(),
                duplicate: ledger.duplicate_sequences().tally(),
                reordered: ledger.reordered_sequences().tally(),
            },
            series: Columns {
                t_ns: series.ends_ns(measured_ns),
                datagrams: series.column(|interval| interval.datagrams),
                bytes: series.column(|interval| interval.bytes),
                lost_middle: series.column(|interval| interval.lost_middle),
            },
            delays: self.delays.tally(),
        }
    }
}

/// The account of a flow, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ArrivalTally {
    pub received: u64,
    pub unique: u64,
    pub duplicates: u64,
    pub reordered: u64,
    pub lost_middle: u64,
    /// Absent where nothing came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest_sequence: Option<u64>,
    /// Absent where the number sent is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_tail: Option<u64>,
    pub unique_bytes: u64,
    /// Payload of all arrivals but the first; absent where nothing came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_bytes: Option<u64>,
    /// Time from the first arrival to the last; absent where nothing came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_ns: Option<u64>,
    pub sequences: Sequences,
    pub series: Columns,
    #[serde(flatten)]
    pub delays: DelayTally,
}

/// Numbers of datagrams or frames, as ranges.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Sequences {
    pub lost: RangesTally,
    pub duplicate: RangesTally,
    pub reordered: RangesTally,
}

/// The series, by columns.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Columns {
    pub t_ns: Vec<u64>,
    pub datagrams: Vec<u64>,
    pub bytes: Vec<u64>,
    pub lost_middle: Vec<i64>,
}

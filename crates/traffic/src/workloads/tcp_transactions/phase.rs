//! The beginnings of transactions, and the account of their outcomes. Pure: callers pass the time.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use super::Kind;
use crate::params::{Limit, SECOND_NS};
use crate::series::Series;
use crate::workloads::pacing::Interval;
use crate::workloads::window::Window;

/// Time after the end in which a phase with a rate and a duration may still begin what was due before.
const GRACE_NS: u64 = SECOND_NS;

/// The warm-up, or what is measured.
pub struct Phase {
    limit: Limit,
    /// Absent in a closed loop.
    rate: Option<Interval>,
    started_ns: u64,
    /// Transactions that were begun.
    attempts: u64,
    first_and_last_ns: Option<(u64, u64)>,
    /// True if the next one was due when there was no room for it.
    is_held: bool,
    held_back: u64,
    lateness: Times,
    connect: Times,
    transaction: Times,
    failed: BTreeMap<String, u64>,
    series: Series<u64>,
    /// End of the last transaction that counts.
    ended_ns: u64,
    /// True once the duration of a closed loop has passed.
    is_closed: bool,
    after_window: u64,
}

/// The next action of a phase.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Begin a transaction, whose time counts from then.
    Begin(u64),
    /// Wait until that time; absent: until another transaction is over.
    WaitUntil(Option<u64>),
    /// Begin no more transactions.
    End,
}

impl Phase {
    /// Begins now.
    pub fn new(limit: Limit, rate: Option<Interval>, interval_ns: u64, now_ns: u64) -> Self {
        Self {
            limit,
            rate,
            started_ns: now_ns,
            attempts: 0,
            first_and_last_ns: None,
            is_held: false,
            held_back: 0,
            lateness: Times::default(),
            connect: Times::default(),
            transaction: Times::default(),
            failed: BTreeMap::new(),
            series: Series::of_window(interval_ns, limit.duration_ns()),
            ended_ns: now_ns,
            is_closed: false,
            after_window: 0,
        }
    }

    /// The next action at this time, with or without room for another transaction.
    pub fn next(&mut self, now_ns: u64, has_room: bool) -> Next {
        let since_start_ns = now_ns.saturating_sub(self.started_ns);
        let is_last = self.limit.count().is_some_and(|count| self.attempts >= count);
        let Some(rate) = self.rate else {
            let has_passed = self.limit.is_reached(0, since_start_ns);
            if has_passed && !self.is_closed && self.attempts == self.ended() {
                // Nothing is in flight in which it passes.
                self.note_end(now_ns);
            }
            return match (is_last || has_passed, has_room) {
                (true, _) => Next::End,
                (false, true) => Next::Begin(now_ns),
                (false, false) => Next::WaitUntil(None),
            };
        };
        let due_ns = rate.due_ns(self.attempts);
        let is_past = |duration_ns| due_ns >= duration_ns || since_start_ns >= duration_ns + GRACE_NS;
        if is_last || self.limit.duration_ns().is_some_and(is_past) {
            return Next::End;
        }
        if due_ns > since_start_ns {
            self.is_held = false;
            return Next::WaitUntil(Some(self.started_ns.saturating_add(due_ns)));
        }
        if !has_room {
            self.is_held = true;
            return Next::WaitUntil(None);
        }
        Next::Begin(self.started_ns.saturating_add(due_ns))
    }

    /// The transaction of [`Next::Begin`] begins now.
    pub fn begin(&mut self, from_ns: u64, now_ns: u64) {
        self.attempts += 1;
        self.first_and_last_ns = Some((self.first_and_last_ns.map_or(now_ns, |(first_ns, _)| first_ns), now_ns));
        if self.rate.is_some() {
            self.lateness.record(now_ns.saturating_sub(from_ns));
            self.held_back += u64::from(self.is_held);
        }
    }

    /// A transaction succeeded.
    pub fn succeeded(&mut self, connect_ns: u64, transaction_ns: u64, ended_ns: u64) {
        if self.is_closed {
            self.after_window += 1;
            return;
        }
        self.connect.record(connect_ns);
        self.transaction.record(transaction_ns);
        *self.series.at(ended_ns.saturating_sub(self.started_ns)) += 1;
        self.note_end(ended_ns);
    }

    /// A transaction failed.
    pub fn failed(&mut self, reason: String, now_ns: u64) {
        if !self.is_closed {
            *self.failed.entry(reason).or_default() += 1;
            self.note_end(now_ns);
        }
    }

    /// Transactions that are over, of those that count. Until the window closes these are all.
    fn ended(&self) -> u64 {
        self.connect.count() + self.failed.values().sum::<u64>()
    }

    /// The one in which the duration passes is the last one that counts; with a rate all count that were due.
    fn note_end(&mut self, now_ns: u64) {
        self.ended_ns = now_ns;
        self.is_closed = self.rate.is_none() && self.limit.is_reached(0, now_ns.saturating_sub(self.started_ns));
    }

    /// Transactions that succeeded, those after the window included.
    pub fn all_transactions(&self) -> u64 {
        self.connect.count() + self.after_window
    }

    /// The account of the phase, which is over.
    pub fn tally(mut self, kind: Kind) -> PhaseTally {
        let mut ended_ns = self.ended_ns;
        let mut unstarted = None;
        if let (Some(duration_ns), Some(rate)) = (self.limit.duration_ns(), self.rate) {
            // Transactions that were due in the window count, however long they took.
            let last_ns = self.first_and_last_ns.map_or(0, |(_, last_ns)| last_ns);
            ended_ns = last_ns.max(self.started_ns.saturating_add(duration_ns));
            unstarted = Some(rate.due_before(duration_ns).saturating_sub(self.attempts));
        }
        let measured_ns = ended_ns - self.started_ns;
        self.series.close(measured_ns);
        PhaseTally {
            window: Window { started_ns: self.started_ns, ended_ns, measured_ns },
            transactions: self.connect.count(),
            attempts: self.attempts,
            unstarted,
            after_window: self.after_window,
            failed: self.failed,
            connect: self.connect.tally(),
            transaction: (kind == Kind::RequestResponse).then(|| self.transaction.tally()),
            pace: self.rate.map(|_| PaceTally {
                lateness: self.lateness.tally(),
                held_back: self.held_back,
                offered_ns: self.first_and_last_ns.map(|(first_ns, last_ns)| last_ns - first_ns),
            }),
            series: Columns { t_ns: self.series.ends_ns(measured_ns), transactions: self.series.slots().to_vec() },
        }
    }
}

/// The account of a phase, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PhaseTally {
    #[serde(flatten)]
    window: Window,
    transactions: u64,
    attempts: u64,
    /// Transactions that were due and not begun, where there is a rate and a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    unstarted: Option<u64>,
    after_window: u64,
    /// Numbers of failures by reason.
    failed: BTreeMap<String, u64>,
    /// Times of handshakes.
    connect: TimesTally,
    /// Times of whole transactions; absent where they are no more than the handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<TimesTally>,
    /// Absent in a closed loop.
    #[serde(flatten)]
    pace: Option<PaceTally>,
    series: Columns,
}

/// The account of the beginnings of transactions that have a rate.
#[derive(Debug, Serialize, JsonSchema)]
struct PaceTally {
    lateness: TimesTally,
    /// Transactions that were due when there was no room for them.
    held_back: u64,
    /// Time from the first beginning to the last; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered_ns: Option<u64>,
}

/// The series, by columns.
#[derive(Debug, Serialize, JsonSchema)]
struct Columns {
    t_ns: Vec<u64>,
    transactions: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(phase: Phase) -> Value {
        json!(phase.tally(Kind::RequestResponse))
    }

    #[test]
    fn a_closed_loop_is_closed_by_the_transaction_that_outlasts_it() {
        let mut phase = Phase::new(Limit::Duration(100), None, 50, 1_000);
        assert_eq!(phase.next(1_000, true), Next::Begin(1_000));
        phase.begin(1_000, 1_000);
        phase.begin(1_000, 1_000);
        phase.begin(1_000, 1_000);
        assert_eq!(phase.next(1_001, false), Next::WaitUntil(None));
        phase.succeeded(10, 40, 1_040);
        assert_eq!(phase.next(1_100, true), Next::End);
        phase.succeeded(10, 110, 1_110);
        phase.succeeded(10, 120, 1_120);
        phase.failed("timeout".to_owned(), 1_130);
        assert_eq!(phase.all_transactions(), 3);
        let result = result(phase);
        assert_eq!((&result["transactions"], &result["after_window"]), (&json!(2), &json!(1)));
        assert_eq!((&result["measured_ns"], &result["failed"]), (&json!(110), &json!({})));
        assert_eq!(result["series"], json!({"t_ns": [50, 110], "transactions": [1, 1]}));
        assert_eq!((result.get("lateness"), result.get("unstarted")), (None, None));
    }

    #[test]
    fn a_window_that_passes_while_nothing_is_in_flight_ends_when_that_is_seen() {
        let limit = Limit::Duration(100);
        let mut phase = Phase::new(limit, None, 50, 1_000);
        phase.begin(1_000, 1_000);
        phase.succeeded(10, 90, 1_090);
        assert_eq!(phase.next(1_130, true), Next::End);
        let result = result(phase);
        assert_eq!((&result["transactions"], &result["measured_ns"]), (&json!(1), &json!(130)));
    }

    #[test]
    fn a_count_counts_failures_too() {
        let mut phase = Phase::new(Limit::Count(2), None, 50, 0);
        phase.begin(0, 0);
        phase.failed("closed".to_owned(), 5);
        assert_eq!(phase.next(5, true), Next::Begin(5));
        phase.begin(5, 5);
        assert_eq!(phase.next(6, true), Next::End);
        phase.succeeded(1, 2, 7);
        let result = result(phase);
        assert_eq!((&result["transactions"], &result["failed"]), (&json!(1), &json!({"closed": 1})));
    }

    #[test]
    fn a_rate_keeps_its_times_whatever_happens() {
        // One each 10 ns.
        let rate = Some(Interval::of_pps(100_000_000));
        let mut phase = Phase::new(Limit::Duration(40), rate, 50, 1_000);
        assert_eq!(phase.next(1_000, true), Next::Begin(1_000));
        phase.begin(1_000, 1_003);
        assert_eq!(phase.next(1_005, true), Next::WaitUntil(Some(1_010)));
        // No room at 1010, and at 1025 two are due.
        assert_eq!(phase.next(1_012, false), Next::WaitUntil(None));
        phase.succeeded(5, 25, 1_025);
        assert_eq!(phase.next(1_025, true), Next::Begin(1_010));
        phase.begin(1_010, 1_025);
        assert_eq!(phase.next(1_026, true), Next::Begin(1_020));
        phase.begin(1_020, 1_026);
        assert_eq!(phase.next(1_027, true), Next::WaitUntil(Some(1_030)));
        assert_eq!(phase.next(1_040 + GRACE_NS, true), Next::End);
        phase.succeeded(5, 90, 1_100);
        phase.failed("timeout".to_owned(), 1_200);
        let result = result(phase);
        assert_eq!(
            (&result["transactions"], &result["attempts"], &result["unstarted"]),
            (&json!(2), &json!(3), &json!(1))
        );
        assert_eq!(
            (&result["held_back"], &result["offered_ns"], &result["measured_ns"]),
            (&json!(2), &json!(23), &json!(40))
        );
        assert_eq!((&result["lateness"]["min"], &result["lateness"]["max"]), (&json!(3), &json!(15)));
    }
}

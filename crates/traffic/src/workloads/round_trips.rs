//! The round trips of a closed loop: one request in flight. Pure.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use super::window::Window;
use crate::series::Series;

/// Times of answered requests, in their order.
pub struct RoundTrips {
    rtt: Times,
    rtt_jitter: Times,
    previous_ns: Option<u64>,
    series: Series<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    transactions: u64,
    rtt_sum_ns: u64,
}

impl RoundTrips {
    /// Round trips of a window meant to have that length, where it has one; none so far.
    pub fn new(interval_ns: u64, window_ns: Option<u64>) -> Self {
        let series = Series::of_window(interval_ns, window_ns);
        Self { rtt: Times::default(), rtt_jitter: Times::default(), previous_ns: None, series }
    }

    /// A request was answered at that time since the window's start.
    #[inline]
    pub fn record(&mut self, rtt_ns: u64, since_start_ns: u64) {
        self.rtt.record(rtt_ns);
        if let Some(previous_ns) = self.previous_ns.replace(rtt_ns) {
            self.rtt_jitter.record(rtt_ns.abs_diff(previous_ns));
        }
        let slot = self.series.at(since_start_ns);
        slot.transactions += 1;
        slot.rtt_sum_ns = slot.rtt_sum_ns.saturating_add(rtt_ns);
    }

    /// A request was not answered: the round trips before and after it are not consecutive.
    pub fn note_lost(&mut self) {
        self.previous_ns = None;
    }

    /// Answered requests.
    pub fn count(&self) -> u64 {
        self.rtt.count()
    }

    /// The account of a window between these times of the monotonic clock.
    pub fn tally(&self, started_ns: u64, ended_ns: u64) -> RoundTripTally {
        let measured_ns = ended_ns - started_ns;
        let mut series = self.series.clone();
        series.close(measured_ns);
        RoundTripTally {
            window: Window { started_ns, ended_ns, measured_ns },
            transactions: self.count(),
            rtt: self.rtt.tally(),
            rtt_jitter: self.rtt_jitter.tally(),
            series: Columns {
                t_ns: series.ends_ns(measured_ns),
                transactions: series.column(|slot| slot.transactions),
                rtt_mean_ns: series.column(|slot| slot.rtt_sum_ns.checked_div(slot.transactions)),
            },
        }
    }
}

/// The account of a window, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RoundTripTally {
    #[serde(flatten)]
    window: Window,
    transactions: u64,
    /// Times of answered requests.
    rtt: TimesTally,
    /// Differences between consecutive ones.
    rtt_jitter: TimesTally,
    series: Columns,
}

/// The series, by columns.
#[derive(Debug, Serialize, JsonSchema)]
struct Columns {
    t_ns: Vec<u64>,
    transactions: Vec<u64>,
    /// Absent where nothing was answered in the interval.
    rtt_mean_ns: Vec<Option<u64>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_loss_separates_its_neighbours() {
        let mut trips = RoundTrips::new(100, Some(250));
        trips.record(10, 10);
        trips.record(30, 40);
        trips.note_lost();
        trips.record(20, 250);
        let result = json!(trips.tally(1_000, 1_260));
        assert_eq!(result["transactions"], 3);
        assert_eq!(result["rtt"]["buckets"], json!([[10, 1], [20, 1], [30, 1]]));
        assert_eq!(result["rtt_jitter"]["buckets"], json!([[20, 1]]));
        assert_eq!(
            result["series"],
            json!({"t_ns": [100, 200, 260], "transactions": [2, 0, 1], "rtt_mean_ns": [20, null, 20]})
        );
    }
}

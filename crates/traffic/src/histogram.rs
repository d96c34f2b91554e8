//! HDR histograms of times, as results carry them.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// A histogram of nanoseconds with 3 significant digits, up to an hour; larger values count as an hour.
pub struct Times(Histogram<u64>);

const HOUR_NS: u64 = 3_600_000_000_000;

impl Default for Times {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, HOUR_NS, 3).expect("bounds that are constant and valid"))
    }
}

impl Times {
    /// Records one value.
    pub fn record(&mut self, value_ns: u64) {
        self.0.saturating_record(value_ns);
    }

    /// Adds all of another histogram.
    pub fn merge(&mut self, other: &Times) {
        self.0.add(&other.0).expect("histograms of the same bounds");
    }

    /// Records a value that came several times.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        self.0.saturating_record_n(value_ns, count);
    }

    /// The n-th smallest value, from 1, as the middle of its bucket; absent where there are fewer.
    pub fn ranked(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        self.buckets().find_map(|(value, count)| {
            below += count;
            (below >= rank).then_some(value)
        })
    }

    /// What was recorded, in order: a value in the middle of each bucket, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0
            .iter_recorded()
            .map(|bucket| (self.0.median_equivalent(bucket.value_iterated_to()), bucket.count_at_value()))
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The form of the protocol document.
    pub fn to_json(&self) -> Value {
        let h = &self.0;
        if h.is_empty() {
            return json!({"unit": "ns", "count": 0, "buckets": []});
        }
        let buckets: Vec<_> = self.buckets().map(|(value, count)| json!([value, count])).collect();
        json!({
            "unit": "ns", "count": h.len(), "min": h.min(), "max": h.max(), "mean": h.mean(), "stdev": h.stdev(),
            "p50": h.value_at_quantile(0.5), "p90": h.value_at_quantile(0.9),
            "p99": h.value_at_quantile(0.99), "p999": h.value_at_quantile(0.999),
            "buckets": buckets,
        })
    }
}

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
        let buckets: Vec<_> = h
            .iter_recorded()
            .map(|b| json!([h.median_equivalent(b.value_iterated_to()), b.count_at_value()]))
            .collect();
        json!({
            "unit": "ns", "count": h.len(), "min": h.min(), "max": h.max(), "mean": h.mean(), "stdev": h.stdev(),
            "p50": h.value_at_quantile(0.5), "p90": h.value_at_quantile(0.9),
            "p99": h.value_at_quantile(0.99), "p999": h.value_at_quantile(0.999),
            "buckets": buckets,
        })
    }
}

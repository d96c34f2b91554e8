//! HDR histograms of times, as results carry them.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// A histogram of nanoseconds with 3 significant digits, up to an hour; larger values count as an hour. Its mean and
/// its extremes are exact: at 200 ms a bucket is 131 us wide, which would be seen as a bias.
pub struct Times {
    counts: Histogram<u64>,
    sum_ns: u128,
    least_ns: u64,
    greatest_ns: u64,
}

const HOUR_NS: u64 = 3_600_000_000_000;

impl Default for Times {
    fn default() -> Self {
        let counts = Histogram::new_with_bounds(1, HOUR_NS, 3).expect("bounds that are constant and valid");
        Self { counts, sum_ns: 0, least_ns: u64::MAX, greatest_ns: 0 }
    }
}

impl Times {
    /// Records one value.
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Adds all of another histogram.
    pub fn merge(&mut self, other: &Times) {
        self.counts.add(&other.counts).expect("histograms of the same bounds");
        self.sum_ns += other.sum_ns;
        self.least_ns = self.least_ns.min(other.least_ns);
        self.greatest_ns = self.greatest_ns.max(other.greatest_ns);
    }

    /// Records a value that came several times.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        let value_ns = value_ns.min(HOUR_NS);
        self.counts.saturating_record_n(value_ns, count);
        if count > 0 {
            self.sum_ns += u128::from(value_ns) * u128::from(count);
            self.least_ns = self.least_ns.min(value_ns);
            self.greatest_ns = self.greatest_ns.max(value_ns);
        }
    }

    /// The n-th smallest value, from 1, as the middle of its bucket; absent where there are fewer.
    pub fn ranked(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        self.buckets().find_map(|(value, count)| {
            below += count;
            (below >= rank).then_some(value)
        })
    }

    /// The recorded values in order: the middle of each bucket, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts
            .iter_recorded()
            .map(|bucket| (self.counts.median_equivalent(bucket.value_iterated_to()), bucket.count_at_value()))
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The exact mean of the recorded values; absent without any.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The value that so large a share of the values does not exceed, as if they were spread evenly over their bucket;
    /// absent without any.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0;
        self.counts.iter_recorded().find_map(|bucket| {
            let count = bucket.count_at_value();
            below += count;
            (below >= rank).then(|| {
                let low = self.counts.lowest_equivalent(bucket.value_iterated_to()).max(self.least_ns);
                let high = self.counts.highest_equivalent(bucket.value_iterated_to()).min(self.greatest_ns);
                let place = ((rank + count - below) as f64 - 0.5) / count as f64;
                low + ((high - low) as f64 * place).round() as u64
            })
        })
    }

    /// The form of the protocol document.
    pub fn to_json(&self) -> Value {
        let (Some(mean), quantile) = (self.mean_ns(), |share| self.quantile_ns(share)) else {
            return json!({"unit": "ns", "count": 0, "buckets": []});
        };
        let buckets: Vec<_> = self.buckets().map(|(value, count)| json!([value, count])).collect();
        json!({
            "unit": "ns", "count": self.count(), "min": self.least_ns, "max": self.greatest_ns, "mean": mean,
            "stdev": self.counts.stdev(),
            "p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99), "p999": quantile(0.999),
            "buckets": buckets,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_alike_has_itself_as_its_quantiles() {
        let mut times = Times::default();
        times.record_n(200_061_234, 500);
        let json = times.to_json();
        for name in ["min", "max", "p50", "p99"] {
            assert_eq!(json[name], 200_061_234, "{name}");
        }
        assert_eq!(json["mean"], 200_061_234.0);
    }

    #[test]
    fn values_in_one_bucket_are_taken_as_spread_evenly() {
        let mut times = Times::default();
        for value_ns in [200_020_000, 200_060_000, 200_100_000] {
            times.record(value_ns);
        }
        assert_eq!(times.quantile_ns(0.5), Some(200_060_000));
        assert_eq!(times.mean_ns(), Some(200_060_000.0));
    }

    #[test]
    fn nothing_has_no_quantiles() {
        let times = Times::default();
        assert_eq!((times.quantile_ns(0.5), times.mean_ns()), (None, None));
        assert_eq!(times.to_json(), json!({"unit": "ns", "count": 0, "buckets": []}));
    }

    #[test]
    fn merged_is_as_recorded_together() {
        let (mut one, mut other, mut both) = (Times::default(), Times::default(), Times::default());
        for value_ns in [3, 70_000, 2 * HOUR_NS] {
            one.record(value_ns);
            both.record(value_ns);
        }
        other.record(900);
        both.record(900);
        one.merge(&other);
        assert_eq!(one.to_json(), both.to_json());
        assert_eq!(one.to_json()["max"], HOUR_NS);
    }

    proptest! {
        #[test]
        fn quantiles_are_where_the_values_are(mut values in prop::collection::vec(0..=HOUR_NS, 1..200), share in 0.0..=1.0_f64) {
            let mut times = Times::default();
            values.iter().for_each(|value_ns| times.record(*value_ns));
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).max(1);
            let (exact, found) = (values[rank - 1], times.quantile_ns(share).unwrap());
            prop_assert!(exact.abs_diff(found) as f64 <= 0.001 * exact as f64 + 1.0, "{found} for {exact}");
            prop_assert!(found >= values[0] && found <= values[values.len() - 1]);
        }
    }
}

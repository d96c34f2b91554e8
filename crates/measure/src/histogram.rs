//! HDR histograms of times, as results carry them.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

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

    /// The histogram, as results carry it.
    pub fn tally(&self) -> TimesTally {
        TimesTally {
            unit: Unit::Nanoseconds,
            count: self.count(),
            statistics: self.statistics(),
            buckets: self.buckets().map(|(value, count)| [value, count]).collect(),
        }
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(Statistics {
            min: self.least_ns,
            max: self.greatest_ns,
            mean: self.mean_ns()?,
            stdev: self.counts.stdev(),
            p50: self.quantile_ns(0.5)?,
            p90: self.quantile_ns(0.9)?,
            p99: self.quantile_ns(0.99)?,
            p999: self.quantile_ns(0.999)?,
        })
    }
}

/// A histogram, by the names of the protocol document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimesTally {
    /// The unit of all values.
    pub unit: Unit,
    /// Number of recorded values.
    pub count: u64,
    /// The statistics of the values; absent without any.
    #[serde(flatten)]
    pub statistics: Option<Statistics>,
    /// The middle of each bucket that has values, and their number.
    pub buckets: Vec<[u64; 2]>,
}

/// The unit of a histogram's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
}

/// The statistics of a histogram that has values.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Statistics {
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub stdev: f64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_alike_has_itself_as_its_quantiles() {
        let mut times = Times::default();
        times.record_n(200_061_234, 500);
        let Statistics { min, max, p50, p99, mean, .. } = times.tally().statistics.unwrap();
        assert_eq!([min, max, p50, p99], [200_061_234; 4]);
        assert_eq!(mean, 200_061_234.0);
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
        assert_eq!(serde_json::json!(times.tally()), serde_json::json!({"unit": "ns", "count": 0, "buckets": []}));
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
        assert_eq!(one.tally(), both.tally());
        assert_eq!(one.tally().statistics.unwrap().max, HOUR_NS);
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

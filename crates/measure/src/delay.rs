//! One-way delay, its variation and RFC 3550's jitter, from the times of sending and arriving.
//!
//! Pure: numbers in, numbers out. Delays are signed, since the clocks of two machines may disagree. Every datagram
//! enters once, in the order of arrival: the ledger recognises duplicates.

use schemars::JsonSchema;
use serde::Serialize;

use crate::histogram::{Times, TimesTally};

/// Measures of the delays of a flow.
#[derive(Default)]
pub struct Delays {
    one_way: Times,
    one_way_negative: u64,
    ipdv: Ipdv,
    pdv: Pdv,
    jitter: Rfc3550Jitter,
}

impl Delays {
    /// Enters one datagram.
    pub fn record(&mut self, sequence: u64, sent_ns: u64, received_ns: u64) {
        let delay_ns = received_ns.wrapping_sub(sent_ns) as i64;
        match u64::try_from(delay_ns) {
            Ok(delay_ns) => self.one_way.record(delay_ns),
            Err(_) => self.one_way_negative += 1,
        }
        self.ipdv.record(sequence, delay_ns);
        self.pdv.record(delay_ns);
        self.jitter.record(delay_ns);
    }

    /// RFC 3550's jitter as it is now; absent before the second datagram.
    pub fn jitter_ns(&self) -> Option<f64> {
        self.jitter.value_ns()
    }

    /// The measures of all datagrams so far.
    pub fn tally(&self) -> DelayTally {
        DelayTally {
            one_way_delay: self.one_way.tally(),
            one_way_delay_negative: self.one_way_negative,
            ipdv: self.ipdv.absolute().tally(),
            ipdv_signed: self.ipdv.signed(),
            pdv: self.pdv.histogram().tally(),
            jitter_rfc3550_ns: self.jitter.value_ns(),
        }
    }
}

/// Measures of the delays of a flow, by the names of the protocol document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DelayTally {
    /// Delays that are not negative.
    pub one_way_delay: TimesTally,
    /// Number of negative delays.
    pub one_way_delay_negative: u64,
    /// Absolute IPDV.
    pub ipdv: TimesTally,
    /// Signed IPDV; absent without any pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipdv_signed: Option<SignedIpdv>,
    /// PDV.
    pub pdv: TimesTally,
    /// RFC 3550's jitter; absent before the second datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_rfc3550_ns: Option<f64>,
}

/// IPDV with a selection function of consecutive sequence numbers (RFC 5481 section 4.1): the delay of a datagram minus
/// the delay of the one sent before it, wherever both came, in whatever order.
#[derive(Default)]
pub struct Ipdv {
    recent: Vec<Option<(u64, i64)>>,
    negative: Times,
    not_negative: Times,
    extremes_ns: Option<(i64, i64)>,
}

/// Signed IPDV, as RFC 8219 section 7.3.2 wants it reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SignedIpdv {
    /// Pairs of consecutive datagrams.
    pub count: u64,
    /// The most that a delay was smaller than its predecessor's.
    pub min_ns: i64,
    /// The median.
    pub p50_ns: i64,
    /// The most that a delay was larger than its predecessor's.
    pub max_ns: i64,
}

impl Ipdv {
    /// Delays that are remembered to be paired with a neighbour that comes out of order. A pair that is more than this
    /// many datagrams apart is left out.
    pub const MEMORY: usize = 4096;

    /// Enters one datagram's delay.
    pub fn record(&mut self, sequence: u64, delay_ns: i64) {
        if self.recent.is_empty() {
            self.recent.resize(Self::MEMORY, None);
        }
        if let Some(before) = sequence.checked_sub(1).and_then(|before| self.recall(before)) {
            self.pair(before, delay_ns);
        }
        if let Some(after) = sequence.checked_add(1).and_then(|after| self.recall(after)) {
            self.pair(delay_ns, after);
        }
        let slot = &mut self.recent[sequence as usize % Self::MEMORY];
        if slot.is_none_or(|(held, _)| held < sequence) {
            *slot = Some((sequence, delay_ns));
        }
    }

    /// Absolute differences.
    pub fn absolute(&self) -> Times {
        let mut all = Times::default();
        all.merge(&self.negative);
        all.merge(&self.not_negative);
        all
    }

    /// Signed differences; absent without any.
    pub fn signed(&self) -> Option<SignedIpdv> {
        let (min_ns, max_ns) = self.extremes_ns?;
        let (negative, not_negative) = (self.negative.count(), self.not_negative.count());
        let count = negative + not_negative;
        let rank = count.div_ceil(2);
        // The rank-th smallest: among the negative ones it is the one with the (negative - rank + 1)-th smallest size.
        let p50 = if rank <= negative {
            -signed(self.negative.ranked(negative - rank + 1)?)
        } else {
            signed(self.not_negative.ranked(rank - negative)?)
        };
        // The middle of a bucket may be beyond what came.
        Some(SignedIpdv { count, min_ns, p50_ns: p50.clamp(min_ns, max_ns), max_ns })
    }

    fn recall(&self, sequence: u64) -> Option<i64> {
        self.recent[sequence as usize % Self::MEMORY].filter(|(held, _)| *held == sequence).map(|(_, delay)| delay)
    }

    fn pair(&mut self, first_ns: i64, second_ns: i64) {
        let difference = second_ns.saturating_sub(first_ns);
        let side = if difference < 0 { &mut self.negative } else { &mut self.not_negative };
        side.record(difference.unsigned_abs());
        let (min, max) = self.extremes_ns.unwrap_or((difference, difference));
        self.extremes_ns = Some((min.min(difference), max.max(difference)));
    }
}

/// PDV (RFC 5481 section 4.2): each delay minus the least of all, which is known only at the end.
///
/// Until then delays are held relative to a reference at or below the least one so far. When a smaller delay comes, the
/// reference moves below it by a margin that doubles, so that clocks that drift apart move it a few times only. The
/// error is 0.1 % of a delay's distance to the reference, and the reference is never further below the least delay than
/// the delays are spread.
#[derive(Default)]
pub struct Pdv {
    above_reference: Times,
    reference_ns: Option<i64>,
    least_ns: i64,
    greatest_ns: i64,
    margin_ns: i64,
}

const FIRST_MARGIN_NS: i64 = 64;

impl Pdv {
    /// Enters one datagram's delay.
    pub fn record(&mut self, delay_ns: i64) {
        let reference = match self.reference_ns {
            None => {
                (self.least_ns, self.greatest_ns) = (delay_ns, delay_ns);
                delay_ns
            }
            Some(reference) if delay_ns < reference => self.lower(reference, delay_ns),
            Some(reference) => reference,
        };
        self.reference_ns = Some(reference);
        self.least_ns = self.least_ns.min(delay_ns);
        self.greatest_ns = self.greatest_ns.max(delay_ns);
        self.above_reference.record(distance(reference, delay_ns));
    }

    /// The delays relative to the least.
    pub fn histogram(&self) -> Times {
        let margin = self.reference_ns.map_or(0, |reference| distance(reference, self.least_ns));
        moved(&self.above_reference, |value| value.saturating_sub(margin))
    }

    /// Moves the reference below a new least delay and returns it.
    fn lower(&mut self, reference_ns: i64, delay_ns: i64) -> i64 {
        let spread = signed(distance(delay_ns, self.greatest_ns));
        self.margin_ns = self.margin_ns.saturating_mul(2).max(FIRST_MARGIN_NS).min(spread);
        let lower = delay_ns.saturating_sub(self.margin_ns);
        let step = distance(lower, reference_ns);
        self.above_reference = moved(&self.above_reference, |value| value.saturating_add(step));
        lower
    }
}

/// Interarrival jitter (RFC 3550 section 6.4.1 and appendix A.8), in the order of arrival.
#[derive(Default)]
pub struct Rfc3550Jitter {
    last_transit_ns: Option<i64>,
    jitter_ns: Option<f64>,
}

impl Rfc3550Jitter {
    /// Enters one datagram's delay ("transit" in the RFC).
    pub fn record(&mut self, transit_ns: i64) {
        if let Some(last) = self.last_transit_ns {
            let difference = transit_ns.saturating_sub(last).unsigned_abs() as f64;
            let jitter = self.jitter_ns.unwrap_or(0.0);
            self.jitter_ns = Some(jitter + (difference - jitter) / 16.0);
        }
        self.last_transit_ns = Some(transit_ns);
    }

    /// The jitter now; absent before the second datagram.
    pub fn value_ns(&self) -> Option<f64> {
        self.jitter_ns
    }
}

fn moved(times: &Times, to: impl Fn(u64) -> u64) -> Times {
    let mut moved = Times::default();
    for (value, count) in times.buckets() {
        moved.record_n(to(value), count);
    }
    moved
}

fn distance(low: i64, high: i64) -> u64 {
    high.saturating_sub(low).max(0) as u64
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn buckets(times: &Times) -> Vec<(u64, u64)> {
        times.buckets().collect()
    }

    #[test]
    fn ipdv_by_hand() {
        // Delays 100, 130, 90, (3 lost), 70, 75: differences 30, -40, 5.
        let mut ipdv = Ipdv::default();
        for (sequence, delay) in [(0, 100), (1, 130), (2, 90), (4, 70), (5, 75)] {
            ipdv.record(sequence, delay);
        }
        assert_eq!(buckets(&ipdv.absolute()), [(5, 1), (30, 1), (40, 1)]);
        assert_eq!(ipdv.signed(), Some(SignedIpdv { count: 3, min_ns: -40, p50_ns: 5, max_ns: 30 }));
    }

    #[test]
    fn ipdv_goes_by_sequence_and_not_by_arrival() {
        // The order 1, 0, 2 has the pairs (0, 1) and (1, 2).
        let mut ipdv = Ipdv::default();
        for (sequence, delay) in [(1, 10), (0, 50), (2, 11)] {
            ipdv.record(sequence, delay);
        }
        assert_eq!(ipdv.signed(), Some(SignedIpdv { count: 2, min_ns: -40, p50_ns: -40, max_ns: 1 }));
    }

    #[test]
    fn ipdv_without_neighbours_is_absent() {
        let mut ipdv = Ipdv::default();
        for sequence in [0, 2, Ipdv::MEMORY as u64 + 1, u64::MAX] {
            ipdv.record(sequence, 7);
        }
        assert_eq!(ipdv.signed(), None);
        assert_eq!(ipdv.absolute().count(), 0);
    }

    #[test]
    fn pdv_by_hand() {
        // Delays 100, 130, 90, -20, 15: the least is -20.
        let mut pdv = Pdv::default();
        [100, 130, 90, -20, 15].into_iter().for_each(|delay| pdv.record(delay));
        assert_eq!(buckets(&pdv.histogram()), [(0, 1), (35, 1), (110, 1), (120, 1), (150, 1)]);
    }

    #[test]
    fn jitter_by_hand() {
        // RFC 3550 appendix A.8 with transits 100, 116, 100, 100: 16/16 = 1, 1 + 15/16 = 1.9375, 1.9375 x 15/16.
        let mut jitter = Rfc3550Jitter::default();
        jitter.record(100);
        assert_eq!(jitter.value_ns(), None);
        let mut after = |transit| {
            jitter.record(transit);
            jitter.value_ns()
        };
        assert_eq!(after(116), Some(1.0));
        assert_eq!(after(100), Some(1.9375));
        assert_eq!(after(100), Some(1.81640625));
    }

    #[test]
    fn all_keys_by_hand() {
        let mut delays = Delays::default();
        for (sequence, sent, received) in [(0, 1_000, 1_500), (1, 2_000, 2_600), (2, 3_000, 2_900)] {
            delays.record(sequence, sent, received);
        }
        let result = json!(delays.tally());
        assert_eq!(result["one_way_delay"]["buckets"], json!([[500, 1], [600, 1]]));
        assert_eq!(result["one_way_delay_negative"], 1);
        assert_eq!(result["ipdv"]["buckets"], json!([[100, 1], [700, 1]]));
        assert_eq!(result["ipdv_signed"], json!({"count": 2, "min_ns": -700, "p50_ns": -700, "max_ns": 100}));
        assert_eq!(result["pdv"]["buckets"], json!([[0, 1], [600, 1], [700, 1]]));
        assert_eq!(result["jitter_rfc3550_ns"], 100.0 / 16.0 * 15.0 / 16.0 + 700.0 / 16.0);
    }

    #[test]
    fn no_datagrams_no_values() {
        let result = json!(Delays::default().tally());
        assert_eq!(result["pdv"]["count"], 0);
        assert_eq!((result.get("jitter_rfc3550_ns"), result.get("ipdv_signed")), (None, None));
    }

    #[test]
    fn delays_that_sink_all_the_time_move_the_reference_seldom() {
        let mut pdv = Pdv::default();
        let mut moves = 0;
        for delay in (0..100_000_i64).rev() {
            let before = pdv.reference_ns;
            pdv.record(delay);
            moves += u32::from(before != pdv.reference_ns);
        }
        assert!(moves < 30, "{moves}");
    }

    proptest! {
        #[test]
        fn pdv_is_within_the_digits_of_a_histogram(
            delays in prop::collection::vec(-2_000_000_i64..2_000_000, 1..300)
        ) {
            let mut pdv = Pdv::default();
            delays.iter().for_each(|&delay| pdv.record(delay));
            let least = *delays.iter().min().unwrap();
            let spread = (delays.iter().max().unwrap() - least) as u64;
            let mut exact: Vec<u64> = delays.iter().map(|delay| (delay - least) as u64).collect();
            exact.sort_unstable();
            let histogram = pdv.histogram();
            prop_assert_eq!(histogram.count(), exact.len() as u64);
            let held = histogram.buckets().flat_map(|(value, count)| std::iter::repeat_n(value, count as usize));
            for (held, exact) in held.zip(exact) {
                // Each move of the reference may round once more, by at most 0.1 % of the spread.
                prop_assert!(held.abs_diff(exact) <= 1 + spread / 100, "{held} for {exact}");
            }
        }

        #[test]
        fn hostile_times_do_not_panic(times in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..50)) {
            let mut delays = Delays::default();
            times.iter().for_each(|&(sequence, sent, received)| delays.record(sequence, sent, received));
            let _ = json!(delays.tally());
        }

        #[test]
        fn ipdv_of_any_order_is_that_of_the_sequence(
            (delays, order) in prop::collection::vec(0_i64..1000, 2..200)
                .prop_flat_map(|delays| {
                    let order: Vec<usize> = (0..delays.len()).collect();
                    (Just(delays), Just(order).prop_shuffle())
                })
        ) {
            let mut ipdv = Ipdv::default();
            order.iter().for_each(|&index| ipdv.record(index as u64, delays[index]));
            let mut differences: Vec<i64> = delays.windows(2).map(|pair| pair[1] - pair[0]).collect();
            differences.sort_unstable();
            let signed = ipdv.signed().unwrap();
            prop_assert_eq!(signed.count, differences.len() as u64);
            prop_assert_eq!(signed.min_ns, differences[0]);
            prop_assert_eq!(signed.p50_ns, differences[(differences.len() - 1) / 2]);
            prop_assert_eq!(signed.max_ns, differences[differences.len() - 1]);
        }
    }
}

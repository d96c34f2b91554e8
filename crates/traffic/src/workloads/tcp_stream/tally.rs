//! Counts of a receiver, and their sums over several streams.

use schemars::JsonSchema;
use serde::Serialize;

use crate::series::Series;

/// An edge is the read of the last ones before it, as many of each stream and in this time, whose bytes came soonest.
const CANDIDATES: usize = 16;
const CANDIDATES_NS: u64 = 2_000_000;

/// The reads of one stream.
#[derive(Default)]
pub struct Tally {
    /// Bytes of all reads, before the window too.
    pub received_bytes: u64,
    reads: u64,
    before: Recent,
    /// Bytes of the reads in the window, the first one included.
    window_bytes: u64,
    first: Option<Read>,
    window: Recent,
    /// Longest time between two reads in the window.
    longest_gap_ns: u64,
}

#[derive(Clone, Copy, Default)]
struct Read {
    ns: u64,
    bytes: u64,
}

/// The last reads, up to [`CANDIDATES`], and the number of all.
#[derive(Default)]
struct Recent {
    reads: [Read; CANDIDATES],
    /// Number of all reads, those that are not kept included.
    count: usize,
}

/// A moment, and how many bytes had come in the window until then: less than none where it is before the window.
#[derive(Clone, Copy)]
struct Edge {
    ns: u64,
    bytes: i128,
}

/// The edges of the measurement.
struct Measured {
    from: Edge,
    to: Edge,
}

impl Tally {
    /// Notes a read before the window.
    #[inline]
    pub fn read_before(&mut self, now_ns: u64, bytes: u64) {
        self.before.note(Read { ns: now_ns, bytes });
    }

    /// Counts a read in the window, also in the series that the streams of a thread share.
    #[inline]
    pub fn read(&mut self, now_ns: u64, since_opening_ns: u64, bytes: u64, series: &mut Series<u64>) {
        let read = Read { ns: now_ns, bytes };
        self.first.get_or_insert(read);
        self.reads += 1;
        self.window_bytes += bytes;
        if let Some(last) = self.window.last() {
            self.longest_gap_ns = self.longest_gap_ns.max(now_ns - last.ns);
        }
        self.window.note(read);
        *series.at(since_opening_ns) += bytes;
    }
}

impl Recent {
    #[inline]
    fn note(&mut self, read: Read) {
        self.reads[self.count % CANDIDATES] = read;
        self.count += 1;
    }

    #[inline]
    fn last(&self) -> Option<Read> {
        self.count.checked_sub(1).map(|last| self.reads[last % CANDIDATES])
    }

    fn known(&self) -> &[Read] {
        &self.reads[..self.count.min(CANDIDATES)]
    }

    /// Earliest time from which on all reads are known.
    fn reach_ns(&self) -> u64 {
        if self.count > CANDIDATES { self.known().iter().map(|read| read.ns).min().unwrap_or(0) } else { 0 }
    }
}

/// Puts the streams of a direction together. The window's edges are known where a byte came; its end is that of the
/// last read where time is not the limit.
///
/// The measurement lasts from a read before the window opens to one before it closes. Both are chosen alike, so that
/// windows that follow each other would have all bytes and all time between them: a read after an edge is more often
/// one that was long in coming, and a window from the first read in it would be too short for its bytes.
///
/// Where time is the limit, it is not just the last read before the edge. A receiver that waits for its turn reads data
/// that came some time ago. That time may be the same in each trial: a bias. The edge is the one of the last reads
/// whose bytes came soonest, at the rate of the window.
///
/// Where nothing was read before the window, the first read in it opens the measurement, and its bytes are not part of
/// it: they came in an unknown time. So `measured_bytes` and `measured_ns` need two reads at different times, and are
/// absent otherwise.
pub fn merge(
    streams: &[&Tally],
    mut series: Series<u64>,
    edges_ns: Option<(u64, u64)>,
    is_timed: bool,
) -> StreamsTally {
    let total = |value: fn(&Tally) -> u64| streams.iter().map(|stream| value(stream)).sum::<u64>();
    // Reads of all streams together are at least as frequent as those of any one.
    let longest_gap_ns = streams.iter().filter(|stream| stream.reads > 1).map(|stream| stream.longest_gap_ns).min();
    let measured = measured(streams, is_timed);
    let window = edges_ns.map(|(opens_ns, closes_ns)| {
        let last_ns = streams.iter().filter_map(|stream| stream.window.last()).map(|read| read.ns).max();
        let ended_ns = if closes_ns == u64::MAX { last_ns.map_or(opens_ns, |ns| ns.max(opens_ns)) } else { closes_ns };
        keep_measured(&mut series, streams, measured.as_ref(), opens_ns);
        series.close(ended_ns - opens_ns);
        let series = Columns { t_ns: series.ends_ns(ended_ns - opens_ns), bytes: series.slots().to_vec() };
        WindowTally { started_ns: opens_ns, ended_ns, series }
    });
    let measured_alone = |stream: &&Tally| self::measured(&[*stream], is_timed).and_then(|measured| measured.tally());
    StreamsTally {
        received_bytes: total(|stream| stream.received_bytes),
        reads: total(|stream| stream.reads),
        longest_gap_ns,
        measured: measured.and_then(|measured| measured.tally()),
        window,
        streams: streams.iter().map(|stream| StreamTally { measured: measured_alone(stream) }).collect(),
    }
}

/// The account of the streams of a direction, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StreamsTally {
    received_bytes: u64,
    reads: u64,
    /// Longest time between two reads in the window; absent with less than two reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_gap_ns: Option<u64>,
    #[serde(flatten)]
    measured: Option<MeasuredTally>,
    /// Absent where the window did not open.
    #[serde(flatten)]
    window: Option<WindowTally>,
    streams: Vec<StreamTally>,
}

/// The account of one stream.
#[derive(Debug, Serialize, JsonSchema)]
struct StreamTally {
    #[serde(flatten)]
    measured: Option<MeasuredTally>,
}

/// The measured bytes, and the time in which they came; absent where there were too few reads.
#[derive(Debug, Serialize, JsonSchema)]
struct MeasuredTally {
    measured_bytes: u64,
    measured_ns: u64,
}

/// The edges of the window, on the monotonic clock, and its intervals.
#[derive(Debug, Serialize, JsonSchema)]
struct WindowTally {
    started_ns: u64,
    ended_ns: u64,
    series: Columns,
}

/// The series, by columns.
#[derive(Debug, Serialize, JsonSchema)]
struct Columns {
    t_ns: Vec<u64>,
    bytes: Vec<u64>,
}

impl Measured {
    fn tally(&self) -> Option<MeasuredTally> {
        let measured_bytes = u64::try_from(self.to.bytes - self.from.bytes).ok()?;
        Some(MeasuredTally { measured_bytes, measured_ns: self.to.ns - self.from.ns })
    }
}

/// Makes the series cover the measurement: bytes that came between an edge of the window and that of the measurement
/// are in the first interval, or in none.
fn keep_measured(series: &mut Series<u64>, streams: &[&Tally], measured: Option<&Measured>, opens_ns: u64) {
    let is_read_before = streams.iter().any(|stream| stream.before.count > 0);
    if let Some(first) = first_of(streams).filter(|_| !is_read_before) {
        *series.at(first.ns - opens_ns) -= first.bytes;
    }
    let Some(measured) = measured else { return };
    if let Ok(early_bytes @ 1..) = u64::try_from(-measured.from.bytes) {
        *series.at(0) += early_bytes;
    }
    for read in streams.iter().flat_map(|stream| stream.window.known()).filter(|read| read.ns > measured.to.ns) {
        *series.at(read.ns - opens_ns) -= read.bytes;
    }
}

fn first_of(streams: &[&Tally]) -> Option<Read> {
    streams.iter().filter_map(|stream| stream.first).min_by_key(|read| read.ns)
}

/// The bytes of some streams together, and the time in which they came.
fn measured(streams: &[&Tally], is_timed: bool) -> Option<Measured> {
    let first = first_of(streams)?;
    let window_bytes = streams.iter().map(|stream| i128::from(stream.window_bytes)).sum::<i128>();
    let to = Edge {
        ns: streams.iter().filter_map(|stream| stream.window.last()).map(|read| read.ns).max()?,
        bytes: window_bytes,
    };
    let before_ns = streams.iter().filter_map(|stream| stream.before.last()).map(|read| read.ns).max();
    let from = match before_ns {
        Some(ns) => Edge { ns, bytes: 0 },
        None => Edge { ns: first.ns, bytes: first.bytes.into() },
    };
    if to.ns <= from.ns {
        return None;
    }
    if !is_timed {
        return Some(Measured { from, to });
    }
    let bytes_a_ns = (to.bytes - from.bytes) as f64 / (to.ns - from.ns) as f64;
    let from = match before_ns {
        Some(_) => soonest(from, streams.iter().map(|stream| &stream.before), bytes_a_ns),
        None => from,
    };
    let soonest_to = soonest(to, streams.iter().map(|stream| &stream.window), bytes_a_ns);
    Some(Measured { from, to: if soonest_to.ns > from.ns { soonest_to } else { to } })
}

/// The read of the last ones, up to `last`, whose bytes came soonest at this rate.
fn soonest<'a>(last: Edge, recent: impl Iterator<Item = &'a Recent>, bytes_a_ns: f64) -> Edge {
    let mut reads = Vec::new();
    let mut reach_ns = last.ns.saturating_sub(CANDIDATES_NS);
    for recent in recent {
        reads.extend_from_slice(recent.known());
        reach_ns = reach_ns.max(recent.reach_ns());
    }
    reads.sort_unstable_by_key(|read| std::cmp::Reverse(read.ns));
    let lead_bytes = |edge: &Edge| (edge.bytes - last.bytes) as f64 + (last.ns - edge.ns) as f64 * bytes_a_ns;
    let mut bytes = last.bytes;
    let mut best = last;
    for read in reads.iter().take_while(|read| read.ns >= reach_ns) {
        let edge = Edge { ns: read.ns, bytes };
        if lead_bytes(&edge) > lead_bytes(&best) {
            best = edge;
        }
        bytes -= i128::from(read.bytes);
    }
    best
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tally(reads: &[(u64, u64)], series: &mut Series<u64>) -> Tally {
        let mut tally = Tally::default();
        for &(since_ns, bytes) in reads {
            tally.received_bytes += bytes;
            tally.read(1_000 + since_ns, since_ns, bytes, series);
        }
        tally
    }

    #[test]
    fn the_first_read_opens_the_measurement_and_is_not_in_it() {
        let mut series = Series::new(10);
        let stream = tally(&[(5, 100), (15, 10), (25, 20)], &mut series);
        let result = json!(merge(&[&stream], series, Some((1_000, 1_030)), false));
        assert_eq!(result["received_bytes"], 130);
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(30), &json!(20)));
        assert_eq!((&result["started_ns"], &result["ended_ns"]), (&json!(1_000), &json!(1_030)));
        assert_eq!(result["longest_gap_ns"], 10);
        assert_eq!(result["series"], json!({"t_ns": [10, 20, 30], "bytes": [0, 10, 20]}));
    }

    #[test]
    fn the_last_read_before_the_window_opens_the_measurement() {
        let mut series = Series::new(10);
        let mut stream = tally(&[(5, 100), (15, 10), (25, 20)], &mut series);
        stream.read_before(970, 50);
        stream.read_before(990, 50);
        let result = json!(merge(&[&stream], series, Some((1_000, 1_030)), false));
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(130), &json!(35)));
        assert_eq!(result["series"]["bytes"], json!([100, 10, 20]));
        assert_eq!(result["streams"], json!([{"measured_bytes": 130, "measured_ns": 35}]));
    }

    #[test]
    fn the_last_read_of_any_stream_opens_the_measurement_of_all() {
        let mut series = Series::new(10);
        let mut first = tally(&[(5, 100), (25, 10)], &mut series);
        let mut second = tally(&[(2, 1_000), (12, 3), (35, 4)], &mut series);
        first.read_before(980, 30);
        second.read_before(996, 30);
        let late = tally(&[(20, 7), (30, 8)], &mut series);
        let result = json!(merge(&[&first, &second, &late], series, Some((1_000, 1_040)), false));
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(1_132), &json!(39)));
        assert_eq!(result["longest_gap_ns"], 10);
        assert_eq!(
            result["streams"],
            json!([
                {"measured_bytes": 110, "measured_ns": 45},
                {"measured_bytes": 1_007, "measured_ns": 39},
                {"measured_bytes": 8, "measured_ns": 10}
            ])
        );
    }

    /// Reads come late now and then, and take all data that waited. The rate is that of arrivals, on average over the
    /// places of the window. From the first read in the window to the last it would be too high.
    #[test]
    fn late_reads_do_not_raise_the_rate() {
        let mut reads = Vec::new();
        let (mut now_ns, mut read_bytes) = (0_u64, 0_u64);
        for number in 0_u64.. {
            now_ns += if number % 10 == 9 { 1_000 } else { 50 };
            // After a stall only what was delivered during a tenth of it is there, the rest comes with the next reads.
            let here_bytes = if number % 10 == 9 { now_ns - 500 } else { now_ns };
            reads.push((now_ns, here_bytes - read_bytes));
            read_bytes = here_bytes;
            if now_ns > 200_000 {
                break;
            }
        }
        let opens_ns: Vec<u64> = (10_000..=155_000).step_by(7).collect();
        for is_timed in [false, true] {
            let rates = rates(&reads, &opens_ns, 14_500, is_timed);
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            assert!((mean - 1.0).abs() < 1e-3, "{mean} {is_timed}");
        }
    }

    /// A receiver that waits for its turn reads every 0.2 ms the data that came at 100 Mbit/s, a segment at a time. The
    /// windows begin at a turn and last for a number of turns, so that each of their edges is as late as the last one.
    #[test]
    fn reads_that_wait_for_their_turn_do_not_bias_the_rate() {
        const TURN_NS: u64 = 200_000;
        const SEGMENT_NS: f64 = 121_120.0;
        const BYTES: u64 = 1_448;
        let here = |ns: u64| (ns as f64 / SEGMENT_NS) as u64 * BYTES;
        let reads: Vec<_> =
            (1..5_000).map(|turn| turn * TURN_NS).map(|ns| (ns, here(ns) - here(ns - TURN_NS))).collect();
        let opens_ns: Vec<u64> = (500..4_000).map(|turn| turn * TURN_NS).collect();
        let truth = BYTES as f64 / SEGMENT_NS;
        let worst = |is_timed| {
            let rates = rates(&reads, &opens_ns, 200_000_000, is_timed);
            rates.iter().map(|rate| (rate / truth - 1.0).abs()).fold(0.0, f64::max)
        };
        // A read is late by up to a segment; of ten turns, by up to 27 us.
        assert!(worst(false) > 5e-4, "{}", worst(false));
        assert!(worst(true) < 27e3 / 200e6, "{}", worst(true));
    }

    /// Rates that are measured in windows that open at these times, in bytes a nanosecond.
    fn rates(reads: &[(u64, u64)], opens_ns: &[u64], length_ns: u64, is_timed: bool) -> Vec<f64> {
        let rate = |&opens_ns: &u64| {
            let mut series = Series::new(1_000_000);
            let mut tally = Tally::default();
            for &(ns, bytes) in reads {
                if ns < opens_ns {
                    tally.read_before(ns, bytes);
                } else if ns <= opens_ns + length_ns {
                    tally.read(ns, ns - opens_ns, bytes, &mut series);
                }
            }
            let result = json!(merge(&[&tally], series, Some((opens_ns, opens_ns + length_ns)), is_timed));
            let bytes = result["measured_bytes"].as_u64().unwrap();
            let in_series = result["series"]["bytes"].as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap());
            assert_eq!(in_series.sum::<u64>(), bytes);
            bytes as f64 / result["measured_ns"].as_f64().unwrap()
        };
        opens_ns.iter().map(rate).collect()
    }

    #[test]
    fn an_edge_is_the_read_whose_bytes_came_soonest() {
        let mut series = Series::new(100);
        // 1 byte a nanosecond, and reads that are late by 3, 20; 2, 30.
        let mut stream = Tally::default();
        stream.read_before(963, 60);
        stream.read_before(990, 10);
        for (ns, bytes) in [(1_102, 130), (1_190, 60)] {
            stream.received_bytes += bytes;
            stream.read(ns, ns - 1_000, bytes, &mut series);
        }
        let result = json!(merge(&[&stream], series, Some((1_000, 1_200)), true));
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(140), &json!(139)));
        assert_eq!(result["series"]["bytes"], json!([10, 130]));
        assert_eq!(result["streams"], json!([{"measured_bytes": 140, "measured_ns": 139}]));
    }

    #[test]
    fn a_read_is_no_candidate_where_another_stream_does_not_know_what_had_come() {
        let mut series = Series::new(1_000);
        let (mut first, mut second) = (Tally::default(), Tally::default());
        first.read_before(900, 1_000);
        for ns in 960..980 {
            second.read_before(ns, 1);
        }
        first.read(1_500, 500, 10, &mut series);
        second.read(1_980, 980, 10, &mut series);
        let result = json!(merge(&[&first, &second], series, Some((1_000, 2_000)), true));
        // At 900 more had come for its time, but the reads of the other stream until then are forgotten.
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(20), &json!(1_001)));
    }

    #[test]
    fn several_streams_have_one_first_and_one_last_read() {
        let mut series = Series::new(10);
        let first = tally(&[(5, 100), (25, 10)], &mut series);
        let second = tally(&[(2, 1_000), (12, 3), (35, 4)], &mut series);
        let result = json!(merge(&[&first, &second], series, Some((1_000, 1_040)), false));
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(117), &json!(33)));
        assert_eq!(result["reads"], 5);
        assert_eq!(result["series"]["bytes"], json!([100, 3, 10, 4]));
        assert_eq!(
            result["streams"],
            json!([{"measured_bytes": 10, "measured_ns": 20}, {"measured_bytes": 7, "measured_ns": 33}])
        );
    }

    #[test]
    fn one_read_or_none_measures_nothing() {
        let mut series = Series::new(10);
        let stream = tally(&[(0, 100)], &mut series);
        let result = json!(merge(&[&stream], series, Some((1_000, u64::MAX)), false));
        assert_eq!(
            (&result["reads"], result.get("measured_ns"), result.get("measured_bytes")),
            (&json!(1), None, None)
        );
        assert_eq!((&result["started_ns"], &result["ended_ns"]), (&json!(1_000), &json!(1_000)));
        assert_eq!(result["streams"], json!([{}]));

        let result = json!(merge(&[&Tally::default()], Series::new(10), None, false));
        assert_eq!((&result["reads"], result.get("started_ns"), result.get("series")), (&json!(0), None, None));
    }
}

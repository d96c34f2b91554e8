//! What a receiver counts, and what becomes of the counts of several streams.

use serde_json::{Map, Value, json};

use crate::series::Series;

/// The reads of one stream.
#[derive(Default)]
pub struct Tally {
    /// All, before the window too.
    pub received_bytes: u64,
    reads: u64,
    /// When the last read before the window was.
    before_ns: Option<u64>,
    /// In the window, the first read included.
    window_bytes: u64,
    first: Option<Read>,
    last_ns: u64,
}

#[derive(Clone, Copy)]
struct Read {
    ns: u64,
    since_opening_ns: u64,
    bytes: u64,
}

impl Tally {
    /// Notes a read before the window.
    #[inline]
    pub fn read_before(&mut self, now_ns: u64) {
        self.before_ns = Some(now_ns);
    }

    /// Counts a read in the window, also in the series that the streams of a thread share.
    #[inline]
    pub fn read(&mut self, now_ns: u64, since_opening_ns: u64, bytes: u64, series: &mut Series<u64>) {
        self.first.get_or_insert(Read { ns: now_ns, since_opening_ns, bytes });
        self.reads += 1;
        self.window_bytes += bytes;
        self.last_ns = now_ns;
        *series.at(since_opening_ns) += bytes;
    }
}

/// Puts the streams of a direction together. The window's edges are known where a byte came; its end is that of the
/// last read where time is not the limit.
///
/// What is measured lasts from the last read before the window opens to the last read before it closes. Both are chosen
/// alike: a read after an edge is more often one that was long in coming, so that a window from the first read in it
/// would be too short for its bytes. Where nothing was read before the window, the first read in it opens the
/// measurement, and its bytes are not part of it: they came in an unknown time. So `measured_bytes` and `measured_ns`
/// need two reads at different times, and are absent otherwise.
pub fn merge(streams: &[&Tally], mut series: Series<u64>, edges_ns: Option<(u64, u64)>) -> Map<String, Value> {
    let mut result = Map::new();
    let total = |value: fn(&Tally) -> u64| streams.iter().map(|stream| value(stream)).sum::<u64>();
    result.insert("received_bytes".into(), json!(total(|stream| stream.received_bytes)));
    result.insert("reads".into(), json!(total(|stream| stream.reads)));

    let last_ns = streams.iter().map(|stream| stream.last_ns).max().unwrap_or(0);
    if streams.iter().all(|stream| stream.before_ns.is_none()) {
        if let Some(first) = first_of(streams) {
            *series.at(first.since_opening_ns) -= first.bytes;
        }
    }
    result.extend(measured(streams));
    if let Some((opens_ns, closes_ns)) = edges_ns {
        let ended_ns = if closes_ns == u64::MAX { last_ns.max(opens_ns) } else { closes_ns };
        result.insert("started_ns".into(), json!(opens_ns));
        result.insert("ended_ns".into(), json!(ended_ns));
        series.close(ended_ns - opens_ns);
        let bytes = series.slots();
        result.insert("series".into(), json!({"t_ns": series.ends_ns(ended_ns - opens_ns), "bytes": bytes}));
    }
    let each: Vec<_> = streams.iter().map(|&stream| Value::Object(measured(&[stream]))).collect();
    result.insert("streams".into(), Value::Array(each));
    result
}

fn first_of(streams: &[&Tally]) -> Option<Read> {
    streams.iter().filter_map(|stream| stream.first).min_by_key(|read| read.ns)
}

/// The bytes of some streams together, and the time in which they came.
fn measured(streams: &[&Tally]) -> Map<String, Value> {
    let Some(first) = first_of(streams) else { return Map::new() };
    let before_ns = streams.iter().filter_map(|stream| stream.before_ns).max();
    let (from_ns, not_measured_bytes) = before_ns.map_or((first.ns, first.bytes), |ns| (ns, 0));
    let bytes = streams.iter().map(|stream| stream.window_bytes).sum::<u64>() - not_measured_bytes;
    let last_ns = streams.iter().map(|stream| stream.last_ns).max().unwrap_or(0);
    if last_ns <= from_ns {
        return Map::new();
    }
    let ns = last_ns - from_ns;
    Map::from_iter([("measured_bytes".to_owned(), json!(bytes)), ("measured_ns".to_owned(), json!(ns))])
}

#[cfg(test)]
mod tests {
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
        let result = merge(&[&stream], series, Some((1_000, 1_030)));
        assert_eq!(result["received_bytes"], 130);
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(30), &json!(20)));
        assert_eq!((&result["started_ns"], &result["ended_ns"]), (&json!(1_000), &json!(1_030)));
        assert_eq!(result["series"], json!({"t_ns": [10, 20, 30], "bytes": [0, 10, 20]}));
    }

    #[test]
    fn the_last_read_before_the_window_opens_the_measurement() {
        let mut series = Series::new(10);
        let mut stream = tally(&[(5, 100), (15, 10), (25, 20)], &mut series);
        stream.read_before(970);
        stream.read_before(990);
        let result = merge(&[&stream], series, Some((1_000, 1_030)));
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(130), &json!(35)));
        assert_eq!(result["series"]["bytes"], json!([100, 10, 20]));
        assert_eq!(result["streams"], json!([{"measured_bytes": 130, "measured_ns": 35}]));
    }

    #[test]
    fn the_last_read_of_any_stream_opens_the_measurement_of_all() {
        let mut series = Series::new(10);
        let mut one = tally(&[(5, 100), (25, 10)], &mut series);
        let mut two = tally(&[(2, 1_000), (12, 3), (35, 4)], &mut series);
        one.read_before(980);
        two.read_before(996);
        let late = tally(&[(20, 7), (30, 8)], &mut series);
        let result = merge(&[&one, &two, &late], series, Some((1_000, 1_040)));
        assert_eq!((&result["measured_bytes"], &result["measured_ns"]), (&json!(1_132), &json!(39)));
        assert_eq!(
            result["streams"],
            json!([
                {"measured_bytes": 110, "measured_ns": 45},
                {"measured_bytes": 1_007, "measured_ns": 39},
                {"measured_bytes": 8, "measured_ns": 10}
            ])
        );
    }

    /// Reads come late now and then, and what waited is read with them. The rate is what came, on average over where the
    /// window lies. From the first read in the window to the last it would be too high.
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
        let length_ns = 14_500;
        let mut sum = 0.0;
        let mut windows = 0.0;
        for opens_ns in (10_000..=155_000).step_by(7) {
            let mut series = Series::new(1_000_000);
            let mut tally = Tally::default();
            for &(ns, bytes) in &reads {
                if ns < opens_ns {
                    tally.read_before(ns);
                } else if ns <= opens_ns + length_ns {
                    tally.read(ns, ns - opens_ns, bytes, &mut series);
                }
            }
            let result = merge(&[&tally], series, Some((opens_ns, opens_ns + length_ns)));
            sum += result["measured_bytes"].as_f64().unwrap() / result["measured_ns"].as_f64().unwrap();
            windows += 1.0;
        }
        assert!((sum / windows - 1.0_f64).abs() < 1e-3, "{}", sum / windows);
    }

    #[test]
    fn several_streams_have_one_first_and_one_last_read() {
        let mut series = Series::new(10);
        let one = tally(&[(5, 100), (25, 10)], &mut series);
        let two = tally(&[(2, 1_000), (12, 3), (35, 4)], &mut series);
        let result = merge(&[&one, &two], series, Some((1_000, 1_040)));
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
        let result = merge(&[&stream], series, Some((1_000, u64::MAX)));
        assert_eq!(
            (&result["reads"], result.get("measured_ns"), result.get("measured_bytes")),
            (&json!(1), None, None)
        );
        assert_eq!((&result["started_ns"], &result["ended_ns"]), (&json!(1_000), &json!(1_000)));
        assert_eq!(result["streams"], json!([{}]));

        let result = merge(&[&Tally::default()], Series::new(10), None);
        assert_eq!((&result["reads"], result.get("started_ns"), result.get("series")), (&json!(0), None, None));
    }
}

//! What a receiver counts, and what becomes of the counts of several streams.

use serde_json::{Map, Value, json};

use crate::series::Series;

/// The reads of one stream.
#[derive(Default)]
pub struct Tally {
    /// All, before the window too.
    pub received_bytes: u64,
    reads: u64,
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
    /// Counts a read in the window, also in the series that the streams of a thread share.
    #[inline]
    pub fn read(&mut self, now_ns: u64, since_opening_ns: u64, bytes: u64, series: &mut Series<u64>) {
        self.first.get_or_insert(Read { ns: now_ns, since_opening_ns, bytes });
        self.reads += 1;
        self.window_bytes += bytes;
        self.last_ns = now_ns;
        *series.at(since_opening_ns) += bytes;
    }

    /// Bytes after the first read, and the time from it to the last; nothing where there is no such time.
    fn measured(&self) -> Option<(u64, u64)> {
        let first = self.first?;
        rate(self.window_bytes - first.bytes, first.ns, self.last_ns)
    }
}

/// Puts the streams of a direction together. The window's edges are known where a byte came; its end is that of the
/// last read where time is not the limit.
///
/// The very first read opens the measurement and its bytes are not part of it: they came in an unknown time. So
/// `measured_bytes` and `measured_ns` need two reads at different times, and are absent otherwise.
pub fn merge(streams: &[&Tally], mut series: Series<u64>, edges_ns: Option<(u64, u64)>) -> Map<String, Value> {
    let mut result = Map::new();
    let total = |value: fn(&Tally) -> u64| streams.iter().map(|stream| value(stream)).sum::<u64>();
    result.insert("received_bytes".into(), json!(total(|stream| stream.received_bytes)));
    result.insert("reads".into(), json!(total(|stream| stream.reads)));

    let first = streams.iter().filter_map(|stream| stream.first).min_by_key(|read| read.ns);
    let last_ns = streams.iter().map(|stream| stream.last_ns).max().unwrap_or(0);
    if let Some(first) = first {
        *series.at(first.since_opening_ns) -= first.bytes;
        let measured = rate(total(|stream| stream.window_bytes) - first.bytes, first.ns, last_ns);
        result.extend(measured_fields(measured));
    }
    if let Some((opens_ns, closes_ns)) = edges_ns {
        let ended_ns = if closes_ns == u64::MAX { last_ns.max(opens_ns) } else { closes_ns };
        result.insert("started_ns".into(), json!(opens_ns));
        result.insert("ended_ns".into(), json!(ended_ns));
        series.close(ended_ns - opens_ns);
        let bytes = series.slots();
        result.insert("series".into(), json!({"t_ns": series.ends_ns(ended_ns - opens_ns), "bytes": bytes}));
    }
    let each: Vec<_> = streams.iter().map(|stream| Value::Object(measured_fields(stream.measured()))).collect();
    result.insert("streams".into(), Value::Array(each));
    result
}

fn rate(bytes: u64, from_ns: u64, to_ns: u64) -> Option<(u64, u64)> {
    (to_ns > from_ns).then(|| (bytes, to_ns - from_ns))
}

fn measured_fields(measured: Option<(u64, u64)>) -> Map<String, Value> {
    let Some((bytes, ns)) = measured else { return Map::new() };
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

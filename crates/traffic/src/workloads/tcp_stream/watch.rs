//! Watching senders: CPU at the edges of their window, `TCP_INFO` in each interval of it. In a thread of its own, which
//! ends with the streams.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};

use super::moving::Connections;
use crate::progress::{Progress, Sending};
use crate::workloads::cpu_watch::{Edges, sample_due_ns, wait_until};
use crate::workloads::tcp::info::TcpInfo;

/// More samples than this are not kept: at the default interval that is more than a day.
const MAX_SAMPLES: usize = 1_000_000;

/// The thread.
pub struct Watch(JoinHandle<WatchTally>);

impl Watch {
    /// Starts waiting for the first write, which [`Edges`] reports; when all of those are dropped, the window is over.
    /// Samples are noted in `progress`.
    pub fn start(
        streams: Vec<Arc<Connections>>,
        warmup_ns: u64,
        interval_ns: u64,
        progress: Progress,
    ) -> io::Result<(Self, Edges)> {
        let (edges, started) = mpsc::channel();
        let watching = Watching { streams, started, warmup_ns, interval_ns, progress };
        let thread = thread::Builder::new().name("tcp-watch".into()).spawn(move || watching.run())?;
        Ok((Self(thread), edges))
    }

    /// The account, once all [`Edges`] are dropped; absent where the thread has panicked.
    pub fn end(self) -> Option<WatchTally> {
        self.0.join().ok()
    }
}

/// The account of senders, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchTally {
    /// Absent where the window did not open.
    #[serde(flatten)]
    window: Option<WindowTally>,
    /// At the end.
    tcp_info: Combined,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WindowTally {
    series: Columns,
    cpu: cpu::Span,
}

/// A list for each quantity, `null` where the kernel did not know it.
#[derive(Debug, Serialize, JsonSchema)]
struct Columns {
    t_ns: Vec<u64>,
    rtt_ns: Vec<Option<u64>>,
    cwnd_packets: Vec<Option<f64>>,
    retransmits: Vec<Option<u64>>,
    delivery_rate_bps: Vec<Option<u64>>,
}

struct Watching {
    streams: Vec<Arc<Connections>>,
    started: mpsc::Receiver<u64>,
    warmup_ns: u64,
    interval_ns: u64,
    progress: Progress,
}

/// `TCP_INFO` of all streams at one time.
struct Sample {
    t_ns: u64,
    all: Combined,
}

impl Watching {
    fn run(self) -> WatchTally {
        let started_ns = self.started.recv().ok();
        let is_due = |started_ns: &u64| wait_until(&self.started, sample_due_ns(*started_ns, self.warmup_ns));
        let window = started_ns.filter(is_due).map(|started_ns| {
            let from = cpu::sample();
            let samples = self.sample(started_ns.saturating_add(self.warmup_ns));
            WindowTally { series: series(&samples), cpu: cpu::Span { from, to: cpu::sample() } }
        });
        WatchTally { window, tcp_info: self.combined() }
    }

    /// Just before the opening, after each interval, and at the end.
    fn sample(&self, opens_ns: u64) -> Vec<Sample> {
        let opening = self.combined();
        let retransmits_before = opening.retransmits;
        self.progress.note_sending(opening.sending(0, retransmits_before));
        let mut samples = vec![Sample { t_ns: 0, all: opening }];
        let mut due_ns = opens_ns.saturating_add(self.interval_ns);
        loop {
            let left_ns = due_ns.saturating_sub(clock::monotonic_ns());
            let over = match self.started.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(_) => continue,
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let t_ns = clock::monotonic_ns().saturating_sub(opens_ns);
            let all = self.combined();
            self.progress.note_sending(all.sending(t_ns, retransmits_before));
            if samples.len() < MAX_SAMPLES {
                samples.push(Sample { t_ns, all });
            }
            if over {
                return samples;
            }
            // Intervals that were slept through are gone; the next is on the grid again.
            let intervals = t_ns / self.interval_ns + 1;
            due_ns = opens_ns.saturating_add(intervals.saturating_mul(self.interval_ns));
        }
    }

    fn combined(&self) -> Combined {
        Combined::of(&self.streams.iter().flat_map(|stream| stream.infos()).collect::<Vec<_>>())
    }
}

/// `TCP_INFO` of several streams as one, by the names of the protocol document. What the kernel does not tell is
/// absent.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
struct Combined {
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_acked: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments_out: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_rate_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rttvar_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwnd_packets: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reordering: Option<f64>,
}

impl Combined {
    /// Combines the streams. Counts are sums over all of them. A value that describes a stream as it is now is a mean
    /// over those still at work, or over all once none is; the delivery rate is their sum, the least RTT the least.
    fn of(streams: &[TcpInfo]) -> Self {
        let mut now: Vec<_> = streams.iter().filter(|info| info.is_sending).collect();
        if now.is_empty() {
            now = streams.iter().collect();
        }
        let total = |value: fn(&TcpInfo) -> Option<u64>| sum(streams.iter().map(value));
        let mean = |value: fn(&TcpInfo) -> Option<u64>| {
            let known = now.iter().filter_map(|info| value(info)).count();
            Some(sum(now.iter().map(|info| value(info)))? as f64 / known as f64)
        };
        Self {
            retransmits: total(|info| info.retransmits),
            bytes_acked: total(|info| info.bytes_acked),
            segments_out: total(|info| info.segments_out),
            delivery_rate_bps: sum(now.iter().map(|info| info.delivery_rate_bps)),
            min_rtt_ns: streams.iter().filter_map(|info| info.min_rtt_ns).min(),
            rtt_ns: mean(|info| info.rtt_ns).map(|ns| ns.round() as u64),
            rttvar_ns: mean(|info| info.rttvar_ns).map(|ns| ns.round() as u64),
            cwnd_packets: mean(|info| info.cwnd_packets),
            reordering: mean(|info| info.reordering),
        }
    }

    /// The state that is reported while the streams are at work. `before`: the retransmits when the window opened.
    fn sending(&self, t_ns: u64, before: Option<u64>) -> Sending {
        let retransmits = self.retransmits.zip(before).map(|(now, before)| now.saturating_sub(before));
        Sending { t_ns, rtt_ns: self.rtt_ns, cwnd_packets: self.cwnd_packets, retransmits }
    }
}

/// The sum of what is known; nothing where nothing is.
fn sum(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.flatten().fold(None, |sum, value| Some(sum.unwrap_or(0_u64).saturating_add(value)))
}

/// The intervals between samples. The first sample is the opening, not an interval.
fn series(samples: &[Sample]) -> Columns {
    let ends = samples.get(1..).unwrap_or_default();
    let retransmits =
        |(before, after): (&Sample, &Sample)| Some(after.all.retransmits?.saturating_sub(before.all.retransmits?));
    Columns {
        t_ns: ends.iter().map(|sample| sample.t_ns).collect(),
        rtt_ns: ends.iter().map(|sample| sample.all.rtt_ns).collect(),
        cwnd_packets: ends.iter().map(|sample| sample.all.cwnd_packets).collect(),
        retransmits: samples.iter().zip(ends).map(retransmits).collect(),
        delivery_rate_bps: ends.iter().map(|sample| sample.all.delivery_rate_bps).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_gauges_are_of_the_streams_at_work() {
        let info = |is_sending, retransmits, cwnd, rtt_us: u64| TcpInfo {
            is_sending,
            retransmits: Some(retransmits),
            cwnd_packets: Some(cwnd),
            rtt_ns: Some(rtt_us * 1_000),
            min_rtt_ns: Some(rtt_us * 900),
            delivery_rate_bps: Some(5),
            ..TcpInfo::default()
        };
        let all = Combined::of(&[info(true, 1, 10, 30), info(true, 2, 13, 20), info(false, 4, 99, 10)]);
        assert_eq!((all.retransmits, all.cwnd_packets, all.rtt_ns), (Some(7), Some(11.5), Some(25_000)));
        assert_eq!((all.min_rtt_ns, all.delivery_rate_bps, all.bytes_acked), (Some(9_000), Some(10), None));
        let over = Combined::of(&[info(false, 4, 99, 10)]);
        assert_eq!(over.cwnd_packets, Some(99.0));
        assert_eq!(Combined::of(&[]), Combined::default());
    }

    #[test]
    fn what_is_told_meanwhile_counts_from_the_opening_of_the_window() {
        let all = Combined { retransmits: Some(7), rtt_ns: Some(5), ..Combined::default() };
        let sending = all.sending(9, Some(3));
        assert_eq!(
            (sending.t_ns, sending.rtt_ns, sending.cwnd_packets, sending.retransmits),
            (9, Some(5), None, Some(4))
        );
        assert_eq!(all.sending(9, None).retransmits, None);
    }

    #[test]
    fn retransmits_are_those_of_each_interval_and_the_unknown_is_null() {
        let sample = |t_ns, retransmits| Sample { t_ns, all: Combined { retransmits, ..Combined::default() } };
        let series = series(&[sample(0, Some(3)), sample(10, Some(3)), sample(14, Some(8))]);
        assert_eq!(series.t_ns, [10, 14]);
        assert_eq!(series.retransmits, [Some(0), Some(5)]);
        assert_eq!(series.rtt_ns, [None, None]);
    }
}

//! CPU samples at the edges of a window, taken in a thread of their own.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sixbench_measure::{clock, cpu};

use crate::{Error, Result};

/// The threads that measure each hold one. The first `started` starts the count of the warm-up; when all are dropped,
/// the window is over.
pub type Edges = mpsc::Sender<u64>;

/// Time before the window at which the first sample is taken, where there is a warm-up.
///
/// A sample takes some 30 us of the processor on which the receiver may run too. Taken when the window opens, it would
/// delay the first read in it, and nothing delays the last one as much: the window would be too short for its bytes.
const LEAD_NS: u64 = 2_000_000;

/// Time at which the first sample is due: before the window, and not before the first byte.
pub fn sample_due_ns(started_ns: u64, warmup_ns: u64) -> u64 {
    started_ns.saturating_add(warmup_ns.saturating_sub(LEAD_NS))
}

/// A thread that samples the CPU just before the warm-up is over and when the last [`Edges`] is dropped.
pub struct CpuWatch(JoinHandle<Option<cpu::Span>>);

impl CpuWatch {
    /// Starts waiting. Tell when the first byte or transaction came by sending its monotonic time to [`Edges`].
    pub fn start(warmup_ns: u64) -> io::Result<(Self, Edges)> {
        let (edges, started) = mpsc::channel();
        let thread = thread::Builder::new().name("cpu-watch".into()).spawn(move || watch(&started, warmup_ns))?;
        Ok((Self(thread), edges))
    }

    /// Starts waiting at a server, as [`CpuWatch::start`].
    pub fn of_server(warmup_ns: u64) -> Result<(Self, Edges)> {
        Self::start(warmup_ns).map_err(|e| Error::system("starting to watch the CPU of a server", "clone", e))
    }

    /// The span, once all [`Edges`] are dropped. Absent where the window never opened.
    pub fn end(self) -> Option<cpu::Span> {
        self.0.join().ok().flatten()
    }
}

fn watch(started: &mpsc::Receiver<u64>, warmup_ns: u64) -> Option<cpu::Span> {
    let due_ns = sample_due_ns(started.recv().ok()?, warmup_ns);
    if !wait_until(started, due_ns) {
        return None;
    }
    let from = cpu::sample();
    while started.recv().is_ok() {}
    Some(cpu::Span { from, to: cpu::sample() })
}

/// Waits for a time on the monotonic clock; `false` where all senders were dropped before it.
pub fn wait_until<T>(channel: &mpsc::Receiver<T>, time_ns: u64) -> bool {
    loop {
        let left_ns = time_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 {
            return true;
        }
        if let Err(RecvTimeoutError::Disconnected) = channel.recv_timeout(Duration::from_nanos(left_ns)) {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_two_samples() {
        let warmup_ns = LEAD_NS + 1_000;
        let (watch, edges) = CpuWatch::start(warmup_ns).unwrap();
        let started_ns = clock::monotonic_ns() - warmup_ns;
        edges.send(started_ns).unwrap();
        drop(edges);
        let span = watch.end().unwrap();
        assert!(span.from.clock_ns >= started_ns + 1_000);
        assert!(span.to.clock_ns >= span.from.clock_ns);
    }

    #[test]
    fn the_first_sample_is_before_the_window_but_not_before_the_first_byte() {
        assert_eq!(sample_due_ns(10, 500_000_000), 10 + 500_000_000 - LEAD_NS);
        assert_eq!(sample_due_ns(10, LEAD_NS / 2), 10);
    }

    #[test]
    fn a_window_that_never_opened_has_none() {
        let (watch, edges) = CpuWatch::start(0).unwrap();
        drop(edges);
        assert!(watch.end().is_none());

        let (watch, edges) = CpuWatch::start(u64::MAX).unwrap();
        edges.send(clock::monotonic_ns()).unwrap();
        drop(edges);
        assert!(watch.end().is_none());
    }
}

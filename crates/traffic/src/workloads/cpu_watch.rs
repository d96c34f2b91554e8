//! CPU samples at the edges of a window, taken in a thread of their own so that reading them delays no packet.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{clock, cpu};

/// The threads that measure each hold one. The first `started` starts the count of the warm-up; when all are dropped,
/// the window is over.
pub type Edges = mpsc::Sender<u64>;

/// A thread that samples the CPU when the warm-up is over and when the last [`Edges`] is dropped.
pub struct CpuWatch(JoinHandle<Option<cpu::Span>>);

impl CpuWatch {
    /// Starts waiting. Tell when the first byte or transaction came by sending its monotonic time to [`Edges`].
    pub fn start(warmup_ns: u64) -> io::Result<(Self, Edges)> {
        let (edges, started) = mpsc::channel();
        let thread = thread::Builder::new().name("cpu-watch".into()).spawn(move || watch(&started, warmup_ns))?;
        Ok((Self(thread), edges))
    }

    /// The span, once all [`Edges`] are dropped. Absent where the window never opened.
    pub fn end(self) -> Option<cpu::Span> {
        self.0.join().ok().flatten()
    }
}

fn watch(started: &mpsc::Receiver<u64>, warmup_ns: u64) -> Option<cpu::Span> {
    let opens_ns = started.recv().ok()?.saturating_add(warmup_ns);
    if !wait_until(started, opens_ns) {
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
        let (watch, edges) = CpuWatch::start(1_000).unwrap();
        let started_ns = clock::monotonic_ns() - 1_000;
        edges.send(started_ns).unwrap();
        drop(edges);
        let span = watch.end().unwrap();
        assert!(span.from.clock_ns >= started_ns + 1_000);
        assert!(span.to.clock_ns >= span.from.clock_ns);
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

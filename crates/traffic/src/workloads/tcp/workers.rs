//! The threads of the streams: started one by one, and the ends of the streams waited for together.

use std::io;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sixbench_measure::clock;

use crate::cancel::{PATIENCE, Stop};
use crate::error::timeout;
use crate::{Error, Result};

/// The streams' threads, as a whole. When one fails, the others are stopped.
pub struct Workers {
    stop: Stop,
    ended: mpsc::Receiver<Result<usize>>,
    starter: Starter,
}

/// Starts threads of streams.
#[derive(Clone)]
pub struct Starter {
    stop: Stop,
    ended: mpsc::Sender<Result<usize>>,
}

/// A thread, which returns a value where it did not fail.
pub type Worker<T> = JoinHandle<Option<T>>;

impl Workers {
    /// Workers without a thread so far.
    pub fn new(stop: &Stop) -> Self {
        let (sender, ended) = mpsc::channel();
        Self { stop: stop.clone(), ended, starter: Starter { stop: stop.clone(), ended: sender } }
    }

    /// The starter of their threads, for another thread to use.
    pub fn starter(&self) -> &Starter {
        &self.starter
    }

    /// Waits until this many streams have ended, or one has failed: then the others are stopped.
    pub fn wait(&self, streams: usize, deadline_ns: Option<u64>, doing: &str) -> Result<()> {
        let result = self.wait_for_all(streams, deadline_ns, doing);
        if result.is_err() {
            self.stop.raise();
        }
        result
    }

    fn wait_for_all(&self, streams: usize, deadline_ns: Option<u64>, doing: &str) -> Result<()> {
        let started_ns = clock::monotonic_ns();
        let mut ended = 0;
        while ended < streams {
            let now_ns = clock::monotonic_ns();
            let left_ns = deadline_ns.map_or(u64::MAX, |deadline_ns| deadline_ns.saturating_sub(now_ns));
            match self.ended.recv_timeout(PATIENCE.min(Duration::from_nanos(left_ns))) {
                Ok(outcome) => ended += outcome?,
                Err(_) => {
                    self.stop.check()?;
                    if left_ns == 0 {
                        let doing = format!("{doing} ({ended} of {streams} did)");
                        return Err(timeout(doing, now_ns - started_ns));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Starter {
    /// Starts a thread for this many streams; the stop is for it to watch.
    pub fn start<T: Send + 'static>(
        &self,
        name: &str,
        streams: usize,
        work: impl FnOnce(&Stop) -> Result<T> + Send + 'static,
    ) -> io::Result<Worker<T>> {
        let Self { stop, ended } = self.clone();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let (value, outcome) = match work(&stop) {
                Ok(value) => (Some(value), Ok(streams)),
                Err(error) => (None, Err(error)),
            };
            // Nobody may be waiting any more.
            let _ = ended.send(outcome);
            value
        })
    }

    /// Reports that a stream failed before it had a thread.
    pub fn fail(&self, error: Error) {
        let _ = self.ended.send(Err(error));
    }
}

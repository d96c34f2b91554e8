//! Watching over a thread whose calls block without a timeout.
//!
//! A receive timeout makes the kernel start and cancel a timer in every call that waits, which in a closed loop of
//! small messages costs several percent of the rate. A guard costs the loop one store to memory a transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::cancel::{PATIENCE, Stop};
use crate::sys::interrupt::Sleeper;
use crate::{Error, Result};

/// A guard looks no more often than this, however short the timeout is.
const MIN_TICK: Duration = Duration::from_millis(1);

/// Wakes the thread that made it out of its blocking calls (`EINTR`) at each look at which nothing has moved since the
/// one before, or the session was stopped. The woken thread decides what that means. It ends when dropped.
pub struct Guard {
    progress: Arc<AtomicU64>,
    /// Dropping it ends the thread at once.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// A guard for calls that may wait this long: they are woken before, and then again and again.
    pub fn of_timeout(timeout_ns: u64, stop: &Stop) -> Result<Self> {
        // Nothing has moved for one to two ticks when it wakes.
        Self::start(Duration::from_nanos(timeout_ns / 4).clamp(MIN_TICK, PATIENCE), stop)
    }

    /// Looks every `tick` at the calling thread.
    pub fn start(tick: Duration, stop: &Stop) -> Result<Self> {
        let doing = "guarding a thread against waiting for ever";
        let sleeper = Sleeper::this_thread().map_err(|e| Error::system(doing, "sigaction", e))?;
        let progress = Arc::new(AtomicU64::new(0));
        let (end, ended) = mpsc::channel();
        let (theirs, stop) = (Arc::clone(&progress), stop.clone());
        let thread = thread::Builder::new()
            .name("guard".into())
            .spawn(move || watch(sleeper, &theirs, &ended, tick, &stop))
            .map_err(|e| Error::system(doing, "clone", e))?;
        Ok(Self { progress, end: Some(end), thread: Some(thread) })
    }

    /// Something has moved.
    #[inline]
    pub fn note_progress(&self) {
        // Nobody else writes it, so that it need not be one atomic operation.
        self.progress.store(self.progress.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It gives nothing, and has nothing to panic about.
            let _ = thread.join();
        }
    }
}

fn watch(sleeper: Sleeper, progress: &AtomicU64, ended: &mpsc::Receiver<()>, tick: Duration, stop: &Stop) {
    let mut before = progress.load(Ordering::Relaxed);
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(tick) {
        let now = progress.load(Ordering::Relaxed);
        if now == before || stop.is_raised() {
            sleeper.wake();
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;
    use crate::Cancel;

    #[test]
    fn a_thread_that_waits_is_woken() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let _guard = Guard::of_timeout(1, &Stop::new(&Cancel::default())).unwrap();
        assert_eq!(socket.recv(&mut [0; 9]).unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_stop_wakes_even_where_something_moves() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stop = Stop::new(&Cancel::default());
        let guard = Guard::start(PATIENCE, &stop).unwrap();
        stop.raise();
        thread::scope(|scope| {
            let (ended, end) = mpsc::channel::<()>();
            scope.spawn({
                let guard = &guard;
                move || {
                    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(MIN_TICK) {
                        guard.note_progress();
                    }
                }
            });
            assert_eq!(socket.recv(&mut [0; 9]).unwrap_err().kind(), io::ErrorKind::Interrupted);
            drop(ended);
        });
    }
}

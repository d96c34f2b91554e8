//! A serving side that is one thread, which can be finished, stopped and joined.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use sixbench_measure::clock;

use crate::cancel::{Cancel, Stop};
use crate::error::cancelled;
use crate::session::{Finish, Server};
use crate::sys::interrupt::Sleeper;
use crate::{Error, Result};

/// A thread that was woken just before it blocks is woken again after this.
const WAKE_AGAIN: Duration = Duration::from_millis(1);

/// A server whose thread is woken by an order, and then ends.
pub struct ThreadServer<T> {
    port: u16,
    control: Arc<Control>,
    thread: Option<JoinHandle<Result<T>>>,
}

/// The orders that the thread looks at between its blocking calls.
pub struct Control {
    stop: Stop,
    /// The thread, from where it begins.
    sleeper: OnceLock<Sleeper>,
    /// The order to finish, and the thread that waits until it is taken.
    order: OnceLock<(Order, Thread)>,
    is_taken: AtomicBool,
}

/// `finish`, as the thread gets it.
#[derive(Clone, Copy)]
pub struct Order {
    /// The request.
    pub finish: Finish,
    /// Time of the order, on the monotonic clock.
    pub given_ns: u64,
}

impl<T: Send + 'static> ThreadServer<T> {
    /// Starts `work`; its value is the server's result.
    pub fn start(
        workload: &'static str,
        port: u16,
        cancel: &Cancel,
        work: impl FnOnce(&Control) -> Result<T> + Send + 'static,
    ) -> Result<Box<dyn Server<T>>> {
        let control = Arc::new(Control {
            stop: Stop::new(cancel),
            sleeper: OnceLock::new(),
            order: OnceLock::new(),
            is_taken: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&control);
        let doing = move || format!("starting the server of {workload}");
        let thread = thread::Builder::new()
            .name(workload.to_owned())
            .spawn(move || {
                let sleeper = Sleeper::this_thread().map_err(|e| Error::system(doing(), "sigaction", e))?;
                let _ = theirs.sleeper.set(sleeper);
                work(&theirs)
            })
            .map_err(|e| Error::system(doing(), "clone", e))?;
        Ok(Box::new(Self { port, control, thread: Some(thread) }))
    }
}

impl Control {
    /// `Err(Cancelled)` once the session is cancelled or the server dropped.
    pub fn check(&self) -> Result<()> {
        self.stop.check()
    }

    /// The flag that ends the session early.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The order to finish, once it is given. After that the thread is not woken any more.
    #[inline]
    pub fn order(&self) -> Option<&Order> {
        let (order, giver) = self.order.get()?;
        self.is_taken.store(true, Ordering::Release);
        giver.unpark();
        Some(order)
    }

    fn wake(&self) {
        if let Some(sleeper) = self.sleeper.get() {
            sleeper.wake();
        }
        thread::park_timeout(WAKE_AGAIN);
    }
}

impl Order {
    /// True if the wait that was allowed is over.
    pub fn is_overdue(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.given_ns) >= self.finish.timeout_ns
    }
}

impl<T> ThreadServer<T> {
    fn is_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<T: Send + 'static> Server<T> for ThreadServer<T> {
    fn port(&self) -> u16 {
        self.port
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<T> {
        // It can be set once only, and `finish` consumes the server.
        let order = Order { finish: *finish, given_ns: clock::monotonic_ns() };
        let _ = self.control.order.set((order, thread::current()));
        while !self.control.is_taken.load(Ordering::Acquire) && !self.is_ended() {
            self.control.wake();
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(cancelled()),
        }
    }
}

impl<T> Drop for ThreadServer<T> {
    fn drop(&mut self) {
        self.control.stop.raise();
        while !self.is_ended() {
            self.control.wake();
        }
        if let Some(thread) = self.thread.take() {
            // Its result, or its panic, is of no interest any more.
            let _ = thread.join();
        }
    }
}

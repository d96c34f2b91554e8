//! A serving side that is one thread: told to finish, told to stop, and joined.

use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use super::tcp::Stop;
use crate::clock;
use crate::session::{Cancel, Finish, Server};
use crate::{Error, Result};

/// A server whose thread ends within its socket's timeout once it is told to.
pub struct ThreadServer {
    port: u16,
    control: Arc<Control>,
    thread: Option<JoinHandle<Result<Value>>>,
}

/// What the thread looks at between its blocking calls.
pub struct Control {
    stop: Stop,
    order: OnceLock<Order>,
}

/// `finish`, as the thread is told.
#[derive(Clone, Copy)]
pub struct Order {
    /// What was asked.
    pub finish: Finish,
    /// When, on the monotonic clock.
    pub given_ns: u64,
}

impl ThreadServer {
    /// Starts `work`; its value is the server's result.
    pub fn start(
        workload: &'static str,
        port: u16,
        cancel: &Cancel,
        work: impl FnOnce(&Control) -> Result<Value> + Send + 'static,
    ) -> Result<Box<dyn Server>> {
        let control = Arc::new(Control { stop: Stop::new(cancel), order: OnceLock::new() });
        let theirs = Arc::clone(&control);
        let thread = thread::Builder::new()
            .name(workload.to_owned())
            .spawn(move || work(&theirs))
            .map_err(|e| Error::system(format!("starting the server of {workload}"), "clone", e))?;
        Ok(Box::new(Self { port, control, thread: Some(thread) }))
    }
}

impl Control {
    /// `Err(Cancelled)` once the session is cancelled or the server dropped.
    pub fn check(&self) -> Result<()> {
        self.stop.check()
    }

    /// The order to finish, once it is given.
    pub fn order(&self) -> Option<&Order> {
        self.order.get()
    }
}

impl Order {
    /// Whether the wait that was allowed is over.
    pub fn is_overdue(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.given_ns) >= self.finish.timeout_ns
    }
}

impl Server for ThreadServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<Value> {
        // It can be set once only, and `finish` consumes the server.
        let _ = self.control.order.set(Order { finish: *finish, given_ns: clock::monotonic_ns() });
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(Error::Cancelled),
        }
    }
}

impl Drop for ThreadServer {
    fn drop(&mut self) {
        self.control.stop.raise();
        if let Some(thread) = self.thread.take() {
            // Its result, or its panic, is of no interest any more.
            let _ = thread.join();
        }
    }
}

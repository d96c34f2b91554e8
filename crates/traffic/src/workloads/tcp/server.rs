//! The end of the serving sides of workloads of TCP.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sixbench_measure::clock;

use super::{Acceptor, Admit, Stop, TcpOptions, Worker, Workers};
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::{Endpoint, Error, Finish, Result, Server};

/// Takes the connections of a session, and gives its result.
pub trait Serve: Admit {
    /// The server's result, where there were this many strays.
    fn result(self, strays: u64) -> Value;
}

/// Hands the connections of a session to threads of their own.
pub struct AdmittingServer<A: Serve> {
    /// Taken when the session ends.
    acceptor: Option<Acceptor<A>>,
    workers: Workers,
    stop: Stop,
    connections: usize,
    /// The work that `finish` does, for errors.
    doing: String,
}

impl<A: Serve> AdmittingServer<A> {
    /// Listens for this many connections, whose threads are among the workers. `what` names them, such as `streams`.
    pub fn start(
        endpoint: &Endpoint,
        options: &TcpOptions,
        (connections, what): (usize, &str),
        admit: A,
        workers: Workers,
        stop: &Stop,
    ) -> Result<Box<dyn Server>> {
        let acceptor = Acceptor::start(endpoint, options, connections, admit, stop.clone())?;
        let doing = format!("waiting for the {what} of {} to end", endpoint.peer);
        Ok(Box::new(Self { acceptor: Some(acceptor), workers, stop: stop.clone(), connections, doing }))
    }

    /// Stops what still runs, waits for it, and gives the result, the first time.
    fn end(&mut self) -> Option<Value> {
        self.stop.raise();
        let (admit, strays) = self.acceptor.take()?.join();
        Some(admit.result(strays))
    }
}

impl<A: Serve> Server for AdmittingServer<A> {
    fn port(&self) -> u16 {
        self.acceptor.as_ref().map_or(0, Acceptor::port)
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<Value> {
        let deadline_ns = clock::monotonic_ns().saturating_add(finish.timeout_ns);
        self.workers.wait(self.connections, Some(deadline_ns), &self.doing)?;
        Ok(self.end().unwrap_or_default())
    }
}

impl<A: Serve> Drop for AdmittingServer<A> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Counts of one thread for all the connections of a session.
pub trait Counted: Default + Send + 'static {
    /// The server's result, but for the CPU.
    fn to_json(&self) -> Value;
}

/// One thread that serves all the connections of a session.
pub struct CountingServer<C> {
    port: u16,
    workers: Workers,
    /// Taken when the session ends.
    worker: Option<Worker<C>>,
    cpu: Option<CpuWatch>,
    is_finishing: Arc<AtomicBool>,
    stop: Stop,
    /// The work that `finish` does, for errors.
    doing: String,
}

impl<C: Counted> CountingServer<C> {
    /// Starts the thread. The flag is raised when it has to end.
    pub fn start(
        (port, warmup_ns): (u16, u64),
        stop: Stop,
        doing: String,
        serve: impl FnOnce(Edges, &AtomicBool, &Stop) -> Result<C> + Send + 'static,
    ) -> Result<Box<dyn Server>> {
        let workers = Workers::new(&stop);
        let (cpu, edges) = CpuWatch::of_server(warmup_ns)?;
        let is_finishing = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&is_finishing);
        let worker = workers
            .starter()
            .start("tcp-accept", 1, move |stop| serve(edges, &is_over, stop))
            .map_err(|e: io::Error| Error::system("starting to accept connections", "clone", e))?;
        Ok(Box::new(Self { port, workers, worker: Some(worker), cpu: Some(cpu), is_finishing, stop, doing }))
    }

    /// Stops what still runs and waits for it.
    fn end(&mut self) -> Option<C> {
        self.stop.raise();
        self.worker.take()?.join().ok().flatten()
    }
}

impl<C: Counted> Server for CountingServer<C> {
    fn port(&self) -> u16 {
        self.port
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<Value> {
        self.is_finishing.store(true, Ordering::Relaxed);
        let deadline_ns = clock::monotonic_ns().saturating_add(finish.timeout_ns);
        self.workers.wait(1, Some(deadline_ns), &self.doing)?;
        let mut result = self.end().unwrap_or_default().to_json();
        if let Some(span) = self.cpu.take().and_then(CpuWatch::end) {
            result["cpu"] = json!(span);
        }
        Ok(result)
    }
}

impl<C> Drop for CountingServer<C> {
    fn drop(&mut self) {
        self.stop.raise();
        // Its count, or its panic, is of no interest any more.
        let _ = self.worker.take().map(Worker::join);
    }
}

//! The end of the serving sides of workloads of TCP.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};

use super::{Acceptor, Admit, TcpOptions, Worker, Workers};
use crate::cancel::Stop;
use crate::error::cancelled;
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::{Endpoint, Error, Finish, Result, Server};

/// Takes the connections of a session, and gives its result.
pub trait Serve: Admit {
    /// The server's result.
    type Tally;

    /// The server's result, where there were this many strays.
    fn result(self, strays: u64) -> Self::Tally;
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
    ) -> Result<Box<dyn Server<A::Tally>>> {
        let acceptor = Acceptor::start(endpoint, options, connections, admit, stop.clone())?;
        let doing = format!("waiting for the {what} of {} to end", endpoint.peer);
        Ok(Box::new(Self { acceptor: Some(acceptor), workers, stop: stop.clone(), connections, doing }))
    }

    /// Stops what still runs, waits for it, and gives the result, the first time.
    fn end(&mut self) -> Option<A::Tally> {
        self.stop.raise();
        let (admit, strays) = self.acceptor.take()?.join();
        Some(admit.result(strays))
    }
}

impl<A: Serve> Server<A::Tally> for AdmittingServer<A> {
    fn port(&self) -> u16 {
        self.acceptor.as_ref().map_or(0, Acceptor::port)
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<A::Tally> {
        let deadline_ns = clock::monotonic_ns().saturating_add(finish.timeout_ns);
        self.workers.wait(self.connections, Some(deadline_ns), &self.doing)?;
        // There is one, as this ends it once.
        self.end().ok_or_else(cancelled)
    }
}

impl<A: Serve> Drop for AdmittingServer<A> {
    fn drop(&mut self) {
        self.end();
    }
}

/// The result of a server that counts, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountingResult<C> {
    #[serde(flatten)]
    counts: C,
    /// Absent where no connection came.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
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

impl<C: Send + 'static> CountingServer<C> {
    /// Starts the thread. The flag is raised when it has to end.
    pub fn start(
        (port, warmup_ns): (u16, u64),
        stop: Stop,
        doing: String,
        serve: impl FnOnce(Edges, &AtomicBool, &Stop) -> Result<C> + Send + 'static,
    ) -> Result<Box<dyn Server<CountingResult<C>>>> {
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

impl<C: Send + 'static> Server<CountingResult<C>> for CountingServer<C> {
    fn port(&self) -> u16 {
        self.port
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<CountingResult<C>> {
        self.is_finishing.store(true, Ordering::Relaxed);
        let deadline_ns = clock::monotonic_ns().saturating_add(finish.timeout_ns);
        self.workers.wait(1, Some(deadline_ns), &self.doing)?;
        // The thread that ended without an error has counted.
        let counts = self.end().ok_or_else(cancelled)?;
        Ok(CountingResult { counts, cpu: self.cpu.take().and_then(CpuWatch::end) })
    }
}

impl<C> Drop for CountingServer<C> {
    fn drop(&mut self) {
        self.stop.raise();
        // Its count, or its panic, is of no interest any more.
        let _ = self.worker.take().map(Worker::join);
    }
}

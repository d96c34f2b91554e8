//! The answering side of `tcp-rr`.

use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};
use sixbench_measure::clock;
use socket2::SockRef;

use super::RrParams;
use super::link::Link;
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::workloads::guard::Guard;
use crate::workloads::tcp::io::Failure;
use crate::workloads::tcp::{Acceptor, Admit, PATIENCE, Preamble, Role, Starter, Stop, Worker, Workers, io as tcp_io};
use crate::{Cancel, Endpoint, Error, Finish, Result, Server};

/// Listens for the one connection of a session.
pub fn serve(endpoint: &Endpoint, params: RrParams, cancel: &Cancel) -> Result<Box<dyn Server>> {
    let stop = Stop::new(cancel);
    let workers = Workers::new(&stop);
    let (cpu, edges) = CpuWatch::start(params.warmup_ns)
        .map_err(|e| Error::system("starting to watch the CPU of a server", "clone", e))?;
    let options = params.options.clone();
    let answering = Answering {
        params: Arc::new(params),
        doing: format!("answering messages of {}", endpoint.peer),
        starter: workers.starter().clone(),
        edges: Some(edges),
        cpu,
        worker: None,
    };
    let acceptor = Acceptor::start(endpoint, &options, 1, answering, stop.clone())?;
    Ok(Box::new(RrServer { acceptor: Some(acceptor), workers, stop, peer: endpoint.peer.to_string() }))
}

struct RrServer {
    /// Taken when the session ends.
    acceptor: Option<Acceptor<Answering>>,
    workers: Workers,
    stop: Stop,
    peer: String,
}

impl Server for RrServer {
    fn port(&self) -> u16 {
        self.acceptor.as_ref().map_or(0, Acceptor::port)
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<Value> {
        let deadline_ns = clock::monotonic_ns().saturating_add(finish.timeout_ns);
        self.workers.wait(1, Some(deadline_ns), &format!("waiting for the connection of {} to end", self.peer))?;
        Ok(self.end().unwrap_or_default())
    }
}

impl RrServer {
    /// Stops what still runs, waits for it, and gives the result, the first time.
    fn end(&mut self) -> Option<Value> {
        self.stop.raise();
        let (answering, strays) = self.acceptor.take()?.join();
        Some(answering.finish(strays))
    }
}

impl Drop for RrServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the acceptor hands the connection to.
struct Answering {
    params: Arc<RrParams>,
    doing: String,
    starter: Starter,
    /// Taken by the connection.
    edges: Option<Edges>,
    cpu: CpuWatch,
    worker: Option<Worker<Answered>>,
}

struct Answered {
    transactions: u64,
    socket: Value,
}

impl Admit for Answering {
    fn expects(&self, preamble: Preamble) -> bool {
        preamble == Preamble { role: Role::RequestResponse, index: 0 } && self.edges.is_some()
    }

    fn admit(&mut self, _: Preamble, stream: TcpStream) {
        let Some(edges) = self.edges.take() else { return };
        let params = Arc::clone(&self.params);
        let doing = self.doing.clone();
        match self.starter.start("tcp-answer", 1, move |stop| answer(stream, &params, &edges, &doing, stop)) {
            Ok(worker) => self.worker = Some(worker),
            Err(e) => self.starter.fail(Error::system("starting to answer messages", "clone", e)),
        }
    }
}

impl Answering {
    fn finish(self, strays: u64) -> Value {
        let Self { edges, cpu, worker, .. } = self;
        drop(edges);
        let mut result = json!({"strays": {"connections": strays, "datagrams": 0}});
        if let Some(answered) = worker.and_then(|worker| worker.join().ok().flatten()) {
            result["transactions"] = json!(answered.transactions);
            result["socket"] = answered.socket;
        }
        if let Some(span) = cpu.end() {
            result["cpu"] = json!(span);
        }
        result
    }
}

/// Answers until the client closes between two messages.
fn answer(stream: TcpStream, params: &RrParams, edges: &Edges, doing: &str, stop: &Stop) -> Result<Answered> {
    let chunk = tcp_io::pattern(params.response_bytes.min(tcp_io::MAX_BUFFER_BYTES));
    let mut buffer = vec![0; params.message_bytes.min(tcp_io::MAX_BUFFER_BYTES)];
    let mut link = Link::new(stream, params.busy_poll)?;
    let guard = Guard::start(PATIENCE, stop)?;
    let mut transactions = 0;
    loop {
        // How long the client may take is the client's business, and the orchestrator's.
        let exchanged = tcp_io::read_message(&mut link, &mut buffer, params.message_bytes, u64::MAX, stop)
            .and_then(|()| tcp_io::send_message(&mut link, &chunk, params.response_bytes, u64::MAX, stop));
        match exchanged {
            Ok(()) if transactions == 0 => {
                let _ = edges.send(clock::monotonic_ns());
            }
            Ok(()) => {}
            Err(Failure::Closed) => {
                return Ok(Answered { transactions, socket: params.options.granted(SockRef::from(link.stream())) });
            }
            Err(failure) => {
                tcp_io::reset_on_close(link.stream());
                return Err(failure.explain(doing, u64::MAX));
            }
        }
        transactions += 1;
        guard.note_progress();
    }
}

//! The answering side of `tcp-rr`.

use std::net::TcpStream;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::RrParams;
use super::link::Link;
use crate::cancel::{PATIENCE, Stop};
use crate::strays::Strays;
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::workloads::guard::Guard;
use crate::workloads::tcp::io::Failure;
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Admit, AdmittingServer, Preamble, Role, Serve, Starter, Worker, Workers, io as tcp_io};
use crate::{Cancel, Endpoint, Error, Result, Server};

/// Listens for the one connection of a session.
pub fn serve(endpoint: &Endpoint, params: RrParams, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let stop = Stop::new(cancel);
    let workers = Workers::new(&stop);
    let (cpu, edges) = CpuWatch::of_server(params.warmup_ns)?;
    let options = params.options.clone();
    let answering = Answering {
        params: Arc::new(params),
        doing: format!("answering messages of {}", endpoint.peer),
        starter: workers.starter().clone(),
        edges: Some(edges),
        cpu,
        worker: None,
    };
    AdmittingServer::start(endpoint, &options, (1, "connection"), answering, workers, &stop)
}

/// Takes the connection from the acceptor.
struct Answering {
    params: Arc<RrParams>,
    doing: String,
    starter: Starter,
    /// Taken by the connection.
    edges: Option<Edges>,
    cpu: CpuWatch,
    worker: Option<Worker<Answered>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Answered {
    transactions: u64,
    socket: GrantedOptions,
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

impl Serve for Answering {
    type Tally = ServerResult;

    fn result(self, strays: u64) -> ServerResult {
        let Self { edges, cpu, worker, .. } = self;
        drop(edges);
        ServerResult {
            strays: Strays::of_connections(strays),
            answered: worker.and_then(|worker| worker.join().ok().flatten()),
            cpu: cpu.end(),
        }
    }
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    strays: Strays,
    /// Absent where the connection failed, or none came.
    #[serde(flatten)]
    answered: Option<Answered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
}

/// Answers until the client closes between two messages.
fn answer(stream: TcpStream, params: &RrParams, edges: &Edges, doing: &str, stop: &Stop) -> Result<Answered> {
    let chunk = tcp_io::pattern(params.response_bytes.min(tcp_io::MAX_BUFFER_BYTES));
    let mut buffer = vec![0; params.message_bytes.min(tcp_io::MAX_BUFFER_BYTES)];
    let mut link = Link::new(stream, params.busy_poll)?;
    let guard = Guard::start(PATIENCE, stop)?;
    let mut transactions = 0;
    loop {
        // The time that the client may take is the client's business, and the orchestrator's.
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

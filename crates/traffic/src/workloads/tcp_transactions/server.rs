//! The accepting side of `tcp-connect` and `tcp-crr`: one thread for all connections, none of which can hold it up.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};

use super::{Kind, TransactionParams, request, response};
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::workloads::tcp::acceptor::{self, PreambleReader, Proof};
use crate::workloads::tcp::{PATIENCE, Preamble, Role, Stop, Worker, Workers, io as tcp_io};
use crate::{Cancel, Endpoint, Error, Finish, Result, Server, Token, clock};

/// How many connections may be open before the client proved itself, and how many after; the oldest makes room for a new
/// one.
const MAX_UNPROVED: usize = 64;
const MAX_OPEN: usize = 1_024;
/// How long a connection may stay open beyond the client's own patience.
const GRACE_NS: u64 = 1_000_000_000;
/// After `finish` was asked for, so long without anything is the end, though the client's proof stays open.
const QUIET_NS: u64 = 250_000_000;

/// Listens for the connections of a session.
pub fn serve(endpoint: &Endpoint, params: &TransactionParams, cancel: &Cancel) -> Result<Box<dyn Server>> {
    let stop = Stop::new(cancel);
    let workers = Workers::new(&stop);
    let (listener, port) = acceptor::listen(endpoint, &params.options)?;
    let (cpu, edges) = CpuWatch::start(params.warmup_ns)
        .map_err(|e| Error::system("starting to watch the CPU of a server", "clone", e))?;
    let finishing = Arc::new(AtomicBool::new(false));
    let serving = Serving {
        listener,
        rules: Rules { kind: params.kind, endpoint: endpoint.clone() },
        patience_ns: params.timeout_ns.saturating_add(GRACE_NS),
        finishing: Arc::clone(&finishing),
        edges,
        proof: None,
        open: Vec::new(),
        served: Served::default(),
    };
    let worker = workers
        .starter()
        .start("tcp-accept", 1, move |stop| serving.run(stop))
        .map_err(|e| Error::system("starting to accept connections", "clone", e))?;
    let peer = endpoint.peer.to_string();
    Ok(Box::new(TransactionServer { port, workers, worker: Some(worker), cpu: Some(cpu), finishing, stop, peer }))
}

struct TransactionServer {
    port: u16,
    workers: Workers,
    /// Taken when the session ends.
    worker: Option<Worker<Served>>,
    cpu: Option<CpuWatch>,
    finishing: Arc<AtomicBool>,
    stop: Stop,
    peer: String,
}

impl Server for TransactionServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<Value> {
        self.finishing.store(true, Ordering::Relaxed);
        let deadline_ns = clock::monotonic_ns().saturating_add(finish.timeout_ns);
        self.workers.wait(1, Some(deadline_ns), &format!("waiting for the connections of {} to end", self.peer))?;
        let served = self.end().unwrap_or_default();
        let mut result = json!({
            "accepted": served.accepted, "transactions": served.transactions,
            "strays": {"connections": served.strays, "datagrams": 0},
        });
        if let Some(span) = self.cpu.take().and_then(CpuWatch::end) {
            result["cpu"] = json!(span);
        }
        Ok(result)
    }
}

impl TransactionServer {
    /// Stops what still runs and waits for it.
    fn end(&mut self) -> Option<Served> {
        self.stop.raise();
        self.worker.take()?.join().ok().flatten()
    }
}

impl Drop for TransactionServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Counts of the session.
#[derive(Default)]
struct Served {
    /// Of the peer, without the proof and without what turned out to be a stray.
    accepted: u64,
    transactions: u64,
    strays: u64,
}

struct Serving {
    listener: TcpListener,
    rules: Rules,
    /// How long a connection may stay open.
    patience_ns: u64,
    finishing: Arc<AtomicBool>,
    edges: Edges,
    /// The connection that proved the client.
    proof: Option<ProofState>,
    open: Vec<Open>,
    served: Served,
}

enum ProofState {
    Open(TcpStream),
    /// Since when.
    Closed(u64),
}

/// A connection that is not yet over.
struct Open {
    stream: TcpStream,
    stage: Stage,
    deadline_ns: u64,
}

enum Stage {
    /// Before the proof: may become it.
    Unproved(PreambleReader),
    /// Nothing came yet.
    Fresh,
    /// The response was sent.
    Answered,
}

/// What became of a connection for now.
enum Next {
    Stays,
    Done,
    /// The client gave up on it.
    Failed,
    Stray,
    /// It proves the client.
    Proof,
}

impl Serving {
    fn run(mut self, stop: &Stop) -> Result<Served> {
        let mut active_ns = clock::monotonic_ns();
        loop {
            stop.check()?;
            let ready = self.wait();
            let now_ns = clock::monotonic_ns();
            if ready.any() {
                active_ns = now_ns;
            }
            if ready.proof {
                self.read_proof(now_ns);
            }
            self.serve_open(&ready.open, now_ns);
            if ready.listener {
                self.accept(now_ns);
            }
            if self.is_over(&ready, now_ns, active_ns) {
                return self.end();
            }
        }
    }

    fn wait(&self) -> Ready {
        let mut fds = Vec::with_capacity(self.open.len() + 2);
        fds.push(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
        fds.extend(self.open.iter().map(|open| PollFd::new(open.stream.as_fd(), PollFlags::POLLIN)));
        if let Some(ProofState::Open(stream)) = &self.proof {
            fds.push(PollFd::new(stream.as_fd(), PollFlags::POLLIN));
        }
        // After the proof's close there is only to see whether anything is left.
        let patience_ms = if let Some(ProofState::Closed(_)) = self.proof { 1 } else { PATIENCE.as_millis() as u16 };
        // An interrupted or failed wait is one in which nothing became ready.
        let _ = poll(&mut fds, PollTimeout::from(patience_ms));
        let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(false));
        let listener = ready.next().unwrap_or(false);
        let open = ready.by_ref().take(self.open.len()).collect();
        Ready { listener, open, proof: ready.next().unwrap_or(false) }
    }

    /// The client says nothing more on its proof but its end.
    fn read_proof(&mut self, now_ns: u64) {
        let Some(ProofState::Open(stream)) = &mut self.proof else { return };
        let is_open = match stream.read(&mut [0; 64]) {
            Ok(bytes) => bytes > 0,
            Err(e) => tcp_io::is_pause(&e),
        };
        if !is_open {
            self.proof = Some(ProofState::Closed(now_ns));
        }
    }

    fn serve_open(&mut self, ready: &[bool], now_ns: u64) {
        let mut at = 0;
        for is_ready in ready {
            let Some(open) = self.open.get_mut(at) else { return };
            let next = if *is_ready {
                open.advance(&self.rules)
            } else if now_ns > open.deadline_ns {
                Next::Stray
            } else {
                Next::Stays
            };
            if let Next::Stays = next {
                at += 1;
            } else {
                // Not swap_remove: `ready` is in this order.
                let open = self.open.remove(at);
                self.close(open, &next);
            }
        }
    }

    /// One a round: the poll tells of the next.
    fn accept(&mut self, now_ns: u64) {
        let Some((stream, from)) = acceptor::accept(&self.listener) else { return };
        let (stage, max_open, patience_ns) = match self.proof {
            None => (Stage::Unproved(PreambleReader::new()), MAX_UNPROVED, acceptor::PREAMBLE_TIMEOUT_NS),
            Some(_) => (Stage::Fresh, MAX_OPEN, self.patience_ns),
        };
        if !self.rules.endpoint.admits(from.ip()) {
            self.served.strays += 1;
            return tcp_io::reset(stream);
        }
        if self.open.len() >= max_open {
            let oldest = self.open.remove(0);
            self.close(oldest, &Next::Stray);
        }
        if let Stage::Fresh = stage {
            if self.served.accepted == 0 {
                let _ = self.edges.send(now_ns);
            }
            self.served.accepted += 1;
        }
        // What it has to say is mostly there already.
        let mut open = Open { stream, stage, deadline_ns: now_ns.saturating_add(patience_ns) };
        match open.advance(&self.rules) {
            Next::Stays => self.open.push(open),
            next => self.close(open, &next),
        }
    }

    fn close(&mut self, open: Open, next: &Next) {
        match next {
            Next::Stays | Next::Failed => {}
            Next::Done => self.served.transactions += 1,
            Next::Proof if self.proof.is_none() => {
                // The measured connections prove nothing: they must come from where the proof came from.
                if let Ok(from) = open.stream.peer_addr() {
                    self.rules.endpoint.peer = from.ip();
                }
                self.proof = Some(ProofState::Open(open.stream));
                // Nothing else has anything to prove any more.
                for other in std::mem::take(&mut self.open) {
                    self.close(other, &Next::Stray);
                }
            }
            Next::Proof | Next::Stray => {
                self.served.strays += 1;
                if !matches!(open.stage, Stage::Unproved(_)) {
                    self.served.accepted -= 1;
                }
                tcp_io::reset(open.stream);
            }
        }
    }

    /// The client has closed its proof and nothing is left, also not to be accepted; or nothing comes any more.
    fn is_over(&self, ready: &Ready, now_ns: u64, active_ns: u64) -> bool {
        match self.proof {
            Some(ProofState::Closed(closed_ns)) => {
                (self.open.is_empty() && !ready.any()) || now_ns.saturating_sub(closed_ns) > GRACE_NS
            }
            _ => self.finishing.load(Ordering::Relaxed) && now_ns.saturating_sub(active_ns) > QUIET_NS,
        }
    }

    fn end(self) -> Result<Served> {
        if self.proof.is_none() {
            let doing = format!("serving connections of {}", self.rules.endpoint.peer);
            return Err(Error::PeerLost { doing, what: "never proved itself".to_owned() });
        }
        Ok(self.served)
    }
}

/// Which sockets have something to say.
struct Ready {
    listener: bool,
    open: Vec<bool>,
    proof: bool,
}

impl Ready {
    fn any(&self) -> bool {
        self.listener || self.proof || self.open.contains(&true)
    }
}

/// What a connection has to do to be a transaction.
struct Rules {
    kind: Kind,
    endpoint: Endpoint,
}

impl Open {
    /// Reads what is there, and answers it.
    fn advance(&mut self, rules: &Rules) -> Next {
        let token = &rules.endpoint.token;
        if let Stage::Unproved(preamble) = &mut self.stage {
            return match preamble.read(&mut self.stream, &rules.endpoint) {
                Proof::Waiting => Next::Stays,
                Proof::Given(Preamble { role: Role::Proof, index: 0 }) if self.answer(token) => Next::Proof,
                Proof::Given(_) | Proof::Failed => Next::Stray,
            };
        }
        let mut bytes = [0; 2];
        match (self.stream.read(&mut bytes), &self.stage, rules.kind) {
            (Ok(0), Stage::Answered, _) | (Ok(0), _, Kind::Connect) => Next::Done,
            (Ok(0), _, Kind::RequestResponse) => Next::Failed,
            (Ok(1), Stage::Fresh, Kind::RequestResponse) if bytes[0] == request(token) => {
                self.stage = Stage::Answered;
                if self.answer(token) { Next::Stays } else { Next::Failed }
            }
            (Ok(_), ..) => Next::Stray,
            (Err(e), ..) if tcp_io::is_pause(&e) => Next::Stays,
            (Err(_), ..) => Next::Failed,
        }
    }

    /// One byte always fits into the buffer of a connection that has sent nothing yet.
    fn answer(&mut self, token: &Token) -> bool {
        matches!(self.stream.write(&[response(token)]), Ok(1))
    }
}

//! The accepting side of `tcp-connect` and `tcp-crr`: one thread and one epoll set for all connections, none of which
//! can hold it up.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, sys::scheduling};
use sixbench_wire::family::{FAMILIES, Family};
use sixbench_wire::token::Token;
use slab::Slab;

use super::{FirstClose, Kind, TransactionParams, request, response};
use crate::cancel::{PATIENCE, Stop};
use crate::error::{cancelled, peer_lost};
use crate::strays::Strays;
use crate::workloads::cpu_watch::Edges;
use crate::workloads::tcp::acceptor::{self, PreambleReader, Proof};
use crate::workloads::tcp::{CountingResult, CountingServer, Preamble, Role, io as tcp_io};
use crate::{Cancel, Endpoint, Error, Result, Server, sys};

/// Most connections that may be open before the client proved itself; the oldest makes room for a new one.
const MAX_UNPROVED: usize = 64;
/// Most connections that may be open after it, beyond twice the number in flight: those that the client has given up.
const MAX_LEFT_OPEN: usize = 1_024;
/// Connections accepted at most before those that are open have their turn.
const MAX_ACCEPTED_IN_TURN: usize = 64;
/// Connections that one wait tells of at most.
const EVENTS: usize = 256;
/// Number of the proof in an epoll set, and of the first listener; the other listeners count down from there.
/// Connections have their own numbers.
const PROOF: u64 = u64::MAX;
const FIRST_LISTENER: u64 = PROOF - 1;
const LAST_LISTENER: u64 = FIRST_LISTENER - 255;
/// The work of the server, for errors.
const WATCHING: &str = "watching the connections of a session";
/// Time that a connection may stay open beyond the client's own patience.
const GRACE_NS: u64 = 1_000_000_000;
/// Length of a wait after the client's proof is closed.
const WINDING_UP: Duration = Duration::from_millis(1);
/// Time without anything after which the session is over once `finish` was asked for, though the client's proof stays
/// open.
const QUIET_NS: u64 = 250_000_000;

/// Listens for the connections of a session, of whose addresses there are 1 to 256.
pub fn serve(
    endpoints: &[Endpoint],
    params: &TransactionParams,
    cancel: &Cancel,
) -> Result<Box<dyn Server<ServerResult>>> {
    let Some(&Endpoint { token, .. }) = endpoints.first() else { return Err(cancelled()) };
    let (listeners, port) = acceptor::listen_at_all(endpoints, &params.options)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| Error::system(WATCHING, "epoll_create1", e))?;
    for (listener, name) in listeners.iter().zip((LAST_LISTENER..=FIRST_LISTENER).rev()) {
        epoll
            .add(listener, EpollEvent::new(EpollFlags::EPOLLIN, name))
            .map_err(|e| Error::system(WATCHING, "epoll_ctl", e))?;
    }
    let rules = Rules { kind: params.kind, first_close: params.first_close, endpoints: endpoints.to_vec(), token };
    let (in_flight, patience_ns) = (params.in_flight, params.timeout_ns.saturating_add(GRACE_NS));
    let doing = format!("waiting for the connections of {} to end", names(endpoints));
    CountingServer::start((port, params.warmup_ns), Stop::new(cancel), doing, move |edges, is_finishing, stop| {
        scheduling::run_when_asked();
        let serving = Serving {
            listeners,
            epoll,
            served: Served::default(),
            rules,
            max_open: MAX_LEFT_OPEN + 2 * in_flight,
            accepted_in_turn: 1,
            max_accepted_in_turn: in_flight.min(MAX_ACCEPTED_IN_TURN),
            patience_ns,
            is_finishing,
            edges,
            proof: None,
            open: Slab::new(),
        };
        serving.run(stop)
    })
}

/// Counts of the session.
#[derive(Default)]
struct Served {
    /// Connections of the peer, without the proof and without those that turned out to be strays.
    accepted: [u64; FAMILIES.len()],
    transactions: u64,
    strays: u64,
}

/// The server's result.
pub type ServerResult = CountingResult<ServedTally>;

/// Counts of the session, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServedTally {
    accepted: u64,
    /// Absent where the session has one address.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_by_family: Option<AcceptedTally>,
    transactions: u64,
    strays: Strays,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AcceptedTally {
    ipv4: u64,
    ipv6: u64,
}

impl Served {
    fn tally(&self, has_several_addresses: bool) -> ServedTally {
        let of = |family: Family| self.accepted[family as usize];
        let accepted_by_family = AcceptedTally { ipv4: of(Family::Ipv4), ipv6: of(Family::Ipv6) };
        ServedTally {
            accepted: self.accepted.iter().sum(),
            accepted_by_family: has_several_addresses.then_some(accepted_by_family),
            transactions: self.transactions,
            strays: Strays::of_connections(self.strays),
        }
    }
}

struct Serving<'a> {
    /// A listener for each address.
    listeners: Vec<TcpListener>,
    epoll: Epoll,
    rules: Rules,
    /// Most open connections after the proof.
    max_open: usize,
    accepted_in_turn: usize,
    /// Most connections that are accepted in a turn: no more than can be waiting.
    max_accepted_in_turn: usize,
    /// Time that a connection may stay open.
    patience_ns: u64,
    is_finishing: &'a AtomicBool,
    edges: Edges,
    /// The connection that proved the client.
    proof: Option<ProofState>,
    open: Slab<Open>,
    served: Served,
}

enum ProofState {
    Open(TcpStream),
    /// The client has closed it, since that time.
    Closed(u64),
}

/// A connection that is not yet over.
struct Open {
    stream: TcpStream,
    family: Family,
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

/// The result of a step of a connection.
enum Next {
    Stays,
    Done,
    /// The client gave up on it.
    Failed,
    Stray,
    /// It proves the client.
    Proof,
}

impl Serving<'_> {
    fn run(mut self, stop: &Stop) -> Result<ServedTally> {
        let mut events = vec![EpollEvent::empty(); EVENTS];
        let mut waiting = Vec::with_capacity(self.listeners.len());
        let mut active_ns = clock::monotonic_ns();
        let mut sweep_ns = active_ns;
        loop {
            stop.check()?;
            // After the proof's close there is only to see whether anything is left.
            let patience = if let Some(ProofState::Closed(_)) = self.proof { WINDING_UP } else { PATIENCE };
            // A wait that was interrupted or failed is one in which nothing became ready.
            let ready = sys::epoll_wait(&self.epoll, &mut events, patience).unwrap_or(0);
            let now_ns = clock::monotonic_ns();
            if ready > 0 {
                active_ns = now_ns;
            }
            for event in &events[..ready] {
                match event.data() {
                    PROOF => self.read_proof(now_ns),
                    name @ LAST_LISTENER..=FIRST_LISTENER => waiting.push((FIRST_LISTENER - name) as usize),
                    index => self.advance(index as usize),
                }
            }
            for listener in waiting.drain(..) {
                self.accept_some(listener, now_ns);
            }
            if now_ns >= sweep_ns {
                sweep_ns = now_ns.saturating_add(PATIENCE.as_nanos() as u64);
                self.give_up(now_ns);
            }
            if self.is_over(ready > 0, now_ns, active_ns) {
                return self.end();
            }
        }
    }

    /// The client sends nothing more on its proof but its end.
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

    fn advance(&mut self, index: usize) {
        let Some(open) = self.open.get_mut(index) else { return };
        let next = open.advance(&self.rules);
        if !matches!(next, Next::Stays) {
            self.take_out(index, &next);
        }
    }

    fn take_out(&mut self, index: usize, next: &Next) {
        if let Some(open) = self.open.try_remove(index) {
            self.close(open, next);
        }
    }

    /// Gives up connections that stay open for longer than the client would wait: they are not the client's.
    fn give_up(&mut self, now_ns: u64) {
        let overdue = self.open.iter().filter(|(_, open)| now_ns > open.deadline_ns);
        let overdue: Vec<_> = overdue.map(|(index, _)| index).collect();
        for index in overdue {
            // It may have said something that has not been told yet.
            self.advance(index);
            self.take_out(index, &Next::Stray);
        }
    }

    /// Accepts as many connections as there were lately: a call in vain costs more than another event.
    fn accept_some(&mut self, listener: usize, now_ns: u64) {
        for _ in 0..self.accepted_in_turn {
            let Some((stream, from)) = self.listeners.get(listener).and_then(acceptor::accept) else {
                self.accepted_in_turn = (self.accepted_in_turn / 2).max(1);
                return;
            };
            self.accept(stream, from, now_ns);
        }
        self.accepted_in_turn = (self.accepted_in_turn + 1).min(self.max_accepted_in_turn);
    }

    fn accept(&mut self, stream: TcpStream, from: SocketAddr, now_ns: u64) {
        let family = Family::of(from.ip());
        let (stage, max_open, patience_ns) = match self.proof {
            None => (Stage::Unproved(PreambleReader::new()), MAX_UNPROVED, acceptor::PREAMBLE_TIMEOUT_NS),
            Some(_) => (Stage::Fresh, self.max_open, self.patience_ns),
        };
        if !self.rules.admits(from.ip()) {
            self.served.strays += 1;
            return tcp_io::reset(stream);
        }
        if self.open.len() >= max_open {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.deadline_ns).map(|(index, _)| index);
            oldest.into_iter().for_each(|oldest| self.take_out(oldest, &Next::Stray));
        }
        if let Stage::Fresh = stage {
            if self.served.accepted == [0; FAMILIES.len()] {
                let _ = self.edges.send(now_ns);
            }
            self.served.accepted[family as usize] += 1;
        }
        // Its first bytes are mostly there already.
        let mut open = Open { stream, family, stage, deadline_ns: now_ns.saturating_add(patience_ns) };
        match open.advance(&self.rules) {
            Next::Stays => self.watch(open),
            next => self.close(open, &next),
        }
    }

    fn watch(&mut self, open: Open) {
        let index = self.open.insert(open);
        let Some(open) = self.open.get_mut(index) else { return };
        if self.epoll.add(&open.stream, EpollEvent::new(EpollFlags::EPOLLIN, index as u64)).is_err() {
            // Short of memory for it, which its client sees.
            self.take_out(index, &Next::Failed);
        }
    }

    fn close(&mut self, open: Open, next: &Next) {
        match next {
            Next::Stays | Next::Failed => {}
            Next::Done => self.served.transactions += 1,
            Next::Proof if self.proof.is_none() => {
                // The measured connections prove nothing: they must come from where the proof came from.
                let is_opened = |end: &&mut Endpoint| end.is_open() && Family::of(end.address.ip()) == open.family;
                let opened = self.rules.endpoints.iter_mut().find(is_opened);
                if let (Some(endpoint), Ok(from)) = (opened, open.stream.peer_addr()) {
                    endpoint.peer = from.ip();
                }
                // It may have been watched as one of the others. Where it cannot be watched, `finish` ends the session.
                let _ = self.epoll.delete(&open.stream);
                let _ = self.epoll.add(&open.stream, EpollEvent::new(EpollFlags::EPOLLIN, PROOF));
                self.proof = Some(ProofState::Open(open.stream));
                // Nothing else has anything to prove any more.
                let others: Vec<_> = self.open.iter().map(|(index, _)| index).collect();
                others.into_iter().for_each(|other| self.take_out(other, &Next::Stray));
            }
            Next::Proof | Next::Stray => {
                self.served.strays += 1;
                if !matches!(open.stage, Stage::Unproved(_)) {
                    self.served.accepted[open.family as usize] -= 1;
                }
                tcp_io::reset(open.stream);
            }
        }
    }

    /// The client has closed its proof and nothing is left, also not to be accepted; or nothing comes any more.
    fn is_over(&self, is_ready: bool, now_ns: u64, active_ns: u64) -> bool {
        match self.proof {
            Some(ProofState::Closed(closed_ns)) => {
                (self.open.is_empty() && !is_ready) || now_ns.saturating_sub(closed_ns) > GRACE_NS
            }
            _ => self.is_finishing.load(Ordering::Relaxed) && now_ns.saturating_sub(active_ns) > QUIET_NS,
        }
    }

    fn end(self) -> Result<ServedTally> {
        if self.proof.is_none() {
            let doing = format!("serving connections of {}", names(&self.rules.endpoints));
            return Err(peer_lost(doing, "never proved itself"));
        }
        Ok(self.served.tally(self.rules.endpoints.len() > 1))
    }
}

/// Rules that a connection has to follow to be a transaction.
struct Rules {
    kind: Kind,
    first_close: FirstClose,
    endpoints: Vec<Endpoint>,
    token: Token,
}

/// The peers of a session, for errors.
fn names(endpoints: &[Endpoint]) -> String {
    endpoints.iter().map(|endpoint| endpoint.peer.to_string()).collect::<Vec<_>>().join(" and ")
}

impl Rules {
    fn admits(&self, from: IpAddr) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.admits(from))
    }

    /// True if a reset at this stage is the end that a transaction should have.
    fn ends_by_reset(&self, stage: &Stage, kind: Kind) -> bool {
        self.first_close == FirstClose::Reset && (kind == Kind::Connect || matches!(stage, Stage::Answered))
    }
}

impl Open {
    /// Reads what is there, and answers it.
    fn advance(&mut self, rules: &Rules) -> Next {
        let token = &rules.token;
        if let Stage::Unproved(preamble) = &mut self.stage {
            return match preamble.read(&mut self.stream, token) {
                Proof::Waiting => Next::Stays,
                Proof::Given(Preamble { role: Role::Proof, index: 0 }) if self.answer(token) => Next::Proof,
                Proof::Given(_) | Proof::Failed => Next::Stray,
            };
        }
        if rules.kind == Kind::Connect && rules.first_close == FirstClose::Server {
            return Next::Done;
        }
        let mut bytes = [0; 2];
        match (self.stream.read(&mut bytes), &self.stage, rules.kind) {
            (Ok(0), Stage::Answered, _) | (Ok(0), _, Kind::Connect) => Next::Done,
            (Ok(0), _, Kind::RequestResponse) => Next::Failed,
            (Ok(1), Stage::Fresh, Kind::RequestResponse) if bytes[0] == request(token) => {
                self.stage = Stage::Answered;
                match (self.answer(token), rules.first_close) {
                    (true, FirstClose::Server) => Next::Done,
                    (true, FirstClose::Client | FirstClose::Reset) => Next::Stays,
                    (false, _) => Next::Failed,
                }
            }
            (Ok(_), ..) => Next::Stray,
            (Err(e), ..) if tcp_io::is_pause(&e) => Next::Stays,
            (Err(e), stage, kind) if e.kind() == ErrorKind::ConnectionReset && rules.ends_by_reset(stage, kind) => {
                Next::Done
            }
            (Err(_), ..) => Next::Failed,
        }
    }

    /// Sends the answer. One byte always fits into the buffer of a connection that has sent nothing yet.
    fn answer(&mut self, token: &Token) -> bool {
        matches!(self.stream.write(&[response(token)]), Ok(1))
    }
}

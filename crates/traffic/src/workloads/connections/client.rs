//! The client of `connections`: one thread and one epoll set, a round that opens, and a round that checks.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::TimesTally;
use sixbench_measure::{clock, cpu};
use socket2::Socket;

use super::held::{CHECK, Destinations, Failed, Held, Step};
use super::round::{Next, Round};
use super::{ConnectionsParams, Transport, allow_descriptors};
use crate::cancel::Stop;
use crate::workloads::tcp::connecting;
use crate::workloads::tcp::options::GrantedOptions;
use crate::{Endpoint, Error, Result, sys};

/// Connections begun before those under way have their turn.
const BEGUN_IN_TURN: usize = 64;
/// Connections that one wait tells of at most.
const EVENTS: usize = 256;
/// Interval between searches for connections that are overdue.
const TICK_NS: u64 = 10_000_000;
/// The last stretch before a connection is due is not slept through: a thread wakes up some 20 to 60 us late.
const SPIN_NS: u64 = 60_000;
const DOING: &str = "holding connections";

/// Opens them, holds them, asks each for an answer, and closes them.
pub fn run(endpoint: &Endpoint, params: &ConnectionsParams, stop: &Stop) -> Result<ClientResult> {
    allow_descriptors(params.count)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| Error::system(DOING, "epoll_create1", e))?;
    let destinations = Destinations::new(endpoint, params)?;
    let held = Vec::with_capacity(params.count as usize);
    let mut client = Client { endpoint, params, stop, epoll, destinations, held };
    let _timers = params.rate.map(|_| clock::PreciseTimers::new());
    let started_ns = clock::monotonic_ns();
    let from = cpu::sample();
    let opening = client.open_all()?;
    let cpu = cpu::Span { from, to: cpu::sample() };
    let opened_ns = clock::monotonic_ns();
    stop.sleep_until(opened_ns.saturating_add(params.hold_ns))?;
    let check = client.check_all()?;
    let socket = client.granted();
    client.close_all();
    Ok(ClientResult {
        attempts: opening.begun(),
        established: opening.times.count(),
        establishing_ns: opening.lasted_ns(),
        connect: opening.times.tally(),
        alive: check.times.count(),
        lost: check.failed,
        check: check.times.tally(),
        pace: params
            .rate
            .and_then(|_| Some(PaceTally { offered_ns: opening.offered_ns()?, lateness: opening.lateness.tally() })),
        failed: opening.failed,
        started_ns,
        opened_ns,
        ended_ns: clock::monotonic_ns(),
        server_ports: params.server_ports,
        socket,
        cpu,
    })
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    attempts: u64,
    established: u64,
    /// Time from the first beginning to the last success; absent where none succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    establishing_ns: Option<u64>,
    /// Numbers of connections that could not be opened, by reason.
    failed: BTreeMap<String, u64>,
    connect: TimesTally,
    alive: u64,
    /// Numbers of connections that did not answer at the end, by reason.
    lost: BTreeMap<String, u64>,
    check: TimesTally,
    /// Absent without a rate.
    #[serde(flatten)]
    pace: Option<PaceTally>,
    started_ns: u64,
    opened_ns: u64,
    ended_ns: u64,
    server_ports: u16,
    /// Options of the first connection, over TCP; absent where none is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<GrantedOptions>,
    cpu: cpu::Span,
}

/// The account of the beginnings of connections that have a rate.
#[derive(Debug, Serialize, JsonSchema)]
struct PaceTally {
    /// Time from the first beginning to the last.
    offered_ns: u64,
    lateness: TimesTally,
}

struct Client<'a> {
    endpoint: &'a Endpoint,
    params: &'a ConnectionsParams,
    stop: &'a Stop,
    epoll: Epoll,
    destinations: Destinations,
    /// Connections by number; absent are those that failed.
    held: Vec<Option<Held>>,
}

impl Client<'_> {
    fn open_all(&mut self) -> Result<Round> {
        self.go_round(self.params.count, |client, number, round| {
            round.begin(number as usize, clock::monotonic_ns());
            client.held.push(None);
            match Held::open(&mut client.destinations, number, client.endpoint) {
                Ok((held, step)) => {
                    client.watch(&held.socket, number)?;
                    client.held[number as usize] = Some(held);
                    client.note(number as usize, Ok(step), round);
                }
                Err(failure) => client.note(number as usize, Err(failure), round),
            }
            Ok(())
        })
    }

    fn check_all(&mut self) -> Result<Round> {
        let open: Vec<usize> = (0..self.held.len()).filter(|index| self.held[*index].is_some()).collect();
        self.go_round(open.len() as u64, |client, number, round| {
            let index = open[number as usize];
            round.begin(index, clock::monotonic_ns());
            let Some(held) = &mut client.held[index] else { return Ok(()) };
            let asked = held.ask(client.endpoint, CHECK).map(|()| Step::Waits);
            client.note(index, asked, round);
            Ok(())
        })
    }

    /// Gives all connections their turn, in which `begin` begins them, until each has succeeded or failed.
    fn go_round(
        &mut self,
        count: u64,
        mut begin: impl FnMut(&mut Self, u64, &mut Round) -> Result<()>,
    ) -> Result<Round> {
        let mut round = Round::new(self.params.rate, count, self.params.timeout_ns, clock::monotonic_ns());
        let mut events = vec![EpollEvent::empty(); EVENTS];
        loop {
            self.stop.check()?;
            let mut until_ns = clock::monotonic_ns().saturating_add(TICK_NS);
            for _ in 0..BEGUN_IN_TURN {
                match round.next(clock::monotonic_ns()) {
                    Next::Begin(number) => {
                        begin(self, number, &mut round)?;
                        until_ns = 0;
                        continue;
                    }
                    Next::End => return Ok(round),
                    Next::WaitUntil(Some(due_ns)) => until_ns = until_ns.min(due_ns.saturating_sub(SPIN_NS)),
                    Next::WaitUntil(None) => until_ns = until_ns.max(clock::monotonic_ns().saturating_add(TICK_NS)),
                }
                break;
            }
            for event in self.wait(&mut events, until_ns)? {
                self.advance(event.data() as usize, &mut round);
            }
            self.look_at_time(&mut round);
        }
    }

    fn watch(&self, socket: &Socket, number: u64) -> Result<()> {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        self.epoll.add(socket, EpollEvent::new(flags, number)).map_err(|e| Error::system(DOING, "epoll_ctl", e))
    }

    fn wait<'e>(&self, events: &'e mut [EpollEvent], until_ns: u64) -> Result<&'e [EpollEvent]> {
        let timeout = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        let ready = sys::epoll_wait(&self.epoll, events, timeout);
        let ready = ready.map_err(|e| Error::system(DOING, "epoll_wait", e))?;
        Ok(&events[..ready])
    }

    /// Advances a connection that waits. Others are looked at when they are asked next.
    fn advance(&mut self, index: usize, round: &mut Round) {
        let Some(held) = self.held[index].as_mut().filter(|held| held.is_waiting()) else { return };
        let step = held.advance(&self.destinations, self.endpoint);
        self.note(index, step, round);
    }

    fn note(&mut self, index: usize, step: std::result::Result<Step, Failed>, round: &mut Round) {
        match step {
            Ok(Step::Waits) => {}
            Ok(Step::Done(took_ns)) => round.succeeded(took_ns, clock::monotonic_ns()),
            Err(failure) => self.drop_failed(index, failure.reason(), round),
        }
    }

    fn drop_failed(&mut self, index: usize, reason: String, round: &mut Round) {
        let took_ns = self.held[index].take().map_or(0, |held| held.waited_ns());
        round.failed(reason, took_ns);
    }

    /// Gives up what takes too long, and sends again what UDP may have lost.
    fn look_at_time(&mut self, round: &mut Round) {
        let now_ns = clock::monotonic_ns();
        while let Some(index) = round.overdue(now_ns) {
            if self.held[index].as_ref().is_some_and(Held::is_waiting) {
                self.drop_failed(index, "timeout".to_owned(), round);
            }
        }
        if self.params.transport != Transport::Udp {
            return;
        }
        while let Some(index) = round.unanswered(now_ns) {
            let Some(held) = self.held[index].as_mut().filter(|held| held.is_waiting()) else { continue };
            if let Err(failure) = held.ask_again(self.endpoint) {
                self.drop_failed(index, failure.reason(), round);
            }
        }
    }

    /// The socket options that the kernel granted to the first of them.
    fn granted(&self) -> Option<GrantedOptions> {
        let held = self.held.iter().flatten().next()?;
        (self.params.transport == Transport::Tcp).then(|| self.params.options.granted((&held.socket).into()))
    }

    /// Closes the connections, over TCP by resets: no end has them in TIME-WAIT, and no translator holds them for long.
    fn close_all(self) {
        if self.params.transport == Transport::Tcp {
            for held in self.held.iter().flatten() {
                // A failure leaves an orderly close, which ends the connection as well.
                let _ = held.socket.set_linger(Some(Duration::ZERO));
            }
        }
    }
}

impl Failed {
    /// The key in `failed` and `lost`: an errno's name, or a word of ours.
    fn reason(&self) -> String {
        match self {
            Failed::Io(error) => connecting::reason(error),
            Failed::Closed => "closed".to_owned(),
            Failed::WrongAnswer => "wrong-answer".to_owned(),
        }
    }
}

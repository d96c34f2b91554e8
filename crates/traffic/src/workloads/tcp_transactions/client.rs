//! The connecting side of `tcp-connect` and `tcp-crr`: one thread, one epoll set, and a given number of connections in
//! flight.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use slab::Slab;
use socket2::SockRef;

use super::TransactionParams;
use super::flight::{Failed, Flight, Plan, Step};
use super::phase::{Next, Phase, PhaseTally};
use crate::cancel::{PATIENCE, Stop};
use crate::error::timeout;
use crate::params::Limit;
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Preamble, Role, STALL_NS, connect, io as tcp_io};
use crate::{Endpoint, Error, Result, sys};

/// Pause after a failure in a closed loop, so that a failure that comes at once (no port left, nobody listening) does
/// not make it spin.
const BACK_OFF_NS: u64 = 1_000_000;
/// Transactions begun before those in flight have their turn.
const BEGUN_IN_TURN: usize = 64;
/// Connections that one wait tells of at most.
const EVENTS: usize = 256;
/// The last stretch before a transaction is due is not slept through: a thread wakes up some 20 to 60 us late.
const SPIN_NS: u64 = 60_000;

/// Proves itself, warms up, measures.
pub fn run(endpoint: &Endpoint, params: &TransactionParams, stop: &Stop) -> Result<ClientResult> {
    let preamble = Preamble { role: Role::Proof, index: 0 };
    let (mut proof, _) = connect::connect_with_preamble(endpoint, &params.options, preamble, params.timeout_ns, stop)?;
    let mut accepted = [0];
    tcp_io::read_message(&mut proof, &mut accepted, 1, params.timeout_ns, stop)
        .map_err(|failure| failure.explain(&format!("proving ourselves to {}", endpoint.peer), params.timeout_ns))?;
    let mut connecting = Connecting::new(endpoint, params, stop)?;
    let Measured { phase, warmup_transactions, cpu } = connecting.measure()?;
    Ok(ClientResult { phase, warmup_transactions, socket: params.options.granted(SockRef::from(&proof)), cpu })
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    phase: PhaseTally,
    warmup_transactions: u64,
    socket: GrantedOptions,
    cpu: cpu::Span,
}

/// The measured phase, and the warm-up before it.
struct Measured {
    phase: PhaseTally,
    warmup_transactions: u64,
    cpu: cpu::Span,
}

struct Connecting<'a> {
    params: &'a TransactionParams,
    stop: &'a Stop,
    plan: Plan,
    epoll: Epoll,
    flights: Slab<Flight>,
    patience: Patience,
    /// Time before which nothing begins, after a failure.
    resume_ns: u64,
}

impl<'a> Connecting<'a> {
    fn new(endpoint: &Endpoint, params: &'a TransactionParams, stop: &'a Stop) -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(|e| Error::system("preparing to connect", "epoll_create1", e))?;
        Ok(Self {
            params,
            stop,
            plan: Plan::new(endpoint, params)?,
            epoll,
            flights: Slab::new(),
            patience: Patience::new(endpoint, params),
            resume_ns: 0,
        })
    }

    fn measure(&mut self) -> Result<Measured> {
        let TransactionParams { limit, warmup_ns, kind, .. } = *self.params;
        let warmup_transactions =
            if warmup_ns > 0 { self.run(Limit::Duration(warmup_ns))?.all_transactions() } else { 0 };
        let from = cpu::sample();
        let phase = self.run(limit)?;
        let cpu = cpu::Span { from, to: cpu::sample() };
        Ok(Measured { phase: phase.tally(kind), warmup_transactions, cpu })
    }

    /// Runs until all is begun that the phase wants, and over.
    fn run(&mut self, limit: Limit) -> Result<Phase> {
        let _timers = self.params.rate.map(|_| clock::PreciseTimers::new());
        let tick_ns = (self.params.timeout_ns / 4).clamp(BACK_OFF_NS, PATIENCE.as_nanos() as u64);
        let mut events = vec![EpollEvent::empty(); EVENTS.min(self.params.in_flight)];
        let mut sweep_ns = 0;
        let mut phase = Phase::new(limit, self.params.rate, self.params.interval_ns, clock::monotonic_ns());
        loop {
            self.stop.check()?;
            let mut until_ns = sweep_ns;
            match self.begin(&mut phase)? {
                Next::End if self.flights.is_empty() => return Ok(phase),
                Next::End | Next::WaitUntil(None) => {}
                Next::WaitUntil(Some(due_ns)) => until_ns = until_ns.min(due_ns.saturating_sub(SPIN_NS)),
                Next::Begin(_) => until_ns = 0,
            }
            for event in self.wait(&mut events, until_ns)? {
                self.advance(event.data() as usize, &mut phase)?;
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= sweep_ns {
                sweep_ns = now_ns.saturating_add(tick_ns);
                self.give_up(now_ns, &mut phase)?;
            }
        }
    }

    /// Begins the transactions that are due now. Returns the next action.
    fn begin(&mut self, phase: &mut Phase) -> Result<Next> {
        for _ in 0..BEGUN_IN_TURN {
            let now_ns = clock::monotonic_ns();
            let next = phase.next(now_ns, self.flights.len() < self.params.in_flight);
            let Next::Begin(from_ns) = next else { return Ok(next) };
            if now_ns < self.resume_ns {
                return Ok(Next::WaitUntil(Some(self.resume_ns.saturating_add(SPIN_NS))));
            }
            phase.begin(from_ns, now_ns);
            match Flight::begin(&self.plan, from_ns) {
                Ok((flight, Step::Waits)) => self.watch(flight)?,
                Ok((flight, step @ Step::Done { .. })) => self.end(flight, step, phase),
                Err(failure) => self.fail(&failure, phase)?,
            }
        }
        Ok(Next::Begin(0))
    }

    fn watch(&mut self, flight: Flight) -> Result<()> {
        let index = self.flights.insert(flight);
        if self.params.in_flight == 1 {
            return Ok(());
        }
        let Some(flight) = self.flights.get_mut(index) else { return Ok(()) };
        let (stream, flags) = flight.interest();
        self.epoll
            .add(stream, EpollEvent::new(flags, index as u64))
            .map_err(|e| Error::system(&*self.patience.doing, "epoll_ctl", e))
    }

    /// Waits for those in flight. A single one needs no epoll set, whose upkeep would cost it two calls.
    fn wait<'e>(&mut self, events: &'e mut [EpollEvent], until_ns: u64) -> Result<&'e [EpollEvent]> {
        let timeout = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        let (call, ready) = if self.params.in_flight == 1 {
            ("ppoll", self.wait_for_one(events, timeout))
        } else {
            ("epoll_wait", sys::epoll_wait(&self.epoll, events, timeout))
        };
        match ready {
            Ok(ready) => Ok(&events[..ready]),
            Err(Errno::EINTR) => Ok(&[]),
            Err(e) => Err(Error::system(&*self.patience.doing, call, e)),
        }
    }

    fn wait_for_one(&self, events: &mut [EpollEvent], timeout: Duration) -> nix::Result<usize> {
        let waiting = self.flights.iter().next();
        let mut fds: Vec<_> = waiting
            .map(|(_, flight)| {
                let is_connecting = flight.interest().1.contains(EpollFlags::EPOLLOUT);
                let flags = if is_connecting { PollFlags::POLLOUT } else { PollFlags::POLLIN };
                PollFd::new(flight.interest().0.as_fd(), flags)
            })
            .into_iter()
            .collect();
        let ready = ppoll(&mut fds, Some(TimeSpec::from_duration(timeout)), None)?;
        if let (Some(first), Some((index, _))) = (events.first_mut(), waiting) {
            *first = EpollEvent::new(EpollFlags::empty(), index as u64);
        }
        Ok(ready as usize)
    }

    fn advance(&mut self, index: usize, phase: &mut Phase) -> Result<()> {
        let Some(flight) = self.flights.get_mut(index) else { return Ok(()) };
        match flight.advance(&self.plan) {
            Ok(Step::Waits) => {}
            Ok(step) => {
                if let Some(flight) = self.flights.try_remove(index) {
                    self.end(flight, step, phase);
                }
            }
            Err(failure) => {
                drop(self.flights.try_remove(index));
                self.fail(&failure, phase)?;
            }
        }
        Ok(())
    }

    /// Closes it.
    fn end(&mut self, flight: Flight, step: Step, phase: &mut Phase) {
        let from_ns = flight.from_ns;
        drop(flight);
        if let Step::Done { connect_ns } = step {
            let ended_ns = clock::monotonic_ns();
            phase.succeeded(connect_ns, ended_ns.saturating_sub(from_ns), ended_ns);
            self.patience.succeeded_ns = ended_ns;
        }
    }

    fn fail(&mut self, failure: &Failed, phase: &mut Phase) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        if self.params.rate.is_none() {
            self.resume_ns = now_ns.saturating_add(BACK_OFF_NS);
        }
        phase.failed(failure.reason(), now_ns);
        self.patience.check(failure, now_ns)
    }

    /// Gives up what takes too long.
    fn give_up(&mut self, now_ns: u64, phase: &mut Phase) -> Result<()> {
        let overdue = self.flights.iter().filter(|(_, flight)| now_ns >= flight.deadline_ns);
        let overdue: Vec<_> = overdue.map(|(index, _)| index).collect();
        for index in overdue {
            drop(self.flights.try_remove(index));
            self.fail(&Failed::Timeout, phase)?;
        }
        Ok(())
    }
}

/// Time limit since the last success.
struct Patience {
    doing: String,
    limit_ns: u64,
    succeeded_ns: u64,
}

impl Patience {
    fn new(endpoint: &Endpoint, params: &TransactionParams) -> Self {
        Self {
            doing: format!("connecting to {}", SocketAddr::new(endpoint.peer, endpoint.port)),
            limit_ns: STALL_NS.saturating_add(params.timeout_ns),
            succeeded_ns: clock::monotonic_ns(),
        }
    }

    fn check(&self, failure: &Failed, now_ns: u64) -> Result<()> {
        if now_ns.saturating_sub(self.succeeded_ns) <= self.limit_ns {
            return Ok(());
        }
        let doing = format!("{} (last failure: {})", self.doing, failure.reason());
        Err(timeout(doing, self.limit_ns))
    }
}

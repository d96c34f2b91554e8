//! The connecting side: proves itself, then for each round a connection over each family alone, and a race.

use std::io;
use std::net::{SocketAddr, TcpStream};

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use sixbench_wire::family::Family;
use sixbench_wire::token::Token;
use socket2::SockRef;

use super::EyeballsParams;
use super::account::{Account, AccountTally};
use super::attempt::{Attempts, Ended};
use super::race::{Next, Race};
use crate::cancel::{PATIENCE, Stop};
use crate::error::timeout;
use crate::workloads::tcp::connecting::{Route, reason};
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Preamble, Role, io as tcp_io};
use crate::workloads::window::Window;
use crate::{Endpoint, Error, Result};

/// Runs a session to its end.
pub fn run(endpoints: &[Endpoint], params: &EyeballsParams, stop: &Stop) -> Result<ClientResult> {
    let routes = endpoints
        .iter()
        .map(|end| Route::new(end.address, SocketAddr::new(end.peer, end.port), &params.options.congestion))
        .collect::<Result<Vec<_>>>()?;
    let _timers = clock::PreciseTimers::new();
    let session = Session {
        routes: &routes,
        families: endpoints.iter().map(|endpoint| Family::of(endpoint.peer)).collect(),
        names: endpoints.iter().map(|end| end.peer.to_string()).collect::<Vec<_>>().join(" or "),
        params,
        stop,
    };
    session.run(endpoints[0].token)
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    account: AccountTally,
    #[serde(flatten)]
    window: Window,
    socket: GrantedOptions,
    cpu: cpu::Span,
}

struct Session<'a> {
    routes: &'a [Route],
    families: Vec<Family>,
    names: String,
    params: &'a EyeballsParams,
    stop: &'a Stop,
}

/// The outcome of a race.
enum Raced {
    /// The connection.
    Won(TcpStream),
    /// The last failure; absent where the time was over.
    Lost(Option<io::Error>),
}

impl Session<'_> {
    fn run(&self, token: Token) -> Result<ClientResult> {
        let proof = self.prove(token)?;
        // The first packets to a neighbour wait for its address to be resolved.
        self.try_alone(0, &mut Account::new(&self.families))?;
        let mut account = Account::new(&self.families);
        let (from, started_ns) = (cpu::sample(), clock::monotonic_ns());
        for round in 0..self.params.count {
            self.try_alone(round, &mut account)?;
            self.pause()?;
            self.race(&mut account)?;
            self.pause()?;
        }
        let ended_ns = clock::monotonic_ns();
        Ok(ClientResult {
            account: account.tally(),
            window: Window { started_ns, ended_ns, measured_ns: ended_ns - started_ns },
            socket: self.params.options.granted(SockRef::from(&proof)),
            cpu: cpu::Span { from, to: cpu::sample() },
        })
    }

    /// A first connection, by the algorithm: it proves the client and stays open.
    fn prove(&self, token: Token) -> Result<TcpStream> {
        let error = match self.race(&mut Account::new(&self.families))? {
            Raced::Won(proof) => return self.say(proof, token),
            Raced::Lost(error) => error,
        };
        let doing = format!("connecting to {}", self.names);
        Err(match error {
            Some(error) if error.kind() != io::ErrorKind::TimedOut => Error::system(doing, "connect", error),
            _ => timeout(doing, self.params.timeout_ns),
        })
    }

    fn say(&self, mut proof: TcpStream, token: Token) -> Result<TcpStream> {
        let doing = || format!("proving ourselves to {}", self.names);
        proof
            .set_nonblocking(false)
            .and_then(|()| proof.set_read_timeout(Some(PATIENCE)))
            .map_err(|e| Error::system(doing(), "setsockopt(SO_RCVTIMEO)", e))?;
        let preamble = Preamble { role: Role::Proof, index: 0 }.emit(&token);
        let timeout_ns = self.params.timeout_ns;
        tcp_io::send_all(&mut proof, &preamble, timeout_ns, self.stop)
            .and_then(|()| tcp_io::read_message(&mut proof, &mut [0], 1, timeout_ns, self.stop))
            .map_err(|failure| failure.explain(&doing(), timeout_ns))?;
        Ok(proof)
    }

    /// A connection to the first address of each family, one after the other; the families begin by turns.
    fn try_alone(&self, round: u64, account: &mut Account) -> Result<()> {
        let mut order = account.order().to_vec();
        if round % 2 == 1 {
            order.reverse();
        }
        for family in order {
            let index = self.families.iter().position(|other| *other == family);
            let Some(index) = index.filter(|_| account.has_hope(family)) else { continue };
            let started_ns = clock::monotonic_ns();
            let deadline_ns = started_ns.saturating_add(self.params.timeout_ns);
            let mut attempts = Attempts::new(self.routes);
            let mut ended = attempts.begin(index);
            while ended.is_none() && clock::monotonic_ns() < deadline_ns {
                self.stop.check()?;
                ended = attempts.wait(deadline_ns)?;
            }
            let outcome = match ended.map(|ended| ended.outcome) {
                Some(Ok(_)) => Ok(clock::monotonic_ns() - started_ns),
                Some(Err(error)) => Err(reason(&error)),
                None => Err("timeout".to_owned()),
            };
            account.alone(family, outcome);
        }
        Ok(())
    }

    /// Makes a connection by the algorithm. The others that are under way when it succeeds are given up (RFC 8305
    /// section 5).
    fn race(&self, account: &mut Account) -> Result<Raced> {
        let started_ns = clock::monotonic_ns();
        let deadline_ns = started_ns.saturating_add(self.params.timeout_ns);
        let mut race = Race::new(self.params.rules, &self.families);
        let mut attempts = Attempts::new(self.routes);
        let mut last_failure = None;
        loop {
            self.stop.check()?;
            let now_ns = clock::monotonic_ns();
            let next = if now_ns >= deadline_ns { None } else { Some(race.next(now_ns - started_ns)) };
            let ended = match next {
                Some(Next::Begin(index)) => {
                    account.begun(self.families[index]);
                    attempts.begin(index)
                }
                Some(Next::WaitUntil(due_ns)) => {
                    let due_ns = due_ns.map_or(u64::MAX, |due_ns| started_ns.saturating_add(due_ns));
                    attempts.wait(deadline_ns.min(due_ns))?
                }
                Some(Next::Lost) => {
                    account.lost(last_failure.as_ref().map(reason).unwrap_or_default());
                    return Ok(Raced::Lost(last_failure));
                }
                None => {
                    account.lost("timeout".to_owned());
                    return Ok(Raced::Lost(None));
                }
            };
            match ended {
                Some(Ended { index, outcome: Ok(stream) }) => {
                    account.won(self.families[index], clock::monotonic_ns() - started_ns);
                    return Ok(Raced::Won(stream));
                }
                Some(Ended { index, outcome: Err(error) }) => {
                    race.failed(index, clock::monotonic_ns() - started_ns);
                    account.refused(self.families[index], reason(&error));
                    last_failure = Some(error);
                }
                None => {}
            }
        }
    }

    fn pause(&self) -> Result<()> {
        self.stop.sleep_until(clock::monotonic_ns().saturating_add(self.params.gap_ns))
    }
}

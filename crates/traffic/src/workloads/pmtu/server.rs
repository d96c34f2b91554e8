//! The server of `pmtu`: answers the client, then measures the way to it.

use std::net::TcpStream;
use std::sync::mpsc::{self, RecvTimeoutError};

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::Socket;

use super::direction::DirectionResult;
use super::prober::Prober;
use super::session::{CONNECTION_PATIENCE, Control};
use super::{NAME, Settings, direction};
use crate::cancel::{Cancel, PATIENCE, Stop};
use crate::error::timeout;
use crate::session::{Endpoint, Server};
use crate::strays::Strays;
use crate::workloads::tcp::acceptor::again_where_taken;
use crate::workloads::tcp::{Acceptor, Admit, Preamble, Role};
use crate::workloads::thread_server::{self, ThreadServer};
use crate::workloads::window::Window;
use crate::{Error, Result};

/// Connections that a session has: of control, and for each direction.
const CONNECTIONS: usize = 3;
/// Number of ports that are tried, until one is free for UDP and TCP.
const PORTS: usize = 32;

pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let Listening { acceptor, socket, connections, stop } = listen(endpoint, &settings, cancel)?;
    let port = acceptor.port();
    let endpoint = endpoint.clone();
    let accepting = stop.clone();
    ThreadServer::start(NAME, port, cancel, move |control| {
        let prober = Prober::new(socket, &endpoint, control.stop());
        let mut serving = Serving { endpoint, settings, prober, connections, control };
        let result = serving.work();
        stop.raise();
        let (_, connections) = acceptor.join();
        let strays = Strays { connections, datagrams: serving.prober.strays() };
        result.map(|measured| ServerResult { measured, strays })
    })
    // Where there is no thread, nobody else ends the acceptor.
    .inspect_err(|_| accepting.raise())
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    #[serde(flatten)]
    measured: Measured,
    strays: Strays,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Measured {
    reverse: DirectionResult,
    /// Bytes of the client's transfer.
    received_bytes: u64,
    answered_probes: u64,
    #[serde(flatten)]
    window: Window,
    cpu: cpu::Span,
}

struct Listening {
    acceptor: Acceptor<Admitting>,
    socket: Socket,
    connections: mpsc::Receiver<(Role, TcpStream)>,
    /// Ends the acceptor.
    stop: Stop,
}

/// Listens at the same port for TCP and UDP.
fn listen(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Listening> {
    again_where_taken(PORTS, || {
        let stop = Stop::new(cancel);
        let (sender, connections) = mpsc::channel();
        let admitting = Admitting { sender, has_come: Vec::new() };
        let acceptor = Acceptor::start(endpoint, &settings.options, CONNECTIONS, admitting, stop.clone())?;
        match Prober::open(endpoint, acceptor.port()) {
            Ok(socket) => Ok(Listening { acceptor, socket, connections, stop }),
            Err(error) => {
                stop.raise();
                acceptor.join();
                Err(error)
            }
        }
    })
}

/// Hands the connections of a session on, each once.
struct Admitting {
    sender: mpsc::Sender<(Role, TcpStream)>,
    has_come: Vec<Role>,
}

impl Admit for Admitting {
    fn expects(&self, preamble: Preamble) -> bool {
        let is_ours = matches!(preamble.role, Role::PmtuControl | Role::PmtuForward | Role::PmtuReverse);
        is_ours && preamble.index == 0 && !self.has_come.contains(&preamble.role)
    }

    fn admit(&mut self, preamble: Preamble, stream: TcpStream) {
        self.has_come.push(preamble.role);
        // Where nobody waits any more, it is closed.
        let _ = self.sender.send((preamble.role, stream));
    }
}

struct Serving<'a> {
    endpoint: Endpoint,
    settings: Settings,
    prober: Prober,
    connections: mpsc::Receiver<(Role, TcpStream)>,
    control: &'a thread_server::Control,
}

impl Serving<'_> {
    fn work(&mut self) -> Result<Measured> {
        let Self { endpoint, settings, prober, connections, control: outer } = self;
        let stop = outer.stop();
        let check = || check(outer);
        let wait = |role, patience_ns| wait_for(connections, role, patience_ns, check);
        let stream = wait(Role::PmtuControl, u64::MAX)?;
        if endpoint.is_open() {
            let peer = stream.peer_addr().map_err(|e| Error::system("asking who the client is", "getpeername", e))?;
            endpoint.peer = peer.ip();
            prober.demand_cookie(endpoint.peer)?;
        }
        let from = cpu::sample();
        let started_ns = clock::monotonic_ns();
        let beginning = direction::begin(endpoint, settings)?;
        let mut control = Control::new(stream, endpoint, stop)?;
        let patience_ns = CONNECTION_PATIENCE.as_nanos() as u64;
        let received_bytes = control.answer(prober, settings, check, || wait(Role::PmtuForward, patience_ns))?;
        let answered_probes = prober.answered();
        let reverse = direction::measure(prober, endpoint, settings, stop, &beginning, || {
            control.begin_transfer()?;
            wait(Role::PmtuReverse, patience_ns)
        })?;
        control.done()?;
        let ended_ns = clock::monotonic_ns();
        Ok(Measured {
            reverse,
            received_bytes,
            answered_probes,
            window: Window { started_ns, ended_ns, measured_ns: ended_ns - started_ns },
            cpu: cpu::Span { from, to: cpu::sample() },
        })
    }
}

fn check(control: &thread_server::Control) -> Result<()> {
    control.check()?;
    match control.order() {
        Some(order) if order.is_overdue(clock::monotonic_ns()) => {
            Err(timeout(format!("finishing {NAME}"), order.finish.timeout_ns))
        }
        _ => Ok(()),
    }
}

fn wait_for(
    connections: &mpsc::Receiver<(Role, TcpStream)>,
    wanted: Role,
    patience_ns: u64,
    check: impl Fn() -> Result<()>,
) -> Result<TcpStream> {
    let started_ns = clock::monotonic_ns();
    loop {
        check()?;
        match connections.recv_timeout(PATIENCE) {
            Ok((role, stream)) if role == wanted => return Ok(stream),
            // It comes before it was announced, or never was: the client does not do so.
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) if clock::monotonic_ns() - started_ns < patience_ns => {}
            Err(_) => {
                return Err(timeout(format!("waiting for a connection of {NAME}"), patience_ns));
            }
        }
    }
}

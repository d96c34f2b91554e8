//! One connection of the client, from its socket to its close. No call on it waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use sixbench_measure::clock;
use sixbench_packet::LocalAddress;
use socket2::{Domain, Protocol, Socket, Type};

use super::{ANSWER_BYTES, ConnectionsParams, REQUEST_BYTES, Transport, answer, request};
use crate::workloads::tcp::connecting::Route;
use crate::workloads::tcp::io as tcp_io;
use crate::{Endpoint, Result};

/// The round in which connections are opened.
pub const OPENING: u8 = 0;
/// The round in which those that are open answer.
pub const CHECK: u8 = 1;

/// The destinations of connections, as many as ports of the server, and the sockets to reach them.
pub enum Destinations {
    Tcp(Vec<Route>),
    Udp {
        local: LocalAddress,
        peers: Vec<SocketAddr>,
        /// The source port of those that go to each of the peers, one after the other.
        port: u16,
    },
}

impl Destinations {
    /// Destinations at the ports of the server, the first of which is the endpoint's.
    pub fn new(endpoint: &Endpoint, params: &ConnectionsParams) -> Result<Self> {
        let ports = (0..params.server_ports).map(|number| endpoint.port.wrapping_add(number));
        let peers = ports.map(|port| SocketAddr::new(endpoint.peer, port));
        Ok(match params.transport {
            Transport::Udp => Self::Udp { local: endpoint.address, peers: peers.collect(), port: 0 },
            Transport::Tcp => Self::Tcp(
                peers
                    .map(|peer| Route::new(endpoint.address, peer, &params.options.congestion))
                    .collect::<Result<_>>()?,
            ),
        })
    }

    /// The socket of the connection of that number.
    fn open(&mut self, number: u64) -> io::Result<Socket> {
        match self {
            Self::Tcp(routes) => Ok(routes[number as usize % routes.len()].open()?.into()),
            Self::Udp { local, peers, port } => {
                let place = number as usize % peers.len();
                // A source port is used once for each peer, which tells these connections apart.
                let wanted = if place == 0 { 0 } else { *port };
                let socket =
                    Socket::new(Domain::for_address(peers[place]), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
                if wanted != 0 {
                    socket.set_reuse_address(true)?;
                }
                socket.bind(&local.at(wanted).into())?;
                if wanted == 0 {
                    *port = socket.local_addr()?.as_socket().map_or(0, |address| address.port());
                    // Not before: the kernel would choose ports that others have.
                    socket.set_reuse_address(true)?;
                }
                socket.connect(&peers[place].into())?;
                Ok(socket)
            }
        }
    }

    fn is_connected(&self, number: u64, socket: &Socket) -> io::Result<bool> {
        match self {
            Self::Tcp(routes) => routes[number as usize % routes.len()].connect(socket),
            Self::Udp { .. } => Ok(true),
        }
    }
}

/// A connection.
pub struct Held {
    pub socket: Socket,
    number: u64,
    stage: Stage,
    since_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    /// It waits for the answer to the request of that round.
    Asking(u8),
    /// It is open, and nothing is asked.
    Open,
}

/// The result of a step of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Waits,
    /// The round is over for it, after this time.
    Done(u64),
}

/// The reason why a connection failed.
pub enum Failed {
    Io(io::Error),
    /// The peer closed, or sent something else.
    Closed,
    WrongAnswer,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Io(error)
    }
}

impl Held {
    /// Begins to connect.
    pub fn open(
        destinations: &mut Destinations,
        number: u64,
        endpoint: &Endpoint,
    ) -> std::result::Result<(Self, Step), Failed> {
        let socket = destinations.open(number)?;
        let mut held = Self { socket, number, stage: Stage::Connecting, since_ns: clock::monotonic_ns() };
        if matches!(destinations, Destinations::Udp { .. }) {
            held.ask(endpoint, OPENING)?;
            return Ok((held, Step::Waits));
        }
        let mut step = held.advance(destinations, endpoint)?;
        if step == Step::Waits {
            // The first call only sends the SYN: over a short path its answer is there already.
            step = held.advance(destinations, endpoint)?;
        }
        Ok((held, step))
    }

    /// True if it waits for something.
    pub fn is_waiting(&self) -> bool {
        self.stage != Stage::Open
    }

    /// Time since it began to connect, or was asked.
    pub fn waited_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.since_ns)
    }

    /// Sends the request of a round.
    pub fn ask(&mut self, endpoint: &Endpoint, round: u8) -> std::result::Result<(), Failed> {
        self.since_ns = clock::monotonic_ns();
        self.stage = Stage::Asking(round);
        self.send(endpoint, round)
    }

    /// Sends it again, where the kernel does not do so itself.
    pub fn ask_again(&mut self, endpoint: &Endpoint) -> std::result::Result<(), Failed> {
        match self.stage {
            Stage::Asking(round) => self.send(endpoint, round),
            Stage::Connecting | Stage::Open => Ok(()),
        }
    }

    fn send(&mut self, endpoint: &Endpoint, round: u8) -> std::result::Result<(), Failed> {
        match (&self.socket).write(&request(&endpoint.token, round)) {
            Ok(REQUEST_BYTES) => Ok(()),
            // So few bytes always fit into the buffer of a connection that has sent nothing else.
            Ok(_) => Err(Failed::Io(ErrorKind::WriteZero.into())),
            // The device's queue is full: the request is lost, as it might be anywhere.
            Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) || tcp_io::is_pause(&e) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Goes on as far as it can.
    pub fn advance(&mut self, destinations: &Destinations, endpoint: &Endpoint) -> std::result::Result<Step, Failed> {
        if self.stage == Stage::Connecting {
            if !destinations.is_connected(self.number, &self.socket)? {
                return Ok(Step::Waits);
            }
            return Ok(self.done());
        }
        loop {
            let mut bytes = [0; ANSWER_BYTES + 1];
            match (&self.socket).read(&mut bytes) {
                Ok(0) => return Err(Failed::Closed),
                Ok(ANSWER_BYTES) => match self.stage {
                    Stage::Asking(round) if bytes[..ANSWER_BYTES] == answer(&endpoint.token, round) => {
                        return Ok(self.done());
                    }
                    // An answer to a request that was sent twice.
                    _ if bytes[..ANSWER_BYTES] == answer(&endpoint.token, OPENING) => {}
                    _ => return Err(Failed::WrongAnswer),
                },
                Ok(_) => return Err(Failed::WrongAnswer),
                Err(e) if tcp_io::is_pause(&e) => return Ok(Step::Waits),
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn done(&mut self) -> Step {
        self.stage = Stage::Open;
        Step::Done(self.waited_ns())
    }
}

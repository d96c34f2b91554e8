//! One connection of the client, from its socket to its close. No call on it waits.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nix::sys::epoll::EpollFlags;
use sixbench_measure::clock;
use socket2::SockRef;

use super::{FirstClose, Kind, TransactionParams, request, response};
use crate::workloads::tcp::connecting::{self, Route};
use crate::{Endpoint, Result};

/// The plan of every connection.
pub struct Plan {
    route: Route,
    kind: Kind,
    first_close: FirstClose,
    timeout_ns: u64,
    request: u8,
    response: u8,
}

impl Plan {
    /// The plan for the transactions of a session.
    pub fn new(endpoint: &Endpoint, params: &TransactionParams) -> Result<Self> {
        let peer = SocketAddr::new(endpoint.peer, endpoint.port);
        Ok(Self {
            route: Route::new(endpoint.address, peer, &params.options.congestion)?,
            kind: params.kind,
            first_close: params.first_close,
            timeout_ns: params.timeout_ns,
            request: request(&endpoint.token),
            response: response(&endpoint.token),
        })
    }
}

/// A connection at work.
pub struct Flight {
    stream: TcpStream,
    stage: Stage,
    /// Start of the time that counts: the time before its socket was made, or that it was due.
    pub from_ns: u64,
    connecting_ns: u64,
    connected_ns: u64,
    /// The time after which it takes too long.
    pub deadline_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    /// The request was sent.
    Asking,
    /// The server is to close.
    Closing,
}

/// The result of a step of a flight.
pub enum Step {
    /// It waits for its socket.
    Waits,
    /// It is over.
    Done {
        /// The time of its handshake.
        connect_ns: u64,
    },
}

/// The result of a transaction or a part of it.
pub type Attempt<T> = std::result::Result<T, Failed>;

/// The reason why a transaction failed.
pub enum Failed {
    /// The system's error.
    Io(io::Error),
    /// It took too long.
    Timeout,
    /// The peer closed instead of answering.
    Closed,
    /// The peer sent something else.
    WrongResponse,
}

impl Flight {
    /// Begins to connect.
    pub fn begin(plan: &Plan, from_ns: u64) -> Attempt<(Self, Step)> {
        let stream = plan.route.open()?;
        let connecting_ns = clock::monotonic_ns();
        let mut flight = Self {
            stream,
            stage: Stage::Connecting,
            from_ns,
            connecting_ns,
            connected_ns: connecting_ns,
            deadline_ns: connecting_ns.saturating_add(plan.timeout_ns),
        };
        let mut step = flight.advance(plan)?;
        if let (Step::Waits, Stage::Connecting) = (&step, flight.stage) {
            // The first call only sends the SYN: over a short path its answer is there already.
            step = flight.advance(plan)?;
        }
        Ok((flight, step))
    }

    /// The socket, and what an epoll set has to look for.
    pub fn interest(&self) -> (&TcpStream, EpollFlags) {
        let flags = match self.stage {
            Stage::Connecting => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET,
            Stage::Asking | Stage::Closing => EpollFlags::EPOLLIN,
        };
        (&self.stream, flags)
    }

    /// Goes on as far as it can.
    pub fn advance(&mut self, plan: &Plan) -> Attempt<Step> {
        match self.stage {
            Stage::Connecting => self.connect(plan),
            Stage::Asking => self.read_answer(plan),
            Stage::Closing => self.read_end(),
        }
    }

    fn connect(&mut self, plan: &Plan) -> Attempt<Step> {
        if !plan.route.connect(&self.stream)? {
            return Ok(Step::Waits);
        }
        self.connected_ns = clock::monotonic_ns();
        if plan.kind == Kind::Connect {
            return self.close(plan);
        }
        // One byte always fits.
        self.stream.write_all(&[plan.request])?;
        self.stage = Stage::Asking;
        self.deadline_ns = self.connected_ns.saturating_add(plan.timeout_ns);
        // The answer is hardly ever there already.
        Ok(Step::Waits)
    }

    fn read_answer(&mut self, plan: &Plan) -> Attempt<Step> {
        let mut answer = [0; 2];
        match self.read(&mut answer)? {
            None => Ok(Step::Waits),
            Some(0) => Err(Failed::Closed),
            Some(1) if answer[0] == plan.response => self.close(plan),
            Some(_) => Err(Failed::WrongResponse),
        }
    }

    fn close(&mut self, plan: &Plan) -> Attempt<Step> {
        match plan.first_close {
            FirstClose::Client => Ok(self.done()),
            FirstClose::Reset => {
                SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))?;
                Ok(self.done())
            }
            FirstClose::Server => {
                self.stage = Stage::Closing;
                self.read_end()
            }
        }
    }

    fn read_end(&mut self) -> Attempt<Step> {
        match self.read(&mut [0])? {
            None => Ok(Step::Waits),
            Some(0) => Ok(self.done()),
            Some(_) => Err(Failed::WrongResponse),
        }
    }

    /// Reads bytes; nothing where none are there.
    fn read(&mut self, bytes: &mut [u8]) -> Attempt<Option<usize>> {
        match self.stream.read(bytes) {
            Ok(count) => Ok(Some(count)),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn done(&self) -> Step {
        Step::Done { connect_ns: self.connected_ns - self.connecting_ns }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut { Failed::Timeout } else { Failed::Io(error) }
    }
}

impl Failed {
    /// The key in `failed`: an errno's name, or a word of ours.
    pub fn reason(&self) -> String {
        match self {
            Failed::Io(error) => connecting::reason(error),
            Failed::Timeout => "timeout".to_owned(),
            Failed::Closed => "closed".to_owned(),
            Failed::WrongResponse => "wrong-response".to_owned(),
        }
    }
}

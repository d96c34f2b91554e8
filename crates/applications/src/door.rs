//! The door of a server: who is served, and how a client enters that its server was not told.
//!
//! A server that was told its peer serves that address. Any other one serves the first address that proves to be of the
//! trial before all else: over UDP by the echo of a cookie, over TCP by a first connection with the trial's token (see
//! "The cookie" and "Only the trial's peer is served" in the protocol document). Nobody else is sent anything but
//! cookies, and no library reads what others send.

use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sixbench_traffic::cookie::{Doorkeeper, Message, Verdict};
use sixbench_traffic::datagram::HEADER_BYTES;
use sixbench_traffic::error::{peer_lost, timeout as timeout_error};
use sixbench_traffic::proof::{self, PREAMBLE_BYTES, Preamble, Role};
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Result};
use sixbench_wire::token::Token;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::{connecting, runtime};

/// Longest time of a proof.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that may be silent before the proof. The oldest of them is closed for the next one.
const MAX_SILENT: usize = 64;
/// The first connection of a client over TCP.
const PROOF: Preamble = Preamble { role: Role::Proof, index: 0 };

/// The address that a server serves, or how that is found, and the count of all others.
pub struct Door {
    token: Token,
    /// Unset until somebody has proved to be of the trial.
    peer: OnceLock<IpAddr>,
    /// Further addresses of the peer, to which it may move.
    further: Vec<IpAddr>,
    /// Absent where the server was told its peer.
    keeper: Option<Doorkeeper>,
    stray_connections: AtomicU64,
    stray_datagrams: AtomicU64,
}

/// The judgement on a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It is the peer's.
    Admitted,
    /// It is of the exchange of cookies. This is to be sent back, and nothing else done.
    Answer([u8; HEADER_BYTES]),
    /// It is somebody else's, and is counted.
    Stray,
}

impl Door {
    /// The door of a trial's server.
    pub fn of(trial: &Endpoint) -> Result<Arc<Self>> {
        Self::of_moving(trial, &[])
    }

    /// The door of a server whose client may move to the addresses of further endpoints.
    pub fn of_moving(trial: &Endpoint, further: &[Endpoint]) -> Result<Arc<Self>> {
        let keeper = if trial.is_open() { Some(Doorkeeper::new(trial.token.short())?) } else { None };
        let peer = OnceLock::new();
        if keeper.is_none() {
            // It is unset until here.
            let _ = peer.set(trial.peer);
        }
        Ok(Arc::new(Self {
            token: trial.token,
            peer,
            further: further.iter().map(|endpoint| endpoint.peer).collect(),
            keeper,
            stray_connections: AtomicU64::new(0),
            stray_datagrams: AtomicU64::new(0),
        }))
    }

    /// True if the server was told no peer.
    pub fn is_open(&self) -> bool {
        self.keeper.is_some()
    }

    /// True if each datagram has to be judged: the server was told no peer, or one that moves. quinn takes those of a
    /// connection from any address (RFC 9000 section 9).
    pub fn judges_datagrams(&self) -> bool {
        self.is_open() || !self.further.is_empty()
    }

    /// True for the addresses that are served.
    pub fn admits(&self, from: IpAddr) -> bool {
        self.peer.get() == Some(&from) || self.further.contains(&from)
    }

    /// Judges a datagram.
    pub fn take(&self, datagram: &[u8], from: SocketAddr) -> Arrival {
        let is_admitted = self.admits(from.ip());
        let Some(keeper) = &self.keeper else { return if is_admitted { Arrival::Admitted } else { self.stray() } };
        if is_admitted && Message::decode(datagram, self.token.short()).is_none() {
            return Arrival::Admitted;
        }
        match keeper.take(datagram, from) {
            Verdict::Answer(message) if is_admitted || self.peer.get().is_none() => Arrival::Answer(message.encode()),
            Verdict::Admit(message) if self.admit(from.ip()) => Arrival::Answer(message.encode()),
            Verdict::Answer(_) | Verdict::Admit(_) | Verdict::Stray => self.stray(),
        }
    }

    /// Counts a connection that is not of the trial.
    pub fn count_stray_connection(&self) {
        self.stray_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts such a datagram.
    pub fn count_stray_datagram(&self) {
        self.stray_datagrams.fetch_add(1, Ordering::Relaxed);
    }

    /// The strays, as results have them.
    pub fn strays(&self) -> Strays {
        Strays {
            connections: self.stray_connections.load(Ordering::Relaxed),
            datagrams: self.stray_datagrams.load(Ordering::Relaxed),
        }
    }

    fn stray(&self) -> Arrival {
        self.count_stray_datagram();
        Arrival::Stray
    }

    /// Makes this address the peer, unless there is one. True if it is the peer now.
    fn admit(&self, from: IpAddr) -> bool {
        *self.peer.get_or_init(|| from) == from
    }

    /// Reads what a connection begins with. Its address is the peer's if that is the proof, which is answered.
    async fn examine(&self, mut stream: TcpStream, from: IpAddr) {
        let mut preamble = [0; PREAMBLE_BYTES];
        let read = timeout(PATIENCE, stream.read_exact(&mut preamble)).await;
        let is_proof = matches!(read, Ok(Ok(_))) && Preamble::parse(&preamble, &self.token) == Some(PROOF);
        if is_proof && self.admit(from) {
            // A client that cannot read it is gone.
            let _ = stream.write_all(&self.token.0[1..2]).await;
        } else {
            connecting::reset(&stream);
            self.count_stray_connection();
        }
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Door").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// The connections of a listener that have proved nothing yet. They end when this is dropped.
pub struct Waiting {
    door: Arc<Door>,
    tasks: JoinSet<()>,
    /// Oldest first.
    handles: VecDeque<AbortHandle>,
}

impl Waiting {
    /// No connection yet.
    pub fn at(door: &Arc<Door>) -> Self {
        Self { door: Arc::clone(door), tasks: JoinSet::new(), handles: VecDeque::new() }
    }

    /// Takes a connection whose address is not the peer's. Where there is a peer it is closed.
    pub fn take(&mut self, stream: TcpStream, from: IpAddr) {
        if self.door.peer.get().is_some() {
            connecting::reset(&stream);
            return self.door.count_stray_connection();
        }
        self.handles.retain(|handle| !handle.is_finished());
        if self.handles.len() >= MAX_SILENT {
            if let Some(oldest) = self.handles.pop_front() {
                oldest.abort();
                self.door.count_stray_connection();
            }
        }
        let door = Arc::clone(&self.door);
        self.handles.push_back(self.tasks.spawn_local(async move { door.examine(stream, from).await }));
    }

    /// Waits until one of them is judged; for ever where there is none.
    pub async fn next(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// The transport by which a client enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A first connection has the proof.
    Tcp,
    /// The client echoes a cookie.
    Udp,
}

/// The client's side: proves to a server that was told no peer that this address is its client's. Another server is
/// entered already.
///
/// # Errors
/// `timeout` and `peer-lost` where the server does not answer, `cancelled`.
pub fn enter(endpoint: &Endpoint, carrier: Carrier, cancel: &Cancel) -> Result<()> {
    match carrier {
        _ if !endpoint.cookie => Ok(()),
        Carrier::Udp => proof::echo_cookie(endpoint, cancel),
        Carrier::Tcp => runtime::block_on(cancel, prove(endpoint)),
    }
}

async fn prove(endpoint: &Endpoint) -> Result<()> {
    let doing =
        || format!("proving by TCP to {} port {} that this is the trial's client", endpoint.peer, endpoint.port);
    let proving = async {
        let mut stream = connecting::connect(endpoint).await?;
        stream.write_all(&PROOF.emit(&endpoint.token)).await?;
        let mut answer = [0];
        stream.read_exact(&mut answer).await?;
        Ok(answer == endpoint.token.0[1..2])
    };
    let proved: std::io::Result<bool> =
        timeout(PATIENCE, proving).await.map_err(|_| timeout_error(doing(), PATIENCE.as_nanos() as u64))?;
    match proved.map_err(Failure::from) {
        Ok(true) => Ok(()),
        Ok(false) => Err(peer_lost(doing(), "answered what no server of the trial does")),
        Err(failure) => Err(peer_lost(doing(), format!("was lost ({}): {}", failure.reason, failure.words))),
    }
}

#[cfg(test)]
mod tests;

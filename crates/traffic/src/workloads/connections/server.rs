//! The server of `connections`: one thread and one epoll set for the listeners and for all that they accepted.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use slab::Slab;

use super::held::CHECK;
use super::{ANSWER_BYTES, ConnectionsParams, REQUEST_BYTES, Transport, allow_descriptors, answer, round_of};
use crate::cancel::Stop;
use crate::df::Df;
use crate::socket::Buffers;
use crate::strays::Strays;
use crate::workloads::cpu_watch::Edges;
use crate::workloads::tcp::{CountingResult, CountingServer, acceptor, io as tcp_io};
use crate::{Cancel, Endpoint, Error, Result, Server, datagram_socket, sys};

/// Connections that one wait tells of at most.
const EVENTS: usize = 256;
/// Connections or datagrams taken from a socket before others have their turn.
const TAKEN_IN_TURN: usize = 64;
/// Number of the first listener in an epoll set; the others count down from it. Accepted connections have their own
/// numbers.
const FIRST_SOCKET: u64 = u64::MAX;
/// Interval between looks for the end of the session.
const PATIENCE: Duration = Duration::from_millis(20);
/// Tries to find this many ports in a row.
const TRIES: usize = 32;
/// Room for the requests of a burst.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
const WATCHING: &str = "watching the connections of a session";

/// Listens at as many ports as the parameters say, one after the other.
pub fn serve(
    endpoint: &Endpoint,
    params: &ConnectionsParams,
    cancel: &Cancel,
) -> Result<Box<dyn Server<ServerResult>>> {
    if params.transport == Transport::Tcp {
        allow_descriptors(params.count)?;
    }
    let (sockets, port) = ports_in_a_row(params.server_ports, |port| Listening::at(endpoint, port, params))?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| Error::system(WATCHING, "epoll_create1", e))?;
    for (socket, name) in sockets.iter().zip((0..=FIRST_SOCKET).rev()) {
        socket.watch(&epoll, name).map_err(|e| Error::system(WATCHING, "epoll_ctl", e))?;
    }
    let (endpoint, most) = (endpoint.clone(), params.count as usize);
    let doing = "closing the connections of a session".to_owned();
    CountingServer::start((port, 0), Stop::new(cancel), doing, move |edges, is_finishing, stop| {
        let (open, sources, counted) = (Slab::new(), HashSet::new(), Account::default());
        Serving { endpoint, most, sockets, epoll, open, sources, edges, counted }.run(is_finishing, stop)
    })
}

/// A socket for each of this many ports in a row, and the first of these.
fn ports_in_a_row<T>(count: u16, at: impl Fn(u16) -> Result<(T, u16)>) -> Result<(Vec<T>, u16)> {
    acceptor::again_where_taken(TRIES, || {
        let (first, port) = at(0)?;
        let mut sockets = vec![first];
        for number in 1..count {
            let next = port.checked_add(number).ok_or_else(|| {
                Error::system("finding ports in a row", "bind", io::Error::from(io::ErrorKind::AddrInUse))
            })?;
            sockets.push(at(next)?.0);
        }
        Ok((sockets, port))
    })
}

/// The server's result.
pub type ServerResult = CountingResult<Account>;

/// Counts of the session, by the names of the protocol document.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Account {
    /// Connections, or sources of datagrams.
    accepted: u64,
    /// Answers of the round that checks.
    answered: u64,
    strays: Strays,
}

enum Listening {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Listening {
    fn at(endpoint: &Endpoint, port: u16, params: &ConnectionsParams) -> Result<(Self, u16)> {
        match params.transport {
            Transport::Tcp => {
                let (listener, port) = acceptor::listen_at(endpoint, port, &params.options)?;
                Ok((Self::Tcp(listener), port))
            }
            Transport::Udp => {
                let buffers = Buffers { rcvbuf_bytes: Some(RECEIVE_BUFFER_BYTES), ..Buffers::default() };
                let socket = datagram_socket::udp_at(endpoint.address, port, buffers, Df::Clear)?;
                datagram_socket::never_wait(&socket)?;
                let port = datagram_socket::local_port(&socket)?;
                Ok((Self::Udp(socket.into()), port))
            }
        }
    }

    fn watch(&self, epoll: &Epoll, name: u64) -> nix::Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, name);
        match self {
            Self::Tcp(listener) => epoll.add(listener, event),
            Self::Udp(socket) => epoll.add(socket, event),
        }
    }
}

/// A connection that was accepted, and what has come of its request.
struct Open {
    stream: TcpStream,
    request: [u8; REQUEST_BYTES],
    have: usize,
}

struct Serving {
    endpoint: Endpoint,
    /// Connections at a time.
    most: usize,
    sockets: Vec<Listening>,
    epoll: Epoll,
    /// Connections that have not ended, by their numbers in the epoll set.
    open: Slab<Open>,
    /// Addresses that datagrams came from.
    sources: HashSet<SocketAddr>,
    edges: Edges,
    counted: Account,
}

impl Serving {
    fn run(mut self, is_finishing: &AtomicBool, stop: &Stop) -> Result<Account> {
        let mut events = vec![EpollEvent::empty(); EVENTS];
        loop {
            stop.check()?;
            // The client has all its answers before it asks for the end.
            let is_last = is_finishing.load(Ordering::Relaxed);
            // A wait that was interrupted or failed is one in which nothing became ready.
            let patience = if is_last { Duration::ZERO } else { PATIENCE };
            let ready = sys::epoll_wait(&self.epoll, &mut events, patience).unwrap_or(0);
            for event in &events[..ready] {
                let socket = FIRST_SOCKET - event.data();
                if socket < self.sockets.len() as u64 {
                    self.take_some(socket as usize);
                } else {
                    self.advance(event.data() as usize);
                }
            }
            if is_last && ready == 0 {
                return Ok(self.counted);
            }
        }
    }

    fn take_some(&mut self, socket: usize) {
        for _ in 0..TAKEN_IN_TURN {
            let has_more = match &self.sockets[socket] {
                Listening::Tcp(listener) => match acceptor::accept(listener) {
                    Some((stream, from)) => {
                        self.accept(stream, from);
                        true
                    }
                    None => false,
                },
                Listening::Udp(_) => self.answer_datagram(socket),
            };
            if !has_more {
                return;
            }
        }
    }

    fn accept(&mut self, stream: TcpStream, from: SocketAddr) {
        if !self.endpoint.admits(from.ip()) || self.counted.accepted >= self.most as u64 {
            self.counted.strays.connections += 1;
            return tcp_io::reset(stream);
        }
        let place = self.open.vacant_entry();
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        if self.epoll.add(&stream, EpollEvent::new(flags, place.key() as u64)).is_err() {
            // Short of memory for it, which its client sees.
            return tcp_io::reset(stream);
        }
        place.insert(Open { stream, request: [0; REQUEST_BYTES], have: 0 });
        self.note_accepted();
    }

    fn note_accepted(&mut self) {
        if self.counted.accepted == 0 {
            let _ = self.edges.send(clock::monotonic_ns());
        }
        self.counted.accepted += 1;
    }

    fn advance(&mut self, number: usize) {
        let Some(open) = self.open.get_mut(number) else { return };
        match open.read() {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => {
                self.open.remove(number);
                return;
            }
        }
        match round_of(&open.request, &self.endpoint.token) {
            Some(round) if matches!(open.stream.write(&answer(&self.endpoint.token, round)), Ok(ANSWER_BYTES)) => {
                open.have = 0;
                self.counted.answered += u64::from(round == CHECK);
            }
            Some(_) => {
                self.open.remove(number);
            }
            None => {
                self.counted.strays.connections += 1;
                self.counted.accepted -= 1;
                tcp_io::reset(self.open.remove(number).stream);
            }
        }
    }

    /// Takes a datagram. Returns whether there was one.
    fn answer_datagram(&mut self, socket: usize) -> bool {
        let Listening::Udp(socket) = &self.sockets[socket] else { return false };
        let mut bytes = [0; REQUEST_BYTES + 1];
        let (length, from) = match socket.recv_from(&mut bytes) {
            Ok(received) => received,
            // Else it is told of an error that an answer met, and the next datagram may be there.
            Err(e) => return !tcp_io::is_pause(&e),
        };
        match round_of(&bytes[..length], &self.endpoint.token).filter(|_| self.endpoint.admits(from.ip())) {
            None => self.counted.strays.datagrams += 1,
            Some(round) => {
                // A datagram that is lost here is as one that is lost on the way.
                let _ = socket.send_to(&answer(&self.endpoint.token, round), from);
                self.counted.answered += u64::from(round == CHECK);
                if self.sources.insert(from) {
                    self.note_accepted();
                }
            }
        }
        true
    }
}

impl Open {
    /// Reads the bytes that are there. Returns whether the request is whole. A connection that has ended is an error.
    fn read(&mut self) -> io::Result<bool> {
        while self.have < REQUEST_BYTES {
            match self.stream.read(&mut self.request[self.have..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.have += bytes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if tcp_io::is_pause(&e) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }
}

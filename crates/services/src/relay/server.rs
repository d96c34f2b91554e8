//! The sockets of a relay, and the thread that passes on their data.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{MsgFlags, setsockopt, sockopt};
use serde::Deserialize;
use sixbench_packet::MessageReader;
use sixbench_packet::control::ControlMessage;
use sixbench_wire::addresses::Prefix6;
use socket2::{Domain, Protocol, Socket, Type};

use super::connection::{Connection, reset};
use super::counters::RelayCounters;
use super::datagrams::{Datagrams, Pair, Passed};
use super::destination;
use super::session::{CLIENT, Progress, SERVER, WATCHED, attempt};
use crate::worker::{Stop, Worker, lock};
use crate::{Error, Result};

/// No other protocol uses this port of the relay: redirected packets are for other addresses.
const PORT: u16 = 3142;
const PREFIX_BITS: u8 = 96;
const SESSIONS: usize = 4096;
const MAX_SESSIONS: usize = 1 << 20;
/// Time for which a pair that exchanges no datagrams is kept: at least 2 minutes (RFC 4787 section 4.3).
const UDP_TIMEOUT_NS: u64 = 120_000_000_000;
/// Interval between searches for pairs that exchange no datagrams any more.
const SWEEP: Duration = Duration::from_secs(1);
/// Descriptors that the agent has besides those of sessions.
const OTHER_DESCRIPTORS: u64 = 256;
const BACKLOG: i32 = 4096;
/// Connections or datagrams that are accepted before others get their turn.
const AT_ONCE: usize = 64;
const EVENTS: usize = 128;
/// Length of the buffer: at least the largest datagram.
const BUFFER_BYTES: usize = 1 << 18;

const STOP: u64 = 0;
const LISTENER: u64 = 1;
const DATAGRAMS: u64 = 2;
/// The number of the first session. The events of a session are twice its number, and one more for the server's side.
const FIRST_SESSION: u64 = 2;

/// The request `relay-start`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RelayRequest {
    pub prefix: Prefix6,
    #[serde(default = "default_port")]
    pub port: u16,
    #[serde(default = "default_sessions")]
    pub sessions: usize,
    #[serde(default = "default_udp_timeout_ns")]
    pub udp_timeout_ns: u64,
}

fn default_port() -> u16 {
    PORT
}

fn default_sessions() -> usize {
    SESSIONS
}

fn default_udp_timeout_ns() -> u64 {
    UDP_TIMEOUT_NS
}

/// A relay at work. It ends with this value, and all its sessions with it.
#[derive(Debug)]
pub struct Relay {
    counters: Arc<Mutex<RelayCounters>>,
    _worker: Worker,
}

impl Relay {
    /// Accepts connections and datagrams when this returns, in the namespace of this thread.
    pub fn start(request: &RelayRequest) -> Result<Self> {
        let refuse = |reason: String| Error::bad_params(format!("relay-start: {reason}"));
        if request.prefix.bits != PREFIX_BITS {
            return Err(refuse(format!("the prefix has {} bits, not {PREFIX_BITS}", request.prefix.bits)));
        }
        if !(1..=MAX_SESSIONS).contains(&request.sessions) {
            return Err(refuse(format!("{} sessions are not 1 to {MAX_SESSIONS}", request.sessions)));
        }
        allow_descriptors(2 * request.sessions as u64)?;
        let failed = |call| move |error: io::Error| Error::system("starting the relay", call, error);
        let (listener, datagrams) = open(request.port).map_err(failed("bind"))?;
        let epoll =
            Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|errno| failed("epoll_create1")(errno.into()))?;
        let counters = Arc::new(Mutex::new(RelayCounters { most: request.sessions, ..RelayCounters::default() }));
        let work = Work {
            epoll,
            listener,
            datagrams,
            prefix: request.prefix,
            most: request.sessions,
            timeout: Duration::from_nanos(request.udp_timeout_ns),
            sessions: HashMap::new(),
            by_pair: HashMap::new(),
            waiting: VecDeque::new(),
            next: FIRST_SESSION,
            counters: Arc::clone(&counters),
        };
        let worker = Worker::start("relay", move |stop| work.serve(&stop))?;
        Ok(Self { counters, _worker: worker })
    }

    /// Its counts until now.
    pub fn counters(&self) -> RelayCounters {
        lock(&self.counters).clone()
    }
}

/// Raises the limit of this process to this many descriptors besides its own.
fn allow_descriptors(count: u64) -> Result<()> {
    let needed = count + OTHER_DESCRIPTORS;
    let failed = |call, errno: Errno| {
        Error::system(format!("allowing {needed} descriptors, two for each session of the relay"), call, errno)
    };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|errno| failed("getrlimit", errno))?;
    if soft >= needed {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).map_err(|errno| failed("setrlimit", errno))
}

/// The sockets to which everything for the prefix is redirected. They take packets to addresses that are not the
/// node's.
fn open(port: u16) -> io::Result<(TcpListener, UdpSocket)> {
    let any = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0);
    let [listener, datagrams] =
        [(Type::STREAM, Protocol::TCP), (Type::DGRAM, Protocol::UDP)].map(|(kind, protocol)| {
            let socket = Socket::new(Domain::IPV6, kind.nonblocking(), Some(protocol))?;
            socket.set_only_v6(true)?;
            socket.set_reuse_address(true)?;
            socket.set_ip_transparent_v6(true)?;
            socket.bind(&any.into())?;
            io::Result::Ok(socket)
        });
    let (listener, datagrams) = (listener?, datagrams?);
    listener.listen(BACKLOG)?;
    setsockopt(&datagrams, sockopt::Ipv6OrigDstAddr, &true)?;
    Ok((listener.into(), datagrams.into()))
}

/// A session, and whether it is in the queue of those that go on.
struct Entry {
    session: Session,
    is_waiting: bool,
}

enum Session {
    Connection(Box<Connection>),
    Datagrams(Box<Datagrams>),
}

/// State of the thread.
struct Work {
    epoll: Epoll,
    listener: TcpListener,
    datagrams: UdpSocket,
    prefix: Prefix6,
    most: usize,
    timeout: Duration,
    sessions: HashMap<u64, Entry>,
    by_pair: HashMap<Pair, u64>,
    /// The sessions that go on, in order.
    waiting: VecDeque<u64>,
    next: u64,
    counters: Arc<Mutex<RelayCounters>>,
}

impl Work {
    fn serve(mut self, stop: &Stop) {
        let level = |data| EpollEvent::new(EpollFlags::EPOLLIN, data);
        let added = [
            self.epoll.add(stop, level(STOP)),
            self.epoll.add(&self.listener, level(LISTENER)),
            self.epoll.add(&self.datagrams, level(DATAGRAMS)),
        ];
        if added.iter().any(std::result::Result::is_err) {
            return;
        }
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut swept = Instant::now();
        loop {
            let count = match self.epoll.wait(&mut events, self.patience()) {
                Err(Errno::EINTR) => continue,
                Err(_) => return,
                Ok(count) => count,
            };
            for event in &events[..count] {
                match event.data() {
                    STOP => return,
                    LISTENER => self.accept(),
                    DATAGRAMS => self.take(&mut buffer),
                    data => self.note(data / 2, (data % 2) as usize, event.events()),
                }
            }
            for _ in 0..self.waiting.len() {
                let Some(number) = self.waiting.pop_front() else { break };
                self.go_on(number, &mut buffer);
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep(swept);
            }
        }
    }

    /// Time to wait for events.
    fn patience(&self) -> EpollTimeout {
        if !self.waiting.is_empty() {
            EpollTimeout::ZERO
        } else if self.by_pair.is_empty() {
            EpollTimeout::NONE
        } else {
            EpollTimeout::try_from(SWEEP).unwrap_or(EpollTimeout::ZERO)
        }
    }

    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            // A connection may be gone before it is accepted.
            let Ok(Some((client, _))) = attempt(|| self.listener.accept()) else { return };
            let destination = match client.local_addr() {
                Ok(SocketAddr::V6(address)) => destination::server(&self.prefix, &address),
                _ => None,
            };
            let opened = match destination {
                None => Err("no-server"),
                Some(_) if self.sessions.len() >= self.most => Err("sessions"),
                Some(server) => Ok(server),
            };
            match opened {
                Err(reason) => {
                    reset(&client);
                    self.refuse(reason);
                }
                Ok(server) => match Connection::open(client, server) {
                    Ok(connection) => self.add(Session::Connection(Box::new(connection))),
                    Err(_) => self.refuse("system"),
                },
            }
        }
    }

    /// Takes datagrams of pairs that have no sockets yet.
    fn take(&mut self, buffer: &mut [u8]) {
        let mut reader = MessageReader::default();
        for _ in 0..AT_ONCE {
            let length = match reader.read(&self.datagrams, buffer, MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN) => return,
                // A signal, or an error about an earlier datagram.
                Err(_) => continue,
                Ok(reading) => reading.bytes,
            };
            let destination = reader.control().find_map(|message| original_destination(&message));
            match (reader.name().address(), destination) {
                (Some(SocketAddr::V6(client)), Some(destination)) => {
                    self.relay(Pair { client, destination }, &buffer[..length]);
                }
                _ => self.refuse("no-server"),
            }
        }
    }

    /// Passes on a datagram that came before its pair had sockets.
    fn relay(&mut self, pair: Pair, datagram: &[u8]) {
        if !self.by_pair.contains_key(&pair) {
            let Some(server) = destination::server(&self.prefix, &pair.destination) else {
                return self.refuse("no-server");
            };
            if self.sessions.len() >= self.most {
                return self.refuse("sessions");
            }
            match Datagrams::open(pair, server) {
                Ok(datagrams) => self.add(Session::Datagrams(Box::new(datagrams))),
                Err(_) => return self.refuse("system"),
            }
        }
        let entry = self.by_pair.get(&pair).and_then(|number| self.sessions.get_mut(number));
        if let Some(Entry { session: Session::Datagrams(datagrams), .. }) = entry {
            let mut counters = lock(&self.counters);
            let mut passed = Passed::default();
            datagrams.first(datagram, &mut passed);
            counters.udp.add(&passed);
        }
    }

    fn add(&mut self, session: Session) {
        let number = self.next;
        self.next += 1;
        let watch = |side: usize| EpollEvent::new(WATCHED, 2 * number + side as u64);
        let watched = match &session {
            Session::Connection(connection) => {
                let [client, server] = connection.sockets();
                self.epoll.add(client, watch(CLIENT)).and_then(|()| self.epoll.add(server, watch(SERVER)))
            }
            Session::Datagrams(datagrams) => {
                let [client, server] = datagrams.sockets();
                self.epoll.add(client, watch(CLIENT)).and_then(|()| self.epoll.add(server, watch(SERVER)))
            }
        };
        if watched.is_err() {
            if let Session::Connection(connection) = &session {
                connection.reset();
            }
            return self.refuse("system");
        }
        {
            let mut counters = lock(&self.counters);
            match &session {
                Session::Connection(_) => {
                    counters.tcp.open += 1;
                    counters.tcp.opened += 1;
                }
                Session::Datagrams(datagrams) => {
                    counters.udp.open += 1;
                    counters.udp.opened += 1;
                    self.by_pair.insert(datagrams.pair, number);
                }
            }
        }
        self.sessions.insert(number, Entry { session, is_waiting: false });
    }

    /// Notes what has changed at a side of a session, which goes on then.
    fn note(&mut self, number: u64, side: usize, events: EpollFlags) {
        // A session that has ended may have had events.
        let Some(entry) = self.sessions.get_mut(&number) else { return };
        match &mut entry.session {
            Session::Connection(connection) => connection.note(side, events),
            Session::Datagrams(datagrams) => datagrams.note(side, events),
        }
        if !entry.is_waiting {
            entry.is_waiting = true;
            self.waiting.push_back(number);
        }
    }

    fn go_on(&mut self, number: u64, buffer: &mut [u8]) {
        let Some(entry) = self.sessions.get_mut(&number) else { return };
        entry.is_waiting = false;
        let progress = match &mut entry.session {
            Session::Connection(connection) => {
                // A request for the counters gets those of everything that has arrived anywhere.
                let mut counters = lock(&self.counters);
                let mut passed = [0; 2];
                let progress = connection.go_on(buffer, &mut passed);
                counters.tcp.passed.add(passed);
                if let Err(error) = &progress {
                    connection.reset();
                    // A connection can be made and reset before anybody looks. A server that refuses one gives another
                    // error.
                    let was_reset = connection.is_connected() || error.kind() == ErrorKind::ConnectionReset;
                    let counter = if was_reset { &mut counters.tcp.reset } else { &mut counters.tcp.unreachable };
                    *counter += 1;
                }
                progress.unwrap_or(Progress::Ends)
            }
            Session::Datagrams(datagrams) => {
                let mut counters = lock(&self.counters);
                let mut passed = Passed::default();
                let progress = datagrams.go_on(buffer, &mut passed);
                counters.udp.add(&passed);
                progress
            }
        };
        match progress {
            Progress::Waits => {}
            Progress::Again => {
                entry.is_waiting = true;
                self.waiting.push_back(number);
            }
            Progress::Ends => self.end(number),
        }
    }

    /// Ends the pairs that have exchanged no datagrams for too long.
    fn sweep(&mut self, now: Instant) {
        let is_idle = |entry: &Entry| match &entry.session {
            Session::Datagrams(datagrams) => now.saturating_duration_since(datagrams.used) >= self.timeout,
            Session::Connection(_) => false,
        };
        let idle: Vec<u64> =
            self.sessions.iter().filter(|(_, entry)| is_idle(entry)).map(|(&number, _)| number).collect();
        for number in idle {
            self.end(number);
        }
    }

    fn end(&mut self, number: u64) {
        let Some(entry) = self.sessions.remove(&number) else { return };
        let mut counters = lock(&self.counters);
        match entry.session {
            Session::Connection(_) => counters.tcp.open -= 1,
            Session::Datagrams(datagrams) => {
                counters.udp.open -= 1;
                self.by_pair.remove(&datagrams.pair);
            }
        }
    }

    fn refuse(&self, reason: &'static str) {
        *lock(&self.counters).refused.entry(reason).or_default() += 1;
    }
}

/// The destination that a datagram had before it was taken here (`IPV6_RECVORIGDSTADDR`).
fn original_destination(message: &ControlMessage<'_>) -> Option<SocketAddrV6> {
    match (message.level, message.kind, message.name(0).address()) {
        (libc::IPPROTO_IPV6, libc::IPV6_ORIGDSTADDR, Some(SocketAddr::V6(address))) => Some(address),
        _ => None,
    }
}

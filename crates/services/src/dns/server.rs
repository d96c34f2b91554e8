//! The sockets of a resolver, and its counters.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;
use std::time::Instant;

use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};
use sixbench_wire::addresses::Ipv6Net;
use sixbench_wire::dns::{Dns64, Name, Next, OUR_UDP_BYTES, Reply, Responder, Transport, Zone, default_excluded};

use super::connection::{Connection, Progress, Response};
use super::upstream::{Case, Tally, Upstream};
use crate::worker::{Stop, Woken, lock, wait_any};
use crate::{Error, Result};

/// RFC 1035 section 4.2.
const PORT: u16 = 53;
const MAX_ADDRESSES: usize = 16;
const MAX_CONNECTIONS: usize = 64;
/// Datagrams that are answered before others get their turn.
const DATAGRAMS_AT_ONCE: usize = 64;

/// The request `dns-start`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct DnsRequest {
    pub addresses: Vec<IpAddr>,
    #[serde(default = "default_port")]
    pub port: u16,
    #[serde(default)]
    pub prefix: Option<Ipv6Net>,
    #[serde(default)]
    pub excluded: Option<Vec<Ipv6Net>>,
    #[serde(default)]
    pub allow_non_global: bool,
    #[serde(default)]
    pub forward: Option<Forward>,
    pub names: Vec<Host>,
}

/// The zone whose names another server is asked for, and where that listens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Forward {
    pub zone: String,
    pub server: IpAddr,
    #[serde(default = "default_port")]
    pub port: u16,
}

/// A node's name and addresses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Host {
    pub name: String,
    pub addresses: Vec<IpAddr>,
}

fn default_port() -> u16 {
    PORT
}

/// Counts of questions and of their outcomes.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct DnsCounters {
    pub udp: u64,
    pub tcp: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    pub truncated: u64,
    pub asked: u64,
    pub unanswered: u64,
    pub ignored: BTreeMap<&'static str, u64>,
}

/// A resolver at work.
pub type Server = crate::Server<DnsCounters>;

impl Server {
    /// Answers when this returns, in the namespace of this thread.
    pub fn start(request: &DnsRequest) -> Result<Self> {
        let responder = responder(request)?;
        let open = |&address| Sockets::open(SocketAddr::new(address, request.port));
        let sockets: Vec<Sockets> = request.addresses.iter().map(open).collect::<Result<_>>()?;
        let server = request.forward.as_ref().map(|one| SocketAddr::new(one.server, one.port));
        let upstream = server.map(Upstream::open).transpose()?;
        Self::begin("dns", move |counters, stop| {
            Desk { responder, upstream, sockets, last_connection: 0, counters }.serve(stop);
        })
    }
}

fn responder(request: &DnsRequest) -> Result<Responder> {
    let refuse = |reason: String| Error::bad_params(format!("dns-start: {reason}"));
    if !(1..=MAX_ADDRESSES).contains(&request.addresses.len()) {
        return Err(refuse(format!("there are {} addresses, not 1 to {MAX_ADDRESSES}", request.addresses.len())));
    }
    let hosts: std::result::Result<Vec<_>, String> =
        request.names.iter().map(|host| Ok((host.name.parse()?, host.addresses.clone()))).collect();
    let zone = Zone::new(hosts.map_err(refuse)?).map_err(refuse)?;
    let excluded = request.excluded.as_ref();
    let excluded = excluded.cloned().unwrap_or_else(default_excluded);
    let dns64 = request.prefix.map(|prefix| Dns64::new(prefix, excluded)).transpose().map_err(refuse)?;
    let dns64 = dns64.map(|dns64| dns64.allowing_non_global(request.allow_non_global));
    let forwarded = request.forward.as_ref().map(|one| zone_of(request, one)).transpose().map_err(refuse)?;
    Ok(Responder { zone, forwarded, dns64 })
}

/// The name of the zone that is forwarded.
fn zone_of(request: &DnsRequest, forward: &Forward) -> std::result::Result<Name, String> {
    if forward.port == request.port && request.addresses.contains(&forward.server) {
        return Err(format!("the resolver would ask itself: {} is one of its own addresses", forward.server));
    }
    forward.zone.parse()
}

/// The sockets of one address. They never block.
struct Sockets {
    udp: UdpSocket,
    tcp: TcpListener,
}

impl Sockets {
    fn open(at: SocketAddr) -> Result<Self> {
        let failed = |call| move |error: io::Error| Error::system(format!("answering questions at {at}"), call, error);
        let udp = UdpSocket::bind(at).map_err(failed("bind"))?;
        udp.set_nonblocking(true).map_err(failed("fcntl"))?;
        // It sets SO_REUSEADDR, so that old connections are not in the way of a new server.
        let tcp = TcpListener::bind(at).map_err(failed("bind"))?;
        tcp.set_nonblocking(true).map_err(failed("fcntl"))?;
        Ok(Self { udp, tcp })
    }
}

/// The client whose message is answered.
#[derive(Debug, Clone, Copy)]
enum Client {
    /// The client's address, and the index of the sockets that it asked.
    Datagram(usize, SocketAddr),
    /// The number of its connection.
    Connection(u64),
}

impl Client {
    fn transport(self) -> Transport {
        match self {
            Self::Datagram(..) => Transport::Udp,
            Self::Connection(_) => Transport::Tcp,
        }
    }
}

/// A client's connection, and its number.
type Numbered = (u64, Connection);

/// State of the thread besides connections.
struct Desk<'a> {
    responder: Responder,
    /// The server that is asked for names of the forwarded zone, if one is.
    upstream: Option<Upstream<Client>>,
    sockets: Vec<Sockets>,
    /// The number of the last connection.
    last_connection: u64,
    counters: &'a Mutex<DnsCounters>,
}

impl Desk<'_> {
    fn serve(mut self, stop: &Stop) {
        let mut connections: Vec<Numbered> = Vec::new();
        loop {
            let Some(ready) = self.wait(&connections, stop) else { return };
            let (of_sockets, others) = ready.split_at(2 * self.sockets.len());
            let (of_connections, of_upstream) = others.split_at(connections.len());
            let now = Instant::now();
            let mut is_ready = of_connections.iter();
            connections.retain_mut(|(number, connection)| match is_ready.next() {
                Some(true) => connection.go_on(|message| self.say(*number, message)) == Progress::Stays,
                _ => connection.deadline > now,
            });
            for (index, ready) in of_sockets.chunks(2).enumerate() {
                if ready[0] {
                    self.answer_datagrams(index);
                }
                if ready[1] {
                    self.accept(index, &mut connections);
                }
            }
            self.go_on(of_upstream, &mut connections);
        }
    }

    /// Waits, and returns for each descriptor whether it is ready: of each address its datagrams and its new
    /// connections, then connections, then the other server's. `None`: the thread is to stop.
    fn wait(&self, connections: &[Numbered], stop: &Stop) -> Option<Vec<bool>> {
        let listening = self.sockets.iter().flat_map(|one| [one.udp.as_fd(), one.tcp.as_fd()]);
        let mut awaited: Vec<(BorrowedFd<'_>, PollFlags)> = listening.map(|fd| (fd, PollFlags::POLLIN)).collect();
        awaited.extend(connections.iter().map(|(_, one)| (one.stream.as_fd(), one.events())));
        awaited.extend(self.upstream.iter().flat_map(Upstream::awaited));
        let of_connections = connections.iter().map(|(_, one)| one.deadline);
        let deadline = of_connections.chain(self.upstream.iter().filter_map(Upstream::deadline)).min();
        match wait_any(&awaited, Some(stop), deadline) {
            Ok((Woken::Stopped, _)) | Err(_) => None,
            Ok((_, ready)) => Some(ready),
        }
    }

    /// Answers the questions about which the other server has sent something.
    fn go_on(&mut self, ready: &[bool], connections: &mut [Numbered]) {
        let Some(upstream) = &mut self.upstream else { return };
        let cases = upstream.go_on(ready);
        let Tally { asked, unanswered, strays } = std::mem::take(&mut upstream.tally);
        if asked + unanswered + strays > 0 {
            let mut counters = lock(self.counters);
            counters.asked += asked;
            counters.unanswered += unanswered;
            if strays > 0 {
                *counters.ignored.entry("unasked").or_default() += strays;
            }
        }
        for case in cases {
            let client = case.client;
            if let Ok(Some(message)) = self.answer(case) {
                self.deliver(client, &message, connections);
            }
        }
    }

    fn deliver(&self, client: Client, message: &[u8], connections: &mut [Numbered]) {
        let is_sent = match client {
            Client::Datagram(index, address) => self.sockets[index].udp.send_to(message, address).is_ok(),
            Client::Connection(number) => {
                let connection = connections.iter_mut().find(|(other, _)| *other == number);
                connection.map(|(_, connection)| connection.deliver(message)).is_some()
            }
        };
        if !is_sent {
            self.ignore("not-sent");
        }
    }

    fn answer_datagrams(&mut self, index: usize) {
        // A longer one is cut, and answered as flawed.
        let mut buffer = [0; OUR_UDP_BYTES as usize];
        for _ in 0..DATAGRAMS_AT_ONCE {
            // An error may be that of an earlier answer, whose client has gone.
            let Ok((length, address)) = self.sockets[index].udp.recv_from(&mut buffer) else { return };
            let client = Client::Datagram(index, address);
            if let Ok(Some(message)) = self.answer(Case::new(client, &buffer[..length])) {
                self.deliver(client, &message, &mut []);
            }
        }
    }

    fn accept(&mut self, index: usize, connections: &mut Vec<Numbered>) {
        // A connection may be gone before it is accepted.
        let Ok((stream, _)) = self.sockets[index].tcp.accept() else { return };
        if connections.len() >= MAX_CONNECTIONS {
            self.ignore("connections");
        } else if stream.set_nonblocking(true).is_ok() {
            self.last_connection += 1;
            connections.push((self.last_connection, Connection::new(stream)));
        }
    }

    fn say(&mut self, number: u64, message: &[u8]) -> Response {
        match self.answer(Case::new(Client::Connection(number), message)) {
            Ok(Some(message)) => Response::Now(message),
            Ok(None) => Response::Later,
            Err(Unanswerable) => Response::Nothing,
        }
    }

    /// The answer to a message; `None` where the other server is asked first.
    fn answer(&mut self, mut case: Case<Client>) -> std::result::Result<Option<Vec<u8>>, Unanswerable> {
        let transport = case.client.transport();
        loop {
            match self.responder.reply(&case.message, transport, &case.learned) {
                Ok(Next::Reply(reply)) => return Ok(Some(self.count(reply, transport))),
                Ok(Next::Ask(question)) => {
                    // Nothing is forwarded where there is no server.
                    let Some(upstream) = &mut self.upstream else { return Err(Unanswerable) };
                    match upstream.ask(case, question) {
                        None => return Ok(None),
                        Some(failed) => case = failed,
                    }
                }
                Err(reason) => {
                    self.ignore(reason.name());
                    return Err(Unanswerable);
                }
            }
        }
    }

    fn count(&self, reply: Reply, transport: Transport) -> Vec<u8> {
        let mut counters = lock(self.counters);
        match transport {
            Transport::Udp => counters.udp += 1,
            Transport::Tcp => counters.tcp += 1,
        }
        *counters.outcomes.entry(reply.outcome.name()).or_default() += 1;
        counters.truncated += u64::from(reply.is_truncated);
        reply.message
    }

    fn ignore(&self, reason: &'static str) {
        *lock(self.counters).ignored.entry(reason).or_default() += 1;
    }
}

/// A message has no answer.
#[derive(Debug, PartialEq, Eq)]
struct Unanswerable;

//! The broker: hears clients one after the other, and makes its ends of their tunnels.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sixbench_plane::spec::Prefix;
use socket2::{Domain, Protocol, Socket, Type};

use super::end::{self, End, SharedTunnels};
use super::exchange::{Patience, Trouble, read_line, write_line};
use super::leases::{Lease, Leases, Pool};
use super::messages::{self, Action, Answer, Granted, Question, Refusal, Secret};
use crate::worker::{Stop, Woken, Worker, deadline, lock, wait};
use crate::{Error, Result};

const MAX_CLIENTS: u32 = 256;
const MAX_LIFETIME_S: u32 = 86_400;
/// A client's connection may take so long.
const CONNECTION: Duration = Duration::from_secs(2);
/// Connections that wait to be heard.
const BACKLOG: i32 = 128;
/// Addresses within a lease.
const SERVER: u64 = 1;
const CLIENT: u64 = 2;

/// The request `broker-start`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Start {
    pub address: Ipv4Addr,
    #[serde(default)]
    pub port: u16,
    pub clients: BTreeSet<Ipv4Addr>,
    pub token: Secret,
    pub pool: Prefix,
    pub tunnel: Map<String, Value>,
    #[serde(default = "default_device_prefix")]
    pub device_prefix: String,
    #[serde(default = "default_lifetime_s")]
    pub lifetime_s: u32,
    #[serde(default = "default_max_clients")]
    pub max_clients: u32,
}

fn default_device_prefix() -> String {
    "sbb".to_owned()
}

fn default_lifetime_s() -> u32 {
    300
}

fn default_max_clients() -> u32 {
    64
}

/// What became of those who asked.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Status {
    pub leases: Vec<LeaseStatus>,
    pub refused: BTreeMap<&'static str, u64>,
    /// Of a tunnel that could not be made or taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// A lease that somebody has.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct LeaseStatus {
    pub client: Ipv4Addr,
    pub device: String,
    pub prefix: String,
    pub server: Ipv6Addr,
    pub address: Ipv6Addr,
    /// Whole seconds.
    pub expires_in_s: u64,
}

/// A broker at work. With this value it ends, and its tunnels go.
#[derive(Debug)]
pub struct Broker {
    port: u16,
    desk: Arc<Desk>,
    worker: Option<Worker>,
}

/// What the broker's thread and requests share.
struct Desk {
    start: Start,
    mtu_bytes: u32,
    tunnels: SharedTunnels,
    books: Mutex<Books>,
}

/// Locked before the tunnels are, never after.
struct Books {
    leases: Leases,
    refused: BTreeMap<Refusal, u64>,
    last_failure: Option<String>,
}

impl Broker {
    /// Listens when this returns, in the namespace of this thread.
    pub fn start(start: Start, tunnels: &SharedTunnels) -> Result<Self> {
        let (pool, mtu_bytes) = check(&start)?;
        let failed = |call, error: std::io::Error| {
            Error::system(format!("listening as a tunnel broker on {}", start.address), call, error)
        };
        let socket =
            Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).map_err(|error| failed("socket", error))?;
        socket
            .set_reuse_address(true)
            .and_then(|()| socket.set_nonblocking(true))
            .map_err(|error| failed("setsockopt", error))?;
        socket.bind(&SocketAddrV4::new(start.address, start.port).into()).map_err(|error| failed("bind", error))?;
        socket.listen(BACKLOG).map_err(|error| failed("listen", error))?;
        let bound = socket.local_addr().map_err(|error| failed("getsockname", error))?;
        let port = bound.as_socket().map_or(0, |address| address.port());
        let leases = Leases::new(pool, Duration::from_secs(start.lifetime_s.into()));
        let books = Mutex::new(Books { leases, refused: BTreeMap::new(), last_failure: None });
        let desk = Arc::new(Desk { start, mtu_bytes, tunnels: Arc::clone(tunnels), books });
        let served = Arc::clone(&desk);
        let worker = Worker::start("broker", move |stop| served.serve(&socket, &stop))?;
        Ok(Self { port, desk, worker: Some(worker) })
    }

    /// Where clients find it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Who has what, and who was refused.
    pub fn status(&self) -> Status {
        let books = lock(&self.desk.books);
        let now = Instant::now();
        let pool = books.leases.pool();
        let leases = books.leases.iter().map(|(client, lease)| {
            let prefix = pool.prefix(lease.number);
            LeaseStatus {
                client,
                device: self.desk.device(lease),
                prefix: format!("{}/{}", prefix.address, prefix.bits),
                server: pool.address(lease.number, SERVER),
                address: pool.address(lease.number, CLIENT),
                expires_in_s: lease.expires.saturating_duration_since(now).as_secs(),
            }
        });
        Status {
            leases: leases.collect(),
            refused: books.refused.iter().map(|(refusal, &count)| (refusal.reason(), count)).collect(),
            last_failure: books.last_failure.clone(),
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        drop(self.worker.take()); // First nobody asks any more.
        let books = &mut *lock(&self.desk.books);
        for (_, lease) in books.leases.iter() {
            self.desk.remove(lease, &mut books.last_failure);
        }
    }
}

/// What can be said of the parameters before anybody asks: the pool, and the tunnels' MTU.
fn check(start: &Start) -> Result<(Pool, u32)> {
    let refuse = |reason: String| Error::BadParams(format!("broker-start: {reason}"));
    if !(1..=MAX_CLIENTS).contains(&start.max_clients) {
        return Err(refuse(format!("max_clients is {}, not 1 to {MAX_CLIENTS}", start.max_clients)));
    }
    if !(1..=MAX_LIFETIME_S).contains(&start.lifetime_s) {
        return Err(refuse(format!("lifetime_s is {}, not 1 to {MAX_LIFETIME_S}", start.lifetime_s)));
    }
    let pool = Pool::new(start.pool, start.max_clients).filter(|_| start.pool.bits >= 32);
    let pool = pool.ok_or_else(|| refuse(format!("pool has {} bits, not 32 to 64", start.pool.bits)))?;
    let longest_name = format!("{}{}", start.device_prefix, pool.count() - 1);
    let mut mtu_bytes = None;
    for &remote in &start.clients {
        let end = End { device: &longest_name, local: start.address, remote, options: &start.tunnel };
        mtu_bytes = Some(end.spec()?.mtu_bytes);
    }
    let mtu_bytes = mtu_bytes.ok_or_else(|| refuse("there are no clients".to_owned()))?;
    Ok((pool, mtu_bytes))
}

impl Desk {
    fn serve(&self, listener: &Socket, stop: &Stop) {
        loop {
            let next_expiry = lock(&self.books).leases.next_expiry();
            match wait(Some((listener.as_fd(), PollFlags::POLLIN)), Some(stop), next_expiry) {
                Ok(Woken::Ready) => self.accept(listener, stop),
                Ok(Woken::Late) => (),
                Ok(Woken::Stopped) | Err(_) => return,
            }
            let books = &mut *lock(&self.books);
            for lease in books.leases.expire(Instant::now()) {
                self.remove(lease, &mut books.last_failure);
            }
        }
    }

    fn accept(&self, listener: &Socket, stop: &Stop) {
        // A connection may be gone before it is accepted.
        let Ok((socket, peer)) = listener.accept() else { return };
        let client = match peer.as_socket() {
            Some(SocketAddr::V4(peer)) if self.start.clients.contains(peer.ip()) => *peer.ip(),
            _ => return self.refuse(Refusal::Stranger),
        };
        if socket.set_nonblocking(true).is_err() {
            return self.refuse(Refusal::System);
        }
        let patience = Patience { deadline: deadline(CONNECTION), stop: Some(stop) };
        let answer = match read_line(&socket, patience) {
            Ok(line) => self.answer(client, &line),
            Err(Trouble::TooLong) => return self.refuse(Refusal::TooLong),
            Err(Trouble::Late) => return self.refuse(Refusal::Deadline),
            Err(Trouble::Closed) => return self.refuse(Refusal::Malformed),
            Err(Trouble::System(..)) => return self.refuse(Refusal::System),
            Err(Trouble::Stopped) => return,
        };
        let answer = answer.unwrap_or_else(|refusal| {
            self.refuse(refusal);
            Answer::Refused(refusal.reason().to_owned())
        });
        // A client that does not hear the answer asks again: it has the same lease then.
        let _ = write_line(&socket, &messages::line(&answer), patience);
    }

    fn answer(&self, client: Ipv4Addr, line: &[u8]) -> std::result::Result<Answer, Refusal> {
        let question: Question = messages::read(line).ok_or(Refusal::Malformed)?;
        if question.token != self.start.token {
            return Err(Refusal::WrongToken);
        }
        let books = &mut *lock(&self.books);
        match question.action {
            Action::Create => self.create(books, client).map(Answer::Granted),
            Action::Release => {
                let lease = books.leases.release(client).ok_or(Refusal::NoLease)?;
                self.remove(lease, &mut books.last_failure);
                Ok(Answer::Released)
            }
        }
    }

    fn create(&self, books: &mut Books, client: Ipv4Addr) -> std::result::Result<Granted, Refusal> {
        let leases = &mut books.leases;
        let is_new = leases.of(client).is_none();
        let lease = leases.grant(client, Instant::now()).ok_or(Refusal::NoRoom)?;
        let (server, address) =
            (leases.pool().address(lease.number, SERVER), leases.pool().address(lease.number, CLIENT));
        let Start { address: local, tunnel: options, lifetime_s, .. } = &self.start;
        if is_new {
            let end = End { device: &self.device(lease), local: *local, remote: client, options };
            if let Err(error) = end.make(&self.tunnels, server) {
                books.last_failure = Some(format!("making a tunnel for {client}: {error}"));
                leases.release(client);
                return Err(Refusal::System);
            }
        }
        Ok(Granted { remote: *local, server, address, mtu_bytes: self.mtu_bytes, lifetime_s: *lifetime_s })
    }

    fn device(&self, lease: Lease) -> String {
        format!("{}{}", self.start.device_prefix, lease.number)
    }

    fn remove(&self, lease: Lease, last_failure: &mut Option<String>) {
        // A device that stays is in the way of the next one of its name, which is refused with `system`.
        if let Err(error) = end::remove(&self.tunnels, &self.device(lease)) {
            *last_failure = Some(format!("taking the tunnel {} back: {error}", self.device(lease)));
        }
    }

    fn refuse(&self, refusal: Refusal) {
        *lock(&self.books).refused.entry(refusal).or_default() += 1;
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Desk").field("start", &self.start).finish_non_exhaustive()
    }
}

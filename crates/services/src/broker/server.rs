//! The broker: serves clients one after the other, and makes its ends of their tunnels, or leases addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sixbench_wire::addresses::Ipv6Net;
use sixbench_wire::token::Token;
use socket2::{Domain, Protocol, Socket, Type};

use super::addresses::Addresses;
use super::end::{self, End, SharedTunnels};
use super::exchange::{Patience, Trouble, read_line, write_line};
use super::leases::{Lease, Leases, Pool};
use super::messages::{self, Action, Answer, Granted, Question, Refusal};
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
    pub address: IpAddr,
    #[serde(default)]
    pub port: u16,
    pub clients: BTreeSet<IpAddr>,
    pub token: Token,
    pub pool: Option<Ipv6Net>,
    pub tunnel: Option<Map<String, Value>>,
    pub addresses: Option<Addresses>,
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

/// Leases and refusals of the broker.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Status {
    pub leases: Vec<LeaseStatus>,
    pub refused: BTreeMap<&'static str, u64>,
    /// The last failure to make or remove a tunnel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// A lease that somebody has.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct LeaseStatus {
    pub client: IpAddr,
    /// The device of its tunnel, where the broker makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub prefix: String,
    pub server: IpAddr,
    pub address: IpAddr,
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

/// State that the broker's thread shares with requests.
struct Desk {
    address: IpAddr,
    clients: BTreeSet<IpAddr>,
    token: Token,
    lifetime_s: u32,
    goods: Goods,
    tunnels: SharedTunnels,
    books: Mutex<Books>,
}

/// The kind of things that the broker leases.
enum Goods {
    /// A /64 of the pool, with a tunnel.
    Tunnels { pool: Pool, options: Map<String, Value>, device_prefix: String, mtu_bytes: u32 },
    /// An address, for a tunnel that its client makes.
    Addresses(Addresses),
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
        let (count, goods) = check(&start)?;
        let Start { address, port, clients, token, lifetime_s, .. } = start;
        let failed = |call, error: std::io::Error| {
            Error::system(format!("listening as a tunnel broker on {address}"), call, error)
        };
        let listening = SocketAddr::new(address, port);
        let socket = Socket::new(Domain::for_address(listening), Type::STREAM, Some(Protocol::TCP))
            .map_err(|error| failed("socket", error))?;
        socket
            .set_reuse_address(true)
            .and_then(|()| socket.set_nonblocking(true))
            .map_err(|error| failed("setsockopt", error))?;
        socket.bind(&listening.into()).map_err(|error| failed("bind", error))?;
        socket.listen(BACKLOG).map_err(|error| failed("listen", error))?;
        let bound = socket.local_addr().map_err(|error| failed("getsockname", error))?;
        let port = bound.as_socket().map_or(0, |address| address.port());
        let leases = Leases::new(count, Duration::from_secs(lifetime_s.into()));
        let books = Mutex::new(Books { leases, refused: BTreeMap::new(), last_failure: None });
        let desk = Desk { address, clients, token, lifetime_s, goods, tunnels: Arc::clone(tunnels), books };
        let desk = Arc::new(desk);
        let served = Arc::clone(&desk);
        let worker = Worker::start("broker", move |stop| served.serve(&socket, &stop))?;
        Ok(Self { port, desk, worker: Some(worker) })
    }

    /// The port at which clients find it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The leases now, and the refusals so far.
    pub fn status(&self) -> Status {
        let books = lock(&self.desk.books);
        let now = Instant::now();
        let leases = books.leases.iter().filter_map(|(client, lease)| {
            let granted = self.desk.granted(lease, client)?;
            Some(LeaseStatus {
                client,
                device: self.desk.goods.device(lease),
                prefix: self.desk.goods.prefix(lease),
                server: granted.server,
                address: granted.address,
                expires_in_s: lease.expires.saturating_duration_since(now).as_secs(),
            })
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

/// Checks the parameters. Returns the number of leases and their kind.
fn check(start: &Start) -> Result<(u32, Goods)> {
    let refuse = |reason: String| Error::bad_params(format!("broker-start: {reason}"));
    if !(1..=MAX_CLIENTS).contains(&start.max_clients) {
        return Err(refuse(format!("max_clients is {}, not 1 to {MAX_CLIENTS}", start.max_clients)));
    }
    if !(1..=MAX_LIFETIME_S).contains(&start.lifetime_s) {
        return Err(refuse(format!("lifetime_s is {}, not 1 to {MAX_LIFETIME_S}", start.lifetime_s)));
    }
    if start.clients.is_empty() {
        return Err(refuse("there are no clients".to_owned()));
    }
    match (start.pool, &start.tunnel, &start.addresses) {
        (Some(prefix), Some(options), None) => {
            let pool = Pool::new(prefix, start.max_clients).filter(|_| prefix.bits >= 32);
            let pool = pool.ok_or_else(|| refuse(format!("pool has {} bits, not 32 to 64", prefix.bits)))?;
            let mtu_bytes = check_tunnels(start, options, pool.count())?;
            let (options, device_prefix) = (options.clone(), start.device_prefix.clone());
            Ok((pool.count(), Goods::Tunnels { pool, options, device_prefix, mtu_bytes }))
        }
        (None, None, Some(addresses)) => match addresses.wrong(&start.clients) {
            Some(wrong) => Err(refuse(wrong)),
            None => Ok((addresses.count(start.max_clients), Goods::Addresses(addresses.clone()))),
        },
        _ => Err(refuse("give pool and tunnel, or addresses".to_owned())),
    }
}

/// The MTU of the tunnels to all clients.
fn check_tunnels(start: &Start, options: &Map<String, Value>, count: u32) -> Result<u32> {
    let longest_name = format!("{}{}", start.device_prefix, count - 1);
    let mut mtu_bytes = 0;
    for &remote in &start.clients {
        let end = End { device: &longest_name, local: start.address, remote, options };
        mtu_bytes = end.spec()?.mtu_bytes;
    }
    Ok(mtu_bytes)
}

impl Goods {
    fn device(&self, lease: Lease) -> Option<String> {
        match self {
            Self::Tunnels { device_prefix, .. } => Some(format!("{device_prefix}{}", lease.number)),
            Self::Addresses(_) => None,
        }
    }

    fn prefix(&self, lease: Lease) -> String {
        match self {
            Self::Tunnels { pool, .. } => {
                let prefix = pool.prefix(lease.number);
                format!("{}/{}", prefix.address, prefix.bits)
            }
            Self::Addresses(addresses) => format!("{}/32", addresses.address(lease.number)),
        }
    }
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
            Some(peer) if self.clients.contains(&peer.ip()) => peer.ip(),
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

    fn answer(&self, client: IpAddr, line: &[u8]) -> std::result::Result<Answer, Refusal> {
        let question: Question = messages::read(line).ok_or(Refusal::Malformed)?;
        if question.token != self.token {
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

    fn create(&self, books: &mut Books, client: IpAddr) -> std::result::Result<Granted, Refusal> {
        let leases = &mut books.leases;
        let is_new = leases.of(client).is_none();
        let lease = leases.grant(client, Instant::now()).ok_or(Refusal::NoRoom)?;
        if is_new {
            if let Err(error) = self.make(lease, client) {
                books.last_failure = Some(format!("making a tunnel for {client}: {error}"));
                leases.release(client);
                return Err(Refusal::System);
            }
        }
        self.granted(lease, client).ok_or(Refusal::System)
    }

    /// A lease as its client needs it. There is none only for a client that was never asked about.
    fn granted(&self, lease: Lease, client: IpAddr) -> Option<Granted> {
        match &self.goods {
            Goods::Tunnels { pool, mtu_bytes, .. } => Some(Granted {
                remote: self.address,
                server: pool.address(lease.number, SERVER).into(),
                address: pool.address(lease.number, CLIENT).into(),
                mtu_bytes: Some(*mtu_bytes),
                lifetime_s: self.lifetime_s,
            }),
            Goods::Addresses(addresses) => addresses.granted(lease.number, client, self.lifetime_s),
        }
    }

    /// The broker's end of the tunnel, where it makes one.
    fn make(&self, lease: Lease, client: IpAddr) -> Result<()> {
        let Goods::Tunnels { pool, options, device_prefix, .. } = &self.goods else { return Ok(()) };
        let device = format!("{device_prefix}{}", lease.number);
        let end = End { device: &device, local: self.address, remote: client, options };
        end.make(&self.tunnels, pool.address(lease.number, SERVER))
    }

    fn remove(&self, lease: Lease, last_failure: &mut Option<String>) {
        let Some(device) = self.goods.device(lease) else { return };
        // A device that stays is in the way of the next one of its name, which is refused with `system`.
        if let Err(error) = end::remove(&self.tunnels, &device) {
            *last_failure = Some(format!("taking the tunnel {device} back: {error}"));
        }
    }

    fn refuse(&self, refusal: Refusal) {
        *lock(&self.books).refused.entry(refusal).or_default() += 1;
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Desk").field("address", &self.address).finish_non_exhaustive()
    }
}

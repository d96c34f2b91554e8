//! The sockets of a resolver, and what it counts.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;
use std::time::Instant;

use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};
use sixbench_plane::spec::Prefix;
use sixbench_wire::dns::{Dns64, OUR_UDP_BYTES, Reply, Responder, Transport, Zone, default_excluded};
use sixbench_wire::siit::Net;

use super::connection::{Connection, Progress};
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
pub struct Request {
    pub addresses: Vec<IpAddr>,
    #[serde(default = "default_port")]
    pub port: u16,
    #[serde(default)]
    pub prefix: Option<Prefix>,
    #[serde(default)]
    pub excluded: Option<Vec<Prefix>>,
    pub names: Vec<Host>,
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

/// What was asked, and what became of it.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct Counters {
    pub udp: u64,
    pub tcp: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    pub truncated: u64,
    pub ignored: BTreeMap<&'static str, u64>,
}

/// A resolver at work.
pub type Server = crate::Server<Counters>;

impl Server {
    /// Answers when this returns, in the namespace of this thread.
    pub fn start(request: &Request) -> Result<Self> {
        let responder = responder(request)?;
        let open = |&address| Sockets::open(SocketAddr::new(address, request.port));
        let sockets: Vec<Sockets> = request.addresses.iter().map(open).collect::<Result<_>>()?;
        Self::begin("dns", move |counters, stop| Desk { responder, counters }.serve(&sockets, stop))
    }
}

fn responder(request: &Request) -> Result<Responder> {
    let refuse = |reason: String| Error::BadParams(format!("dns-start: {reason}"));
    if !(1..=MAX_ADDRESSES).contains(&request.addresses.len()) {
        return Err(refuse(format!("there are {} addresses, not 1 to {MAX_ADDRESSES}", request.addresses.len())));
    }
    let hosts: std::result::Result<Vec<_>, String> =
        request.names.iter().map(|host| Ok((host.name.parse()?, host.addresses.clone()))).collect();
    let zone = Zone::new(hosts.map_err(refuse)?).map_err(refuse)?;
    let excluded = request.excluded.as_ref();
    let excluded = excluded.map_or_else(default_excluded, |nets| nets.iter().copied().map(net).collect());
    let dns64 = request.prefix.map(|prefix| Dns64::new(net(prefix), excluded)).transpose().map_err(refuse)?;
    Ok(Responder { zone, dns64 })
}

fn net(prefix: Prefix) -> Net<Ipv6Addr> {
    Net { address: prefix.address, bits: prefix.bits }
}

/// Those of one address. They never block.
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

/// What the thread has besides sockets.
struct Desk<'a> {
    responder: Responder,
    counters: &'a Mutex<Counters>,
}

impl Desk<'_> {
    fn serve(&self, sockets: &[Sockets], stop: &Stop) {
        let mut connections: Vec<Connection> = Vec::new();
        loop {
            let listening = sockets.iter().flat_map(|one| [one.udp.as_fd(), one.tcp.as_fd()]);
            let mut awaited: Vec<(BorrowedFd<'_>, PollFlags)> = listening.map(|fd| (fd, PollFlags::POLLIN)).collect();
            awaited.extend(connections.iter().map(|one| (one.stream.as_fd(), one.events())));
            let deadline = connections.iter().map(|one| one.deadline).min();
            let ready = match wait_any(&awaited, Some(stop), deadline) {
                Ok((Woken::Stopped, _)) | Err(_) => return,
                Ok((_, ready)) => ready,
            };
            let (of_sockets, of_connections) = ready.split_at(2 * sockets.len());
            let now = Instant::now();
            let mut is_ready = of_connections.iter();
            connections.retain_mut(|connection| match is_ready.next() {
                Some(true) => connection.go_on(|message| self.answer(message, Transport::Tcp)) == Progress::Stays,
                _ => connection.deadline > now,
            });
            for (one, ready) in sockets.iter().zip(of_sockets.chunks(2)) {
                if ready[0] {
                    self.answer_datagrams(&one.udp);
                }
                if ready[1] {
                    self.accept(&one.tcp, &mut connections);
                }
            }
        }
    }

    fn answer_datagrams(&self, socket: &UdpSocket) {
        // A longer one is cut, and answered as flawed.
        let mut buffer = [0; OUR_UDP_BYTES as usize];
        for _ in 0..DATAGRAMS_AT_ONCE {
            // An error may be that of an earlier answer, whose client has gone.
            let Ok((length, client)) = socket.recv_from(&mut buffer) else { return };
            if let Some(answer) = self.answer(&buffer[..length], Transport::Udp) {
                if socket.send_to(&answer, client).is_err() {
                    self.ignore("not-sent");
                }
            }
        }
    }

    fn accept(&self, listener: &TcpListener, connections: &mut Vec<Connection>) {
        // A connection may be gone before it is accepted.
        let Ok((stream, _)) = listener.accept() else { return };
        if connections.len() >= MAX_CONNECTIONS {
            self.ignore("connections");
        } else if stream.set_nonblocking(true).is_ok() {
            connections.push(Connection::new(stream));
        }
    }

    fn answer(&self, message: &[u8], transport: Transport) -> Option<Vec<u8>> {
        match self.responder.reply(message, transport) {
            Ok(Reply { message, outcome, is_truncated }) => {
                let mut counters = lock(self.counters);
                match transport {
                    Transport::Udp => counters.udp += 1,
                    Transport::Tcp => counters.tcp += 1,
                }
                *counters.outcomes.entry(outcome.name()).or_default() += 1;
                counters.truncated += u64::from(is_truncated);
                Some(message)
            }
            Err(reason) => {
                self.ignore(reason.name());
                None
            }
        }
    }

    fn ignore(&self, reason: &'static str) {
        *lock(self.counters).ignored.entry(reason).or_default() += 1;
    }
}

//! The receiver of `quic-stream`.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use quinn::{Connecting, Connection, RecvStream, VarInt};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_traffic::error::peer_lost;
use sixbench_traffic::moving::SeenMove;
use sixbench_traffic::params::Limit;
use sixbench_traffic::series::Series;
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Result, Server, Window};
use tokio::time::timeout;

use super::{CHAIN_BYTES, NAME, Settings};
use crate::door::Door;
use crate::quic::{self, Handle, Marks, Served};
use crate::server::{Orders, RuntimeServer};

/// Listens, with certificates that are made now.
///
/// # Arguments
/// - `endpoints`: never empty; those after the first have the addresses to which the client may move.
pub fn serve(endpoints: &[Endpoint], settings: &Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let (endpoint, further) = (&endpoints[0], &endpoints[1..]);
    let listening = quic::listen(endpoint, quic::PROTOCOL, CHAIN_BYTES, settings.buffers, settings.transport())?;
    let (port, authority) = (listening.port, listening.authority.clone());
    let clients: Vec<IpAddr> =
        if settings.migrate { endpoints.iter().map(|endpoint| endpoint.peer).collect() } else { Vec::new() };
    let (door, endpoint, settings) = (Door::of_moving(endpoint, further)?, endpoint.clone(), settings.clone());
    RuntimeServer::start(NAME, port, Some(authority), cancel, move |mut orders: Orders| async move {
        let (quic, counts) = listening.open(&door)?;
        let receiving = Rc::new(Receiving {
            longest: Duration::from_nanos(settings.timeout_ns),
            endpoint,
            settings,
            clients,
            served: Served::at(door),
            is_taken: Cell::new(false),
            received: RefCell::new(None),
        });
        let served = &receiving.served;
        let (finish, mut open) = quic::accept(&quic, false, &receiving, served, &mut orders).await;
        // The stream's end may still be on its way through the runtime.
        let _ = timeout(Duration::from_nanos(finish.timeout_ns), async {
            while receiving.received.borrow().is_none() && open.join_next().await.is_some() {}
        })
        .await;
        quic::part(open, &finish).await;
        let received = receiving.received.take().ok_or_else(|| {
            peer_lost(format!("receiving by QUIC at {}", receiving.endpoint.address), "did not end its stream")
        })?;
        Ok(ServerResult {
            received,
            connections: served.connections.get(),
            ecn: counts.marks(),
            failed: served.unserved.failed.get(),
            strays: served.unserved.strays(),
        })
    })
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    #[serde(flatten)]
    received: Received,
    connections: u64,
    ecn: Marks,
    failed: u64,
    strays: Strays,
}

/// A stream that has ended.
#[derive(Debug, Serialize, JsonSchema)]
struct Received {
    #[serde(flatten)]
    window: Window,
    measured_bytes: u64,
    received_bytes: u64,
    received_datagrams: u64,
    received_datagram_bytes: u64,
    reads: u64,
    /// Absent where the client did not move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<SeenMove>,
    series: Columns,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Columns {
    t_ns: Vec<u64>,
    bytes: Vec<u64>,
}

struct Receiving {
    longest: Duration,
    endpoint: Endpoint,
    settings: Settings,
    /// The addresses of a client that moves, in the order in which it takes them; none of one that stays where it is.
    clients: Vec<IpAddr>,
    served: Served,
    /// True once there is a connection: a trial has one.
    is_taken: Cell<bool>,
    received: RefCell<Option<Received>>,
}

impl Handle for Receiving {
    async fn handle(self: Rc<Self>, connecting: Connecting) {
        let is_ours = Cell::new(false);
        let Some(connection) = quic::shake_hands(connecting, self.longest, &is_ours).await else {
            return self.served.unserved.fail(is_ours.get());
        };
        if self.is_taken.replace(true) {
            return self.served.unserved.fail(false);
        }
        match self.receive(&connection).await {
            Some(received) => {
                self.received.replace(Some(received));
                // The client closes when it knows that all has come.
                connection.closed().await;
            }
            None => self.served.unserved.fail(true),
        }
    }
}

impl Receiving {
    /// All of the one stream; nothing where it breaks off.
    async fn receive(&self, connection: &Connection) -> Option<Received> {
        let mut stream = connection.accept_uni().await.ok()?;
        let mut tally = Tally::new(&self.settings, &self.clients);
        tally.read(&mut stream, connection, &self.endpoint).await?;
        Some(tally.received(connection))
    }
}

/// The account of a stream.
struct Tally {
    clients: Vec<IpAddr>,
    limit: Limit,
    warmup_ns: u64,
    /// Time of the first byte.
    began_ns: Option<u64>,
    ended_ns: u64,
    received_bytes: u64,
    measured_bytes: u64,
    reads: u64,
    /// The client's place and the time of the last read; absent where the client stays where it is.
    place: Option<Place>,
    moves: Vec<SeenMove>,
    series: Series<u64>,
}

/// The place of a client that moves, as of its last bytes.
#[derive(Clone, Copy)]
struct Place {
    /// Number of its address, in the order in which it takes them.
    number: usize,
    read_ns: u64,
}

impl Tally {
    fn new(settings: &Settings, clients: &[IpAddr]) -> Self {
        Self {
            clients: clients.to_vec(),
            limit: settings.limit,
            warmup_ns: settings.warmup_ns,
            began_ns: None,
            ended_ns: 0,
            received_bytes: 0,
            measured_bytes: 0,
            reads: 0,
            place: None,
            moves: Vec::new(),
            series: Series::of_window(settings.interval_ns, settings.limit.duration_ns()),
        }
    }

    /// Reads to the end of the stream, or of the window: then the client is told to stop.
    async fn read(&mut self, stream: &mut RecvStream, connection: &Connection, endpoint: &Endpoint) -> Option<()> {
        loop {
            let left = self.left(clock::monotonic_ns());
            match timeout(left, stream.read_chunk(usize::MAX, true)).await {
                Ok(Ok(Some(chunk))) => {
                    let now_ns = clock::monotonic_ns();
                    self.add(now_ns, chunk.bytes.len() as u64, endpoint);
                    if !self.clients.is_empty() {
                        self.note_place(connection.remote_address().ip(), now_ns);
                    }
                }
                Ok(Ok(None)) => break,
                Ok(Err(_)) => return None,
                Err(_) => {
                    // It is open, as the read was not over.
                    let _ = stream.stop(VarInt::from_u32(0));
                    break;
                }
            }
        }
        self.ended_ns = clock::monotonic_ns();
        self.began_ns.map(drop)
    }

    /// The time until the window ends. Where nothing limits it, the connection's own limit of silence does.
    fn left(&self, now_ns: u64) -> Duration {
        let ends_ns = self.began_ns.zip(self.limit.duration_ns()).map(|(began_ns, ns)| began_ns + self.warmup_ns + ns);
        ends_ns.map_or(Duration::MAX, |ends_ns| Duration::from_nanos(ends_ns.saturating_sub(now_ns)))
    }

    fn add(&mut self, now_ns: u64, bytes: u64, endpoint: &Endpoint) {
        let opens_ns = *self.began_ns.get_or_insert(now_ns) + self.warmup_ns;
        self.received_bytes += bytes;
        self.reads += 1;
        let Some(since_ns) = now_ns.checked_sub(opens_ns) else { return };
        if self.limit.duration_ns().is_none_or(|length_ns| since_ns < length_ns) {
            self.measured_bytes += bytes;
            *self.series.at(since_ns) += bytes;
            endpoint.progress.add(now_ns, bytes);
        }
    }

    /// Notes the address from which the client sends, and a move where it is a later one than before. A client does not
    /// go back. quinn does, until the next packet from the later address: where that one was not validated in time (RFC
    /// 9000 section 8.2.4).
    fn note_place(&mut self, address: IpAddr, now_ns: u64) {
        let Some(number) = self.clients.iter().position(|client| *client == address) else { return };
        let before = self.place;
        let number = before.map_or(number, |before| before.number.max(number));
        self.place = Some(Place { number, read_ns: now_ns });
        let Some(before) = before.filter(|before| before.number < number) else { return };
        self.moves.push(SeenMove {
            t_ns: now_ns - self.began_ns.unwrap_or(now_ns),
            from: self.clients[before.number],
            to: self.clients[number],
            outage_ns: now_ns - before.read_ns,
        });
    }

    fn received(mut self, connection: &Connection) -> Received {
        let started_ns = self.began_ns.unwrap_or(self.ended_ns) + self.warmup_ns;
        let lasted_ns = self.ended_ns.saturating_sub(started_ns);
        let measured_ns = self.limit.duration_ns().map_or(lasted_ns, |length_ns| length_ns.min(lasted_ns));
        self.series.close(measured_ns);
        let udp = connection.stats().udp_rx;
        Received {
            window: Window { started_ns, ended_ns: self.ended_ns, measured_ns },
            measured_bytes: self.measured_bytes,
            received_bytes: self.received_bytes,
            received_datagrams: udp.datagrams,
            received_datagram_bytes: udp.bytes,
            reads: self.reads,
            moves: self.moves,
            series: Columns { t_ns: self.series.ends_ns(measured_ns), bytes: self.series.column(|bytes| *bytes) },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::json;
    use sixbench_traffic::params;

    use super::*;

    #[test]
    fn a_client_does_not_go_back_where_its_path_does() {
        let asked = json!({"duration_ns": 1, "migrate": true});
        let settings = params::read(NAME, &asked, Settings::read).unwrap();
        let clients = [1, 2, 3].map(|host| IpAddr::from(Ipv4Addr::new(192, 0, 2, host)));
        let mut tally = Tally::new(&settings, &clients);
        for (now_ns, number) in [(10, 0), (14, 1), (15, 0), (17, 1), (20, 2)] {
            tally.note_place(clients[number], now_ns);
        }
        let moves: Vec<_> = tally.moves.iter().map(|seen| (seen.from, seen.to, seen.outage_ns)).collect();
        assert_eq!(moves, [(clients[0], clients[1], 4), (clients[1], clients[2], 3)]);
    }
}

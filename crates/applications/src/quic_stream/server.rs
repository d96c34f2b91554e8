//! The receiver of `quic-stream`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use quinn::{Connecting, Connection, RecvStream, VarInt};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_traffic::error::peer_lost;
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
pub fn serve(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let listening = quic::listen(endpoint, quic::PROTOCOL, CHAIN_BYTES, settings.buffers, settings.transport())?;
    let (port, authority) = (listening.port, listening.authority.clone());
    let (door, endpoint, settings) = (Door::of(endpoint)?, endpoint.clone(), settings.clone());
    RuntimeServer::start(NAME, port, Some(authority), cancel, move |mut orders: Orders| async move {
        let (quic, marks) = listening.open(&door)?;
        let receiving = Rc::new(Receiving {
            longest: Duration::from_nanos(settings.timeout_ns),
            endpoint,
            settings,
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
            ecn: marks.marks(),
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
        let mut tally = Tally::new(&self.settings);
        tally.read(&mut stream, &self.endpoint).await?;
        Some(tally.received(connection))
    }
}

/// The account of a stream.
struct Tally {
    limit: Limit,
    warmup_ns: u64,
    /// Time of the first byte.
    began_ns: Option<u64>,
    ended_ns: u64,
    received_bytes: u64,
    measured_bytes: u64,
    reads: u64,
    series: Series<u64>,
}

impl Tally {
    fn new(settings: &Settings) -> Self {
        Self {
            limit: settings.limit,
            warmup_ns: settings.warmup_ns,
            began_ns: None,
            ended_ns: 0,
            received_bytes: 0,
            measured_bytes: 0,
            reads: 0,
            series: Series::of_window(settings.interval_ns, settings.limit.duration_ns()),
        }
    }

    /// Reads to the end of the stream, or of the window: then the client is told to stop.
    async fn read(&mut self, stream: &mut RecvStream, endpoint: &Endpoint) -> Option<()> {
        loop {
            let left = self.left(clock::monotonic_ns());
            match timeout(left, stream.read_chunk(usize::MAX, true)).await {
                Ok(Ok(Some(chunk))) => self.add(clock::monotonic_ns(), chunk.bytes.len() as u64, endpoint),
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
            series: Columns { t_ns: self.series.ends_ns(measured_ns), bytes: self.series.column(|bytes| *bytes) },
        }
    }
}

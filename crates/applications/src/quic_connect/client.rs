//! The client of `quic-connect`.

use std::cell::RefCell;
use std::time::Duration;

use quinn::crypto::rustls::HandshakeData;
use quinn::{ClientConfig, Connecting, Connection, VarInt};
use rustls::client::Resumption;
use sixbench_measure::clock;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::{Cancel, Endpoint, Result};
use tokio::time::timeout;

use super::account::{ClientResult, Connections, Opened};
use super::{NAME, REQUEST, RESPONSE, Session, Settings};
use crate::door::{self, Carrier};
use crate::failure::Failure;
use crate::loops::{self, Patience, Repeat};
use crate::quic::{DatagramCounts, Marks};
use crate::trust::Verified;
use crate::{name, quic, runtime, trust};

/// Time for the last packets to leave.
const PARTING: Duration = Duration::from_millis(50);

type Tried<T> = std::result::Result<T, Failure>;

/// Warms up and measures.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let doing = format!("connecting by QUIC to {}", quic::peer(endpoint));
    let patience = Patience { doing, timeout_ns: settings.timeout_ns };
    door::enter(endpoint, Carrier::Udp, cancel)?;
    runtime::block_on(cancel, async {
        let workers = (0..settings.in_flight).map(|_| Client::new(endpoint, settings)).collect::<Result<Vec<_>>>()?;
        let (workers, account, repetitions) =
            loops::measure(workers, settings.warmup_ns, settings.limit, &patience).await?;
        let marks = workers.iter().map(|worker| worker.counts.marks()).fold(Marks::default(), Marks::and);
        let result = ClientResult::new(account, repetitions, marks);
        for worker in workers {
            // A close that cannot be sent in this time is lost.
            let _ = timeout(PARTING, worker.quic.wait_idle()).await;
        }
        Ok(result)
    })
}

/// One of those that connect, with a socket and tickets of its own.
struct Client {
    quic: quinn::Endpoint,
    counts: DatagramCounts,
    config: ClientConfig,
    endpoint: Endpoint,
    name: String,
    session: Session,
    verified: Verified,
}

impl Client {
    fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self> {
        let (mut tls, verified) = trust::client_of(NAME, endpoint)?;
        tls.enable_early_data = settings.session == Session::ZeroRtt;
        if settings.session == Session::Full {
            tls.resumption = Resumption::disabled();
        }
        let (quic, counts) = quic::client(endpoint, Buffers::default())?;
        Ok(Self {
            quic,
            counts,
            config: quic::client_config(tls, quic::PROTOCOL, quic::short_transport(), &endpoint.logs)?,
            endpoint: endpoint.clone(),
            name: name::of_trial(&endpoint.token),
            session: settings.session,
            verified,
        })
    }

    fn begin(&self) -> Tried<Connecting> {
        self.quic
            .connect_with(self.config.clone(), quic::peer(&self.endpoint), &self.name)
            .map_err(|error| Failure::new("not-begun", error.to_string()))
    }

    /// Connects, then asks.
    async fn ask_after(&self) -> Tried<Opened> {
        let (started_ns, verified) = (clock::monotonic_ns(), self.verified.count());
        let connection = self.begin()?.await.map_err(|error| quic::of_connection(&error))?;
        let handshake_ns = clock::monotonic_ns() - started_ns;
        let first_byte_ns = ask(&connection).await? - started_ns;
        let kind = if self.verified.count() > verified { "full" } else { "resumed" };
        opened(&connection, handshake_ns, first_byte_ns, kind)
    }

    /// Asks in the first flight.
    async fn ask_at_once(&self) -> Tried<Opened> {
        let started_ns = clock::monotonic_ns();
        let Ok((connection, accepted)) = self.begin()?.into_0rtt() else {
            return Err(Failure::new("no-ticket", "there was no ticket for a session with 0-RTT"));
        };
        let handshake = async {
            let accepted = accepted.await;
            (accepted, clock::monotonic_ns() - started_ns)
        };
        let ((is_accepted, handshake_ns), first_byte_ns) = tokio::join!(handshake, ask(&connection));
        let kind = if is_accepted { "0-rtt" } else { "0-rtt-rejected" };
        opened(&connection, handshake_ns, first_byte_ns? - started_ns, kind)
    }
}

impl Repeat for Client {
    type Account = Connections;

    async fn prime(&mut self) -> Tried<()> {
        if self.session != Session::Full {
            self.ask_after().await?;
        }
        Ok(())
    }

    async fn once(&mut self, account: &RefCell<Connections>) -> Tried<()> {
        let opened = match self.session {
            Session::Full | Session::Resumed => self.ask_after().await?,
            Session::ZeroRtt => self.ask_at_once().await?,
        };
        account.borrow_mut().add(opened);
        Ok(())
    }
}

/// Asks, and gives the time at which the first byte of the answer came. Returns when all of the answer has, which is
/// after the tickets.
async fn ask(connection: &Connection) -> Tried<u64> {
    let asking = async {
        let (mut request, mut response) = connection.open_bi().await?;
        request.write_all(REQUEST).await.map_err(std::io::Error::from)?;
        // It has not been finished before.
        let _ = request.finish();
        let mut answer = [0; RESPONSE.len()];
        response.read_exact(&mut answer).await.map_err(std::io::Error::other)?;
        let first_byte_ns = clock::monotonic_ns();
        let rest = response.read_to_end(0).await.map_err(std::io::Error::other)?;
        if answer != RESPONSE || !rest.is_empty() {
            return Ok(Err(Failure::new("wrong-response", "the server's answer is another one")));
        }
        Ok(Ok(first_byte_ns))
    };
    let asked: std::io::Result<Tried<u64>> = asking.await;
    asked.map_err(|error| match connection.close_reason() {
        Some(reason) => quic::of_connection(&reason),
        None => error.into(),
    })?
}

fn opened(connection: &Connection, handshake_ns: u64, first_byte_ns: u64, kind: &'static str) -> Tried<Opened> {
    connection.close(VarInt::from_u32(0), b"");
    let stats = connection.stats();
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let protocol = data
        .and_then(|data| data.protocol)
        .ok_or_else(|| Failure::new("no-protocol", "the server agreed on no protocol over QUIC"))?;
    Ok(Opened {
        handshake_ns,
        first_byte_ns,
        sent: stats.udp_tx,
        received: stats.udp_rx,
        sent_packets: stats.path.sent_packets,
        lost_packets: stats.path.lost_packets,
        kind,
        protocol: String::from_utf8_lossy(&protocol).into_owned(),
    })
}

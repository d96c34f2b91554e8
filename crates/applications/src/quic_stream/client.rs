//! The sender of `quic-stream`.

use std::time::Duration;

use quinn::{Connection, ConnectionStats, SendStream, VarInt, WriteError};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use sixbench_traffic::error::{peer_lost, timeout as timeout_error};
use sixbench_traffic::moving::{Move, Places};
use sixbench_traffic::params::Limit;
use sixbench_traffic::series::Series;
use sixbench_traffic::{Cancel, Endpoint, Error, Result, Window};
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::discovery::{Change, SizeSearch};
use super::moving::Mover;
use super::{NAME, Settings};
use crate::door::{self, Carrier};
use crate::failure::Failure;
use crate::quic::Marks;
use crate::{name, quic, runtime, trust};

/// Bytes written at a time.
const PIECE: usize = 64 << 10;
/// Bytes after which the thread's other tasks have a turn: those that send what was written, and that notice a loss.
/// quinn takes a whole window without a pause.
const TURN_BYTES: u64 = 1 << 20;
/// Payload, which is no zeros: a link may be one that compresses.
static PAYLOAD: [u8; PIECE] = payload();

const fn payload() -> [u8; PIECE] {
    let (mut bytes, mut state, mut index) = ([0; PIECE], 0x2545_f491_u32, 0);
    while index < PIECE {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes[index] = state as u8;
        index += 1;
    }
    bytes
}

/// Connects and sends.
///
/// # Arguments
/// - `places`: those of a client that moves.
pub fn run(endpoint: &Endpoint, places: Option<Places>, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let (tls, _) = trust::client_of(NAME, endpoint)?;
    let peer = quic::peer(endpoint);
    let doing = || format!("sending by QUIC to {peer}");
    door::enter(endpoint, Carrier::Udp, cancel)?;
    runtime::block_on(cancel, async {
        let (quic, counts) = quic::client(endpoint, settings.buffers)?;
        let config = quic::client_config(tls, quic::PROTOCOL, settings.transport(), &endpoint.logs)?;
        let longest = Duration::from_nanos(settings.timeout_ns);
        let began_ns = clock::monotonic_ns();
        let connecting = quic
            .connect_with(config, peer, &name::of_trial(&endpoint.token))
            .map_err(|e| Error::system(doing(), "connect", std::io::Error::other(e)))?;
        let connection = match timeout(longest, connecting).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(e)) => return Err(lost(&doing(), &quic::of_connection(&e))),
            Err(_) => return Err(timeout_error(doing(), settings.timeout_ns)),
        };
        let handshake_ns = clock::monotonic_ns() - began_ns;
        let mut mover = match places {
            Some(places) => Mover::new(&quic, &counts, settings.buffers, places)?,
            None => Mover::still(),
        };
        let sent = Sending::new(&connection, settings).send(&mut mover).await;
        let sent = sent.map_err(|failure| lost(&doing(), &failure))?;
        connection.close(VarInt::from_u32(0), b"");
        quic::leave(&quic).await;
        Ok(ClientResult { handshake_ns, ecn: counts.marks(), moves: mover.moves, sent })
    })
}

fn lost(doing: &str, failure: &Failure) -> Error {
    peer_lost(doing, format!("was lost ({}): {}", failure.reason, failure.words))
}

/// A connection and what is sent over it.
struct Sending<'a> {
    connection: &'a Connection,
    settings: &'a Settings,
    started_ns: u64,
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    handshake_ns: u64,
    ecn: Marks,
    /// Absent where it did not move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<Move>,
    #[serde(flatten)]
    sent: Sent,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Sent {
    #[serde(flatten)]
    window: Window,
    sent_bytes: u64,
    quic: Counts,
    datagram_bytes: u16,
    datagram_changes: Vec<Change>,
    /// Time since the watch began at which the search for the size had ended; absent where it was still going on.
    datagram_settled_ns: Option<u64>,
    series: Columns,
    cpu: cpu::Span,
}

/// The counts of quinn, of the whole connection.
#[derive(Debug, Serialize, JsonSchema)]
struct Counts {
    sent_packets: u64,
    lost_packets: u64,
    lost_bytes: u64,
    congestion_events: u64,
    probes: u64,
    lost_probes: u64,
    black_holes: u64,
    sent_datagrams: u64,
    sent_datagram_bytes: u64,
    received_datagrams: u64,
    received_datagram_bytes: u64,
    rtt_ns: u64,
    min_rtt_ns: u64,
    cwnd_bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Columns {
    t_ns: Vec<u64>,
    rtt_ns: Vec<Option<u64>>,
    cwnd_bytes: Vec<Option<u64>>,
    lost_packets: Vec<Option<u64>>,
}

/// The state of the sender at the end of an interval.
#[derive(Clone, Copy, Default)]
struct State {
    rtt_ns: Option<u64>,
    cwnd_bytes: Option<u64>,
    lost_packets: Option<u64>,
}

impl<'a> Sending<'a> {
    fn new(connection: &'a Connection, settings: &'a Settings) -> Self {
        Self { connection, settings, started_ns: clock::monotonic_ns() }
    }

    async fn send(self, mover: &mut Mover<'_>) -> std::result::Result<Sent, Failure> {
        let Settings { warmup_ns, interval_ns, limit, .. } = *self.settings;
        let from = cpu::sample();
        let mut search = SizeSearch::first(self.connection);
        let window_ns = limit.duration_ns().map(|ns| ns + warmup_ns);
        let mut series: Series<State> = Series::of_window(interval_ns, window_ns);
        let sent_bytes = tokio::select! {
            biased;
            sent = self.write() => sent?,
            () = search.watch(self.connection, self.started_ns) => 0,
            () = self.sample(&mut series) => 0,
            failure = mover.watch(self.started_ns) => return Err(failure),
        };
        let ended_ns = clock::monotonic_ns();
        search.look(self.connection, self.started_ns);
        let measured_ns = ended_ns - self.started_ns;
        series.close(measured_ns);
        Ok(Sent {
            window: Window { started_ns: self.started_ns, ended_ns, measured_ns },
            sent_bytes,
            quic: self.connection.stats().into(),
            datagram_bytes: search.datagram_bytes,
            datagram_settled_ns: search.settled_ns(),
            datagram_changes: search.changes,
            series: Columns {
                t_ns: series.ends_ns(measured_ns),
                rtt_ns: series.column(|state| state.rtt_ns),
                cwnd_bytes: series.column(|state| state.cwnd_bytes),
                lost_packets: series.column(|state| state.lost_packets),
            },
            cpu: cpu::Span { from, to: cpu::sample() },
        })
    }

    /// Writes until the limit; returns when the server has all of it, or wants no more. Fails where the server lets
    /// nothing more be written for the longest time, or does not stop the stream within it from the end on.
    async fn write(&self) -> std::result::Result<u64, Failure> {
        let longest = Duration::from_nanos(self.settings.timeout_ns);
        let failed = |error: std::io::Error| match self.connection.close_reason() {
            Some(reason) => quic::of_connection(&reason),
            None => error.into(),
        };
        let mut stream = self.connection.open_uni().await.map_err(|e| quic::of_connection(&e))?;
        let sent = match self.settings.limit {
            // The server stops the stream at the end of its window.
            Limit::Duration(duration_ns) => {
                let until_end = Duration::from_nanos(duration_ns.saturating_add(self.settings.warmup_ns));
                let stopped = timeout(until_end.saturating_add(longest), write_until_stopped(&mut stream));
                return stopped.await.map_err(|_| Failure::timeout())?.map_err(failed);
            }
            Limit::Bytes(bytes) | Limit::Count(bytes) => {
                let written = write_all(&mut stream, bytes, longest);
                written.await.ok_or_else(Failure::timeout)?.map_err(failed)?
            }
        };
        stream.finish().map_err(|e| failed(e.into()))?;
        stream.stopped().await.map_err(|e| failed(e.into()))?;
        Ok(sent)
    }

    async fn sample(&self, series: &mut Series<State>) {
        let mut ticks = interval(Duration::from_nanos(self.settings.interval_ns));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            let path = self.connection.stats().path;
            *series.at(clock::monotonic_ns() - self.started_ns) = State {
                rtt_ns: Some(path.rtt.as_nanos() as u64),
                cwnd_bytes: Some(path.cwnd),
                lost_packets: Some(path.lost_packets),
            };
        }
    }
}

/// The bytes that were written until the server stopped the stream, which is reset then: nothing more of it is sent.
/// A write alone does not see the stop while the send window is full, which it may stay: what is lost after a stop is
/// not sent again.
async fn write_until_stopped(stream: &mut SendStream) -> std::io::Result<u64> {
    let mut sent = 0;
    let stopped = stream.stopped();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            biased;
            code = &mut stopped => {
                code.map_err(std::io::Error::from)?;
                // It is open, as it was never finished.
                let _ = stream.reset(VarInt::from_u32(0));
                return Ok(sent);
            }
            bytes = stream.write(&PAYLOAD) => match bytes {
                Ok(bytes) => sent = written(sent, bytes).await,
                // The stop is known in the next round.
                Err(WriteError::Stopped(_)) => {}
                Err(error) => return Err(error.into()),
            },
        }
    }
}

/// Absent where nothing can be written for the longest time.
async fn write_all(stream: &mut SendStream, bytes: u64, longest: Duration) -> Option<std::io::Result<u64>> {
    let mut sent = 0;
    while sent < bytes {
        let piece = (bytes - sent).min(PIECE as u64) as usize;
        match timeout(longest, stream.write(&PAYLOAD[..piece])).await.ok()? {
            Ok(more) => sent = written(sent, more).await,
            Err(error) => return Some(Err(error.into())),
        }
    }
    Some(Ok(bytes))
}

/// The bytes that were written with these, after the turn of others where it is due.
async fn written(before: u64, bytes: usize) -> u64 {
    let sent = before + bytes as u64;
    if before / TURN_BYTES < sent / TURN_BYTES {
        yield_now().await;
    }
    sent
}

impl From<ConnectionStats> for Counts {
    fn from(stats: ConnectionStats) -> Self {
        let ConnectionStats { udp_tx, udp_rx, path, .. } = stats;
        Self {
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            lost_bytes: path.lost_bytes,
            congestion_events: path.congestion_events,
            probes: path.sent_plpmtud_probes,
            lost_probes: path.lost_plpmtud_probes,
            black_holes: path.black_holes_detected,
            sent_datagrams: udp_tx.datagrams,
            sent_datagram_bytes: udp_tx.bytes,
            received_datagrams: udp_rx.datagrams,
            received_datagram_bytes: udp_rx.bytes,
            rtt_ns: path.rtt.as_nanos() as u64,
            min_rtt_ns: path.min_rtt.as_nanos() as u64,
            cwnd_bytes: path.cwnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use serde_json::json;
    use sixbench_traffic::params;

    use super::*;
    use crate::loopback::{LOOPBACK, client_of, serve};
    use crate::quic_stream::{QuicStream, WINDOW_BYTES};

    #[test]
    fn others_have_a_turn_before_the_window_is_full() {
        let asked = json!({"duration_ns": 1_000_000_000});
        let settings = params::read(NAME, &asked, Settings::read).unwrap();
        let server = serve(&QuicStream, LOOPBACK[0], &asked);
        let client = client_of(&*server, LOOPBACK[0]);
        let rest = runtime::block_on(&Cancel::default(), async {
            let (quic, _) = quic::client(&client, settings.buffers)?;
            let (tls, _) = trust::client_of(NAME, &client)?;
            let config = quic::client_config(tls, quic::PROTOCOL, settings.transport(), &client.logs)?;
            let name = name::of_trial(&client.token);
            let (connection, _) = quic::connect(&quic, &config, &client, &name).await.unwrap();
            let mut stream = connection.open_uni().await.unwrap();
            tokio::select! {
                biased;
                _ = write_until_stopped(&mut stream) => unreachable!("nobody has stopped it"),
                () = ready(()) => {}
            }
            // Nothing was sent meanwhile, so this takes what is left of the window.
            Ok(stream.write(&vec![0; WINDOW_BYTES as usize]).await.unwrap())
        });
        assert_eq!(rest.unwrap() as u64, u64::from(WINDOW_BYTES) - TURN_BYTES);
    }
}

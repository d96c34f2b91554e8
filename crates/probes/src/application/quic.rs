//! Handshakes of QUIC, and objects by HTTP/3.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use h3::error::StreamError;
use hyper::body::{Buf, Bytes};
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig};
use quinn::{
    ClientConfig, Connecting, Connection, ConnectionError, Endpoint, EndpointConfig, TokioRuntime, TransportConfig,
    VarInt,
};
use rustls::AlertDescription;
use sixbench_measure::clock;
use sixbench_packet::{Error, Result, error_queue as packet_errors};
use socket2::{Protocol, Socket, Type};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::attempt::{ApplicationAttempt, Tried, of_io};
use super::trust::{OtherNames, Settings};
use super::{Layers, Plan, http};
use crate::error_queue::last_failure;
use crate::local::{self, LocalEnd};
use crate::outcome::{Ending, Outcome};

/// Codes of errors of the handshake: from here on, the alert of TLS (RFC 9001 section 4.8).
const CRYPTO_ERRORS: u64 = 0x100;
/// H3_NO_ERROR (RFC 9114 section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);
/// Time for the last packets to leave.
const PARTING: Duration = Duration::from_millis(50);
/// Time between two looks at the errors of the socket.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes that the server may send on all streams before they are read: more than the longest body.
const WINDOW_BYTES: u32 = 2 << 20;

/// Connects, and asks for the object by HTTP/3.
///
/// # Errors
/// `system` where the kernel refuses the means.
pub async fn work(plan: &Plan, settings: Settings, attempt: &RefCell<ApplicationAttempt>) -> Result<Tried<()>> {
    let Settings { config, other_names } = settings;
    let config = client_config(config)?;
    let (socket, local) = match (open(plan)?, routed(plan)?) {
        (Ok(socket), Ok(local)) => (socket, local),
        (Err(error), _) | (_, Err(error)) => return Ok(Err(Ending::unsent(&error))),
    };
    attempt.borrow_mut().local = LocalEnd { source_port: None, ..local };
    // quinn takes no notice of ICMP errors, and its socket has the only other hand on the queue.
    let errors = socket.try_clone().map_err(|e| Error::system("watching the errors of a socket of QUIC", "dup", e))?;
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket.into(), Arc::new(TokioRuntime))
        .map_err(|e| Error::system("having a socket of QUIC watched", "epoll_ctl", e))?;
    if let Ok(address) = endpoint.local_addr() {
        attempt.borrow_mut().local.source_port = Some(address.port());
    }
    let peer = local::peer(plan.address, plan.port, plan.source);
    attempt.borrow_mut().begun_ns = clock::monotonic_ns();
    let connecting = endpoint.connect_with(config, peer, &plan.name.to_str()).map_err(|e| {
        Error::system(format!("beginning a connection of QUIC to {peer}"), "connect", io::Error::other(e))
    })?;
    let work = async {
        tokio::select! {
            biased;
            ended = exchange(plan, connecting, &other_names, attempt) => ended,
            ending = first_error(&errors) => Err(ending),
        }
    };
    // The close is no part of the time that the server has.
    let ended = plan.within_limit(attempt, work).await;
    attempt.borrow_mut().note_end();
    endpoint.close(NO_ERROR, b"");
    let _ = timeout(PARTING, endpoint.wait_idle()).await;
    // Where an error has ended the socket, the queue has its cause.
    Ok(ended.map_err(|ending| match last_failure(&errors) {
        Some((icmp, meaning)) => Ending::by_icmp(icmp, meaning),
        None => ending,
    }))
}

/// The settings of QUIC. A server opens no streams but those of HTTP/3, and has little room in what nobody reads.
fn client_config(config: rustls::ClientConfig) -> Result<ClientConfig> {
    let crypto = QuicClientConfig::try_from(config)
        .map_err(|e| Error::system("preparing a client of QUIC", "encrypt", io::Error::other(e.to_string())))?;
    let mut transport = TransportConfig::default();
    transport
        // Probes for a larger datagram would count.
        .mtu_discovery_config(None)
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .datagram_receive_buffer_size(None);
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// The first ICMP error about what the socket sent, if one comes.
async fn first_error(socket: &Socket) -> Ending {
    loop {
        if let Some((icmp, meaning)) = last_failure(socket) {
            return Ending::by_icmp(icmp, meaning);
        }
        sleep(LOOK).await;
    }
}

/// A socket of QUIC. An error inside says that this machine has no such family or address.
fn open(plan: &Plan) -> Result<io::Result<Socket>> {
    let socket = match local::open(plan.address, (Type::DGRAM, Protocol::UDP), plan.source, 0)? {
        Ok(socket) => socket,
        Err(error) => return Ok(Err(error)),
    };
    if plan.source.is_none() {
        let any = if plan.address.is_ipv4() { local::ANY_4 } else { local::ANY_6 };
        socket.bind(&any.into()).map_err(|e| Error::system(format!("binding a socket to {any}"), "bind", e))?;
    }
    let _ = packet_errors::enable(&socket, plan.address.is_ipv6());
    Ok(Ok(socket))
}

/// This end of packets to the server, by another socket: quinn's is not connected, and does not tell that there is no
/// route, which is an error inside.
fn routed(plan: &Plan) -> Result<io::Result<LocalEnd>> {
    let opened = local::open(plan.address, (Type::DGRAM, Protocol::UDP), plan.source, 0)?;
    let connected = opened.and_then(|socket| {
        socket.connect(&local::peer(plan.address, plan.port, plan.source).into())?;
        Ok(LocalEnd::of(&socket))
    });
    Ok(connected)
}

async fn exchange(
    plan: &Plan,
    connecting: Connecting,
    other_names: &OtherNames,
    attempt: &RefCell<ApplicationAttempt>,
) -> Tried<()> {
    let connection = connecting.await.map_err(|error| {
        attempt.borrow_mut().certificate_names = other_names.names();
        of_connection(&error, other_names)
    })?;
    let open = OpenConnection { quic: connection, attempt };
    note_handshake(&open.quic, attempt);
    match plan.layers {
        Layers::Http3 => fetch(plan, &open.quic, attempt).await,
        _ => Ok(()),
    }
}

/// A connection that is closed, and its bytes noted, when the attempt ends: after silence, too.
struct OpenConnection<'a> {
    quic: Connection,
    attempt: &'a RefCell<ApplicationAttempt>,
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        note_carried(&self.quic, self.attempt);
        self.quic.close(NO_ERROR, b"");
    }
}

fn note_handshake(connection: &Connection, attempt: &RefCell<ApplicationAttempt>) {
    let mut attempt = attempt.borrow_mut();
    attempt.handshake_ns = Some(attempt.elapsed_ns());
    attempt.tls_version = Some("TLSv1_3".to_owned());
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    attempt.protocol =
        data.and_then(|data| data.protocol).map(|protocol| String::from_utf8_lossy(&protocol).into_owned());
}

fn note_carried(connection: &Connection, attempt: &RefCell<ApplicationAttempt>) {
    let stats = connection.stats();
    let mut attempt = attempt.borrow_mut();
    (attempt.sent_bytes, attempt.received_bytes) = (Some(stats.udp_tx.bytes), Some(stats.udp_rx.bytes));
}

async fn fetch(plan: &Plan, quic: &Connection, attempt: &RefCell<ApplicationAttempt>) -> Tried<()> {
    let request = http::request(plan, ())?;
    let built = h3::client::builder()
        .send_grease(false)
        .max_field_section_size(http::MAX_HEAD_BYTES.into())
        .build::<_, _, Bytes>(h3_quinn::Connection::new(quic.clone()))
        .await;
    let (mut driver, mut sender) = built
        .map_err(|error| of_stream(quic).unwrap_or_else(|| Ending::because(Outcome::Protocol, error.to_string())))?;
    let mut tasks = JoinSet::new();
    tasks.spawn_local(async move { drop(driver.wait_idle().await) });
    let reading = async {
        let mut stream = sender.send_request(request).await?;
        stream.finish().await?;
        let mut response = stream.recv_response().await?;
        // Those that only announce the answer are none (RFC 9114 section 4.1).
        while response.status().is_informational() {
            response = stream.recv_response().await?;
        }
        http::note_head(response.status(), response.headers(), attempt);
        while let Some(chunk) = stream.recv_data().await? {
            if !http::note_body(plan, chunk.remaining(), attempt) {
                return Ok(());
            }
        }
        attempt.borrow_mut().body_whole = Some(true);
        Ok(())
    };
    let read: std::result::Result<(), StreamError> = reading.await;
    read.map_err(|error| of_stream(quic).unwrap_or_else(|| Ending::because(Outcome::Protocol, error.to_string())))
}

/// The end of a connection that is closed.
fn of_stream(quic: &Connection) -> Option<Ending> {
    quic.close_reason().map(|reason| of_connection(&reason, &OtherNames::default()))
}

fn of_connection(error: &ConnectionError, other_names: &OtherNames) -> Ending {
    let reason = error.to_string();
    match error {
        ConnectionError::TimedOut => Ending::of(Outcome::Silence),
        ConnectionError::Reset => Ending::because(Outcome::Reset, reason),
        ConnectionError::VersionMismatch => Ending::because(Outcome::NotOffered, reason),
        ConnectionError::TransportError(error) => other_names.ending(of_code(u64::from(error.code), reason)),
        ConnectionError::ConnectionClosed(close) => of_code(u64::from(close.error_code), reason),
        ConnectionError::ApplicationClosed(_) => Ending::because(Outcome::Closed, reason),
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => of_io(&io::Error::other(error.clone())),
    }
}

fn of_code(code: u64, reason: String) -> Ending {
    let alert = code.checked_sub(CRYPTO_ERRORS).and_then(|alert| u8::try_from(alert).ok()).map(AlertDescription::from);
    match alert {
        Some(AlertDescription::NoApplicationProtocol) => Ending::because(Outcome::NotOffered, reason),
        Some(_) => Ending::because(Outcome::Tls, reason),
        None => Ending::because(Outcome::Protocol, reason),
    }
}

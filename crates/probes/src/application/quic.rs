//! Handshakes of QUIC, and objects by HTTP/3.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use h3::error::StreamError;
use hyper::body::{Buf, Bytes};
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig};
use quinn::{
    ClientConfig, ConnectError, Connection, ConnectionError, Endpoint, EndpointConfig, TokioRuntime, TransportConfig,
    VarInt,
};
use rustls::AlertDescription;
use sixbench_measure::clock;
use sixbench_packet::error_queue as packet_errors;
use socket2::{Protocol, Socket, Type};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::attempt::{ApplicationAttempt, Tried, of_io};
use super::trust::{OtherNames, Settings};
use super::{Overs, Plan, http};
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

/// Connects, and asks for the object by HTTP/3.
pub async fn work(plan: &Plan, settings: Settings, attempt: &RefCell<ApplicationAttempt>) -> Tried<()> {
    let socket = open(plan)?;
    attempt.borrow_mut().local = LocalEnd { source_port: None, ..routed(plan) };
    // quinn takes no notice of ICMP errors, and its socket has the only other hand on the queue.
    let errors = socket.try_clone().map_err(|error| Ending::unsent(&error))?;
    let runtime = Arc::new(TokioRuntime);
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket.into(), runtime)
        .map_err(|error| Ending::because(Outcome::Protocol, error.to_string()))?;
    if let Ok(address) = endpoint.local_addr() {
        attempt.borrow_mut().local.source_port = Some(address.port());
    }
    let ended = tokio::select! {
        biased;
        ended = exchange(plan, settings, &endpoint, attempt) => ended,
        ending = first_error(&errors) => Err(ending),
    };
    attempt.borrow_mut().note_end();
    endpoint.close(NO_ERROR, b"");
    let _ = timeout(PARTING, endpoint.wait_idle()).await;
    // Where an error has ended the socket, the queue has its cause.
    ended.map_err(|ending| match last_failure(&errors) {
        Some((icmp, meaning)) => Ending::by_icmp(icmp, meaning),
        None => ending,
    })
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

fn open(plan: &Plan) -> Tried<Socket> {
    let opened = local::open(plan.address, (Type::DGRAM, Protocol::UDP), plan.source, 0)
        .map_err(|error| Ending::because(Outcome::NoRoute, error.message))?;
    let socket = opened.map_err(|error| Ending::unsent(&error))?;
    if plan.source.is_none() {
        let any = if plan.address.is_ipv4() { local::ANY_4 } else { local::ANY_6 };
        socket.bind(&any.into()).map_err(|error| Ending::unsent(&error))?;
    }
    let _ = packet_errors::enable(&socket, plan.address.is_ipv6());
    Ok(socket)
}

/// This end of packets to the server, by another socket: quinn's is not connected.
fn routed(plan: &Plan) -> LocalEnd {
    let opened = local::open(plan.address, (Type::DGRAM, Protocol::UDP), plan.source, 0);
    let Ok(Ok(socket)) = opened else { return LocalEnd::default() };
    match socket.connect(&local::peer(plan.address, plan.port, plan.source).into()) {
        Ok(()) => LocalEnd::of(&socket),
        Err(_) => LocalEnd::default(),
    }
}

async fn exchange(
    plan: &Plan,
    settings: Settings,
    endpoint: &Endpoint,
    attempt: &RefCell<ApplicationAttempt>,
) -> Tried<()> {
    let Settings { config, other_names } = settings;
    let crypto =
        QuicClientConfig::try_from(config).map_err(|error| Ending::because(Outcome::Tls, error.to_string()))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    let mut transport = TransportConfig::default();
    // Probes for a larger datagram would count.
    transport.mtu_discovery_config(None);
    config.transport_config(Arc::new(transport));
    let peer = local::peer(plan.address, plan.port, plan.source);
    attempt.borrow_mut().begun_ns = clock::monotonic_ns();
    let connecting = endpoint.connect_with(config, peer, &plan.name.to_str()).map_err(|error| of_begin(&error))?;
    let connection = connecting.await.map_err(|error| {
        attempt.borrow_mut().certificate_names = other_names.names();
        of_connection(&error, &other_names)
    })?;
    note_handshake(&connection, attempt);
    let ended = match plan.overs {
        Overs::Three => fetch(plan, &connection, attempt).await,
        _ => Ok(()),
    };
    note_carried(&connection, attempt);
    connection.close(NO_ERROR, b"");
    ended
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
        let response = stream.recv_response().await?;
        http::note_head(response.status(), response.headers(), attempt);
        while let Some(chunk) = stream.recv_data().await? {
            if !http::note_body(plan, chunk.remaining(), attempt) {
                return Ok(());
            }
        }
        attempt.borrow_mut().body_whole = Some(true);
        Ok(())
    };
    let read: Result<(), StreamError> = reading.await;
    read.map_err(|error| of_stream(quic).unwrap_or_else(|| Ending::because(Outcome::Protocol, error.to_string())))
}

/// The end of a connection that is closed.
fn of_stream(quic: &Connection) -> Option<Ending> {
    quic.close_reason().map(|reason| of_connection(&reason, &OtherNames::default()))
}

fn of_begin(error: &ConnectError) -> Ending {
    Ending::because(Outcome::NoRoute, error.to_string())
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
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => of_io(&std::io::Error::other(error.clone())),
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

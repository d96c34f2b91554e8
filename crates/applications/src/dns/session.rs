//! The client's sessions: whatever carries questions to the server.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use quinn::{ClientConfig, Connection, VarInt};
use rustls::pki_types::ServerName;
use sixbench_traffic::df::Df;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::{Endpoint, Result, datagram_socket};
use tokio::io::AsyncWriteExt;
use tokio::net::UdpSocket;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::message::{Question, Verdict};
use super::{NAME, Settings, Transport, framing, https};
use crate::counted::{Carried, Counted};
use crate::failure::Failure;
use crate::secured::{Connector, Secured};
use crate::trust::Negotiated;
use crate::{connecting, name, quic, secured};

/// The longest message in a datagram.
const MAX_DATAGRAM_BYTES: usize = 4_096;
/// The longest message in a stream, with its length.
const MAX_FRAME_BYTES: usize = 2 + u16::MAX as usize;

/// Time for the close of HTTP/2, which waits for nothing but the socket.
const PARTING: Duration = Duration::from_millis(50);

type Tried<T> = std::result::Result<T, Failure>;

/// Opens sessions, all by the same settings.
pub struct Opener {
    endpoint: Endpoint,
    name: String,
    server: ServerName<'static>,
    retry: Duration,
    over: Over,
}

enum Over {
    Udp,
    Tcp,
    Tls(Connector),
    Https(Connector),
    Quic(quinn::Endpoint, ClientConfig),
}

/// A session that is open.
pub struct Session {
    kind: Kind,
    /// The protocol of its messages.
    pub protocol: String,
    /// The outcome of its handshake of TLS over TCP.
    pub negotiated: Option<Negotiated>,
    counted: Carried,
}

enum Kind {
    Udp { socket: UdpSocket, carried: Carried, retry: Duration },
    Tcp { stream: Counted, carried: Rc<Cell<Carried>> },
    Tls { stream: Box<TlsStream<Counted>>, carried: Rc<Cell<Carried>> },
    Https { asking: https::Asking, carried: Rc<Cell<Carried>> },
    Quic(Connection),
}

impl Opener {
    /// An opener, in this thread's runtime.
    pub fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self> {
        let protocol = settings.over.protocol().unwrap_or_default();
        let over = match settings.over {
            Transport::Udp => Over::Udp,
            Transport::Tcp => Over::Tcp,
            Transport::Tls => Over::Tls(Connector::new(NAME, endpoint, protocol)?),
            Transport::Https => Over::Https(Connector::new(NAME, endpoint, protocol)?),
            Transport::Quic => {
                let tls = secured::client(NAME, endpoint)?;
                let config = quic::client_config(tls, protocol, quic::short_transport(), &endpoint.logs)?;
                Over::Quic(quic::client(endpoint, Buffers::default())?.0, config)
            }
        };
        let retry = Duration::from_nanos(settings.retry_after_ns);
        let (name, server) = (name::of_trial(&endpoint.token), name::of_server(&endpoint.token)?);
        Ok(Self { endpoint: endpoint.clone(), name, server, retry, over })
    }

    /// A new session.
    pub async fn open(&self) -> Tried<Session> {
        match &self.over {
            Over::Udp => {
                let socket =
                    udp(&self.endpoint).map_err(|error| Failure::new(error.code.to_string(), error.to_string()))?;
                let socket = UdpSocket::from_std(socket)?;
                Ok(Session::new(Kind::Udp { socket, carried: Carried::default(), retry: self.retry }, "udp"))
            }
            Over::Tcp => self.open_tcp().await,
            Over::Tls(connector) => {
                let Secured { stream, carried, negotiated, .. } = connector.open(&self.server).await?;
                Ok(Session::of_tls(Kind::Tls { stream: Box::new(stream), carried }, negotiated))
            }
            Over::Https(connector) => {
                let Secured { stream, carried, negotiated, .. } = connector.open(&self.server).await?;
                let asking = https::Asking::open(stream, &self.name).await?;
                Ok(Session::of_tls(Kind::Https { asking, carried }, negotiated))
            }
            Over::Quic(quic, config) => self.open_quic(quic, config).await,
        }
    }

    /// A new session of TCP, which is where truncated answers are asked for again (RFC 7766 section 5).
    pub async fn open_tcp(&self) -> Tried<Session> {
        let (stream, carried) = Counted::new(connecting::connect(&self.endpoint).await?);
        Ok(Session::new(Kind::Tcp { stream, carried }, "tcp"))
    }

    async fn open_quic(&self, quic: &quinn::Endpoint, config: &ClientConfig) -> Tried<Session> {
        let (connection, protocol) = quic::connect(quic, config, &self.endpoint, &self.name).await?;
        Ok(Session::new(Kind::Quic(connection), &protocol))
    }
}

fn udp(endpoint: &Endpoint) -> sixbench_traffic::Result<std::net::UdpSocket> {
    let socket = datagram_socket::udp(endpoint.address, Buffers::default(), Df::Clear)?;
    datagram_socket::connect(&socket, quic::peer(endpoint))?;
    datagram_socket::never_wait(&socket)?;
    Ok(socket.into())
}

impl Session {
    fn new(kind: Kind, protocol: &str) -> Self {
        Self { kind, protocol: protocol.to_owned(), negotiated: None, counted: Carried::default() }
    }

    fn of_tls(kind: Kind, negotiated: Negotiated) -> Self {
        Self { negotiated: Some(negotiated.clone()), ..Self::new(kind, &negotiated.protocol) }
    }

    /// True if time is needed to open it.
    pub fn is_connection(&self) -> bool {
        !matches!(self.kind, Kind::Udp { .. })
    }

    /// True if messages are told apart by the stream they are in, so that their identifier is 0 (RFC 8484 section 4.1,
    /// RFC 9250 section 4.2.1).
    pub fn has_streams(&self) -> bool {
        matches!(self.kind, Kind::Https { .. } | Kind::Quic(_))
    }

    /// Asks, and waits for the answer.
    pub async fn ask(&mut self, question: &Question, answer_bytes: usize, retries: &Cell<u64>) -> Tried<Verdict> {
        let message = match &mut self.kind {
            Kind::Udp { socket, carried, retry } => {
                return ask_by_datagrams(socket, carried, *retry, question, answer_bytes, retries).await;
            }
            Kind::Tcp { stream, .. } => {
                framing::write(stream, &question.message).await?;
                framing::read(stream).await?.ok_or_else(closed)?
            }
            Kind::Tls { stream, .. } => {
                framing::write(stream, &question.message).await?;
                framing::read(stream).await?.ok_or_else(closed)?
            }
            Kind::Https { asking, .. } => asking.ask(question.message.clone()).await?,
            Kind::Quic(connection) => ask_by_quic(connection, &question.message).await?,
        };
        Ok(question.verdict(&message, answer_bytes))
    }

    /// Bytes that it carried since this was last asked for: payload of TCP, or of UDP.
    pub fn take_carried(&mut self) -> Carried {
        let now = match &self.kind {
            Kind::Udp { carried, .. } => *carried,
            Kind::Tcp { carried, .. } | Kind::Tls { carried, .. } | Kind::Https { carried, .. } => carried.get(),
            Kind::Quic(connection) => {
                let stats = connection.stats();
                Carried { sent: stats.udp_tx.bytes, received: stats.udp_rx.bytes }
            }
        };
        let before = std::mem::replace(&mut self.counted, now);
        Carried { sent: now.sent - before.sent, received: now.received - before.received }
    }

    /// Closes it. The server may be gone by then.
    pub async fn close(self) {
        match self.kind {
            Kind::Tcp { mut stream, .. } => drop(stream.shutdown().await),
            Kind::Tls { mut stream, .. } => drop(stream.shutdown().await),
            Kind::Quic(connection) => connection.close(VarInt::from_u32(0), b""),
            Kind::Https { asking, .. } => asking.close(PARTING).await,
            Kind::Udp { .. } => {}
        }
    }
}

fn closed() -> Failure {
    Failure::new("closed", "the server closed the connection before its answer")
}

async fn ask_by_datagrams(
    socket: &UdpSocket,
    carried: &mut Carried,
    retry: Duration,
    question: &Question,
    answer_bytes: usize,
    retries: &Cell<u64>,
) -> Tried<Verdict> {
    let mut buffer = [0; MAX_DATAGRAM_BYTES];
    loop {
        carried.sent += socket.send(&question.message).await? as u64;
        let answered = timeout(retry, async {
            loop {
                let bytes = socket.recv(&mut buffer).await?;
                carried.received += bytes as u64;
                match question.verdict(&buffer[..bytes], answer_bytes) {
                    Verdict::Other => {}
                    verdict => return Ok::<_, Failure>(verdict),
                }
            }
        });
        match answered.await {
            Ok(verdict) => return verdict,
            Err(_) => retries.set(retries.get() + 1),
        }
    }
}

async fn ask_by_quic(connection: &Connection, question: &[u8]) -> Tried<Vec<u8>> {
    let asking = async {
        let (mut request, mut response) = connection.open_bi().await?;
        framing::write(&mut request, question).await?;
        // It has not been finished before.
        let _ = request.finish();
        let answer = response.read_to_end(MAX_FRAME_BYTES).await.map_err(std::io::Error::other)?;
        framing::read(&mut &answer[..]).await
    };
    let answer: std::io::Result<Option<Vec<u8>>> = asking.await;
    let failed = |error: std::io::Error| match connection.close_reason() {
        Some(reason) => quic::of_connection(&reason),
        None => error.into(),
    };
    answer.map_err(failed)?.ok_or_else(closed)
}

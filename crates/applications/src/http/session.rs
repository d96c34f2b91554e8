//! The client's connections, and the requests over them.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use h3::error::StreamError;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Buf, Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use quinn::{ClientConfig, VarInt};
use rustls::pki_types::ServerName;
use sixbench_measure::clock;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::{Endpoint, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::account::{Agreed, Fetched, Opening};
use super::{NAME, Settings, Version, server};
use crate::counted::{Carried, Counted};
use crate::failure::Failure;
use crate::quic::{DatagramCounts, Marks};
use crate::runtime::LocalExecutor;
use crate::secured::{self, Connector, Secured};
use crate::{connecting, name, quic};

/// Time for the close of a connection, which waits for nothing but the socket.
const PARTING: Duration = Duration::from_millis(50);
/// H3_NO_ERROR (RFC 9114 section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

type Tried<T> = std::result::Result<T, Failure>;

/// Opens connections, all by the same settings.
pub struct Opener {
    endpoint: Endpoint,
    version: Version,
    streams: usize,
    hosts: Vec<Host>,
    over: Over,
}

/// A host of the page: a name of the server's.
struct Host {
    name: String,
    server: ServerName<'static>,
    authority: Rc<str>,
}

enum Over {
    Tcp,
    Tls(Connector),
    Quic(quinn::Endpoint, ClientConfig, DatagramCounts),
}

/// A connection that is open.
pub struct Connection {
    link: Link,
    /// The task that moves its bytes.
    driver: JoinSet<()>,
    counted: Carried,
}

enum Link {
    Tcp(Rc<Cell<Carried>>),
    Quic(quinn::Connection),
}

/// A place for one request at a time on a connection.
pub struct Slot {
    sender: Sender,
    authority: Rc<str>,
    agreed: Agreed,
    version: Version,
}

enum Sender {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
    Three(h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>, quinn::Connection),
}

/// A connection that was opened.
pub struct Opened {
    /// The connection.
    pub connection: Connection,
    /// Places for as many requests as it carries at once.
    pub slots: Vec<Slot>,
    /// The times that it took.
    pub opening: Opening,
}

impl Opener {
    /// An opener, in this thread's runtime.
    pub fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self> {
        let (version, protocol) = (settings.version, settings.version.protocol());
        let over = match version {
            Version::Three => {
                let config = quic::client_config(
                    secured::client(NAME, endpoint)?,
                    protocol,
                    server::transport(),
                    &endpoint.logs,
                )?;
                let (quic, counts) = quic::client(endpoint, Buffers::default())?;
                Over::Quic(quic, config, counts)
            }
            _ if settings.tls => Over::Tls(Connector::new(NAME, endpoint, protocol)?),
            _ => Over::Tcp,
        };
        let trial = name::of_trial(&endpoint.token);
        let hosts = (0..settings.page.hosts()).map(|index| Host::new(&trial, index, endpoint.port));
        let hosts = hosts.collect::<Result<_>>()?;
        Ok(Self { endpoint: endpoint.clone(), version, streams: settings.streams(), hosts, over })
    }

    /// The marks with which datagrams came so far; absent without QUIC.
    pub fn marks(&self) -> Option<Marks> {
        match &self.over {
            Over::Quic(_, _, counts) => Some(counts.marks()),
            Over::Tcp | Over::Tls(_) => None,
        }
    }

    /// A new connection to a host.
    pub async fn open(&self, host: usize) -> Tried<Opened> {
        let (host, begun_ns) = (&self.hosts[host], clock::monotonic_ns());
        match &self.over {
            Over::Tcp => {
                let (stream, carried) = Counted::new(connecting::connect(&self.endpoint).await?);
                let opening = Opening { connect_ns: Some(clock::monotonic_ns() - begun_ns), handshake_ns: None };
                let agreed = Agreed { protocol: self.version.clear_protocol().to_owned(), tls: None };
                self.over_stream(stream, carried, host, agreed, opening).await
            }
            Over::Tls(connector) => {
                let Secured { stream, carried, negotiated, connected_ns } = connector.open(&host.server).await?;
                let opening = Opening {
                    connect_ns: Some(connected_ns - begun_ns),
                    handshake_ns: Some(clock::monotonic_ns() - connected_ns),
                };
                let agreed =
                    Agreed { protocol: negotiated.protocol, tls: Some((negotiated.version, negotiated.cipher)) };
                self.over_stream(stream, carried, host, agreed, opening).await
            }
            Over::Quic(quic, config, _) => {
                let (connection, protocol) = quic::connect(quic, config, &self.endpoint, &host.name).await?;
                let opening = Opening { connect_ns: None, handshake_ns: Some(clock::monotonic_ns() - begun_ns) };
                self.over_quic(connection, host, Agreed { protocol, tls: None }, opening).await
            }
        }
    }

    async fn over_stream(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        carried: Rc<Cell<Carried>>,
        host: &Host,
        agreed: Agreed,
        opening: Opening,
    ) -> Tried<Opened> {
        let (io, mut driver) = (TokioIo::new(stream), JoinSet::new());
        // The errors of a driver are those of the requests; it ends when nobody can send any more.
        let senders = if self.version == Version::One {
            let (sender, connection) = http1::handshake(io).await?;
            driver.spawn_local(async move { drop(connection.await) });
            vec![Sender::One(sender)]
        } else {
            let (sender, connection) = http2::Builder::new(LocalExecutor).handshake(io).await?;
            driver.spawn_local(async move { drop(connection.await) });
            (0..self.streams).map(|_| Sender::Two(sender.clone())).collect()
        };
        let connection = Connection { link: Link::Tcp(carried), driver, counted: Carried::default() };
        Ok(Opened { connection, slots: self.slots(senders, host, &agreed), opening })
    }

    async fn over_quic(&self, quic: quinn::Connection, host: &Host, agreed: Agreed, opening: Opening) -> Tried<Opened> {
        let built = h3::client::builder().send_grease(false).build(h3_quinn::Connection::new(quic.clone())).await;
        let (mut connection, sender) = built.map_err(|error| Failure::new("http", error.to_string()))?;
        let mut driver = JoinSet::new();
        driver.spawn_local(async move { drop(connection.wait_idle().await) });
        let senders = (0..self.streams).map(|_| Sender::Three(sender.clone(), quic.clone())).collect();
        let connection = Connection { link: Link::Quic(quic), driver, counted: Carried::default() };
        Ok(Opened { connection, slots: self.slots(senders, host, &agreed), opening })
    }

    fn slots(&self, senders: Vec<Sender>, host: &Host, agreed: &Agreed) -> Vec<Slot> {
        let slot = |sender| Slot {
            sender,
            authority: Rc::clone(&host.authority),
            agreed: agreed.clone(),
            version: self.version,
        };
        senders.into_iter().map(slot).collect()
    }
}

impl Host {
    fn new(trial: &str, index: usize, port: u16) -> Result<Self> {
        let name = name::of_host(trial, index);
        let (server, authority) = (name::as_server(name.clone())?, format!("{name}:{port}").into());
        Ok(Self { name, server, authority })
    }
}

impl Connection {
    /// Bytes that it carried since this was last asked for: payload of TCP, or of UDP.
    pub fn take_carried(&mut self) -> Carried {
        let now = match &self.link {
            Link::Tcp(carried) => carried.get(),
            Link::Quic(connection) => {
                let stats = connection.stats();
                Carried { sent: stats.udp_tx.bytes, received: stats.udp_rx.bytes }
            }
        };
        let before = std::mem::replace(&mut self.counted, now);
        Carried { sent: now.sent - before.sent, received: now.received - before.received }
    }

    /// Closes it, when all its slots are gone. The server may be gone by then.
    pub async fn close(mut self) {
        match self.link {
            Link::Tcp(_) => drop(timeout(PARTING, self.driver.join_next()).await),
            Link::Quic(connection) => connection.close(NO_ERROR, b""),
        }
    }
}

impl Slot {
    /// The outcome of its connection's handshakes.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Asks for an object of so many bytes, and waits until all of it is there.
    pub async fn fetch(&mut self, bytes: u64) -> Tried<Fetched> {
        let (path, begun_ns) = (format!("/{bytes}"), clock::monotonic_ns());
        let answer = match &mut self.sender {
            Sender::One(sender) => {
                let request = Request::get(path).header(HOST, &*self.authority).body(Empty::new());
                sender.ready().await?;
                by_hyper(sender.send_request(request.map_err(not_begun)?).await?, bytes).await?
            }
            Sender::Two(sender) => {
                let scheme = if self.agreed.tls.is_some() { "https" } else { "http" };
                let request = Request::get(format!("{scheme}://{}{path}", self.authority)).body(Empty::new());
                sender.ready().await?;
                by_hyper(sender.send_request(request.map_err(not_begun)?).await?, bytes).await?
            }
            Sender::Three(sender, connection) => {
                let request = Request::get(format!("https://{}{path}", self.authority)).body(()).map_err(not_begun)?;
                let fetching = by_h3(sender, request, bytes).await;
                fetching.map_err(|error| of_stream(&error, connection))??
            }
        };
        let Answer { version, first_byte_ns, ended_ns } = answer;
        Ok(Fetched {
            first_byte_ns,
            ended_ns,
            object_ns: ended_ns - begun_ns,
            bytes,
            other_version: (version != self.version.of_answers()).then(|| format!("{version:?}")),
        })
    }
}

/// An answer, and its times.
struct Answer {
    version: hyper::Version,
    first_byte_ns: u64,
    ended_ns: u64,
}

async fn by_hyper(response: Response<Incoming>, bytes: u64) -> Tried<Answer> {
    let (version, first_byte_ns, mut left) = (response.version(), clock::monotonic_ns(), bytes);
    right_status(response.status())?;
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        left = less(left, frame?.data_ref().map_or(0, Bytes::len))?;
    }
    whole(left)?;
    Ok(Answer { version, first_byte_ns, ended_ns: clock::monotonic_ns() })
}

async fn by_h3(
    sender: &mut h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>,
    request: Request<()>,
    bytes: u64,
) -> std::result::Result<Tried<Answer>, StreamError> {
    let mut stream = sender.send_request(request).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    let (first_byte_ns, mut left) = (clock::monotonic_ns(), bytes);
    if let Err(failure) = right_status(response.status()) {
        return Ok(Err(failure));
    }
    while let Some(chunk) = stream.recv_data().await? {
        left = match less(left, chunk.remaining()) {
            Ok(left) => left,
            Err(failure) => return Ok(Err(failure)),
        };
    }
    let ended_ns = clock::monotonic_ns();
    // No other version has streams of this kind.
    Ok(whole(left).map(|()| Answer { version: hyper::Version::HTTP_3, first_byte_ns, ended_ns }))
}

fn right_status(status: StatusCode) -> Tried<()> {
    if status == StatusCode::OK {
        return Ok(());
    }
    Err(Failure::new("wrong-response", format!("the server answered {status}")))
}

fn less(left: u64, chunk: usize) -> Tried<u64> {
    let longer = || Failure::new("wrong-response", "the body is longer than the one that was asked for");
    left.checked_sub(chunk as u64).ok_or_else(longer)
}

fn whole(left: u64) -> Tried<()> {
    if left == 0 {
        return Ok(());
    }
    Err(Failure::new("wrong-response", format!("the body is {left} bytes shorter than the one that was asked for")))
}

fn not_begun(error: impl std::error::Error) -> Failure {
    Failure::new("not-begun", error.to_string())
}

fn of_stream(error: &StreamError, connection: &quinn::Connection) -> Failure {
    match connection.close_reason() {
        Some(reason) => quic::of_connection(&reason),
        None => Failure::new("http", error.to_string()),
    }
}

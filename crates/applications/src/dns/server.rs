//! The server of `dns`, which has the trial's zone.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connecting, Connection};
use rustls::ServerConfig;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_traffic::df::Df;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Error, Result, Server, datagram_socket};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use super::message::{Space, Zone};
use super::{CHAIN_BYTES, NAME, Settings, Transport, framing, https};
use crate::accepting::{self, increase};
use crate::counted::Carried;
use crate::door::{Arrival, Door};
use crate::quic::{self, Handle, Served};
use crate::server::{Orders, RuntimeServer};
use crate::{connecting, name, secured};

/// The longest question.
const MAX_QUESTION_BYTES: usize = 4_096;
/// Longest silence of a client on a connection that it keeps.
const IDLE: Duration = Duration::from_secs(60);
/// Ports that are tried for one that is free for both UDP and TCP.
const ATTEMPTS: usize = 20;

/// Listens, with certificates that are made now where the transport has some.
pub fn serve(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let zone = Zone::of_trial(&endpoint.token)?;
    let name = name::of_trial(&endpoint.token);
    let (answer_bytes, longest) = (settings.answer_bytes, Duration::from_nanos(settings.timeout_ns));
    let door = Door::of(endpoint)?;
    let answering = move || {
        Rc::new(Answering { zone, name, answer_bytes, longest, tally: Tally::default(), served: Served::at(door) })
    };
    match settings.over {
        Transport::Udp => {
            let (socket, listener, port) = both(endpoint)?;
            RuntimeServer::start(NAME, port, None, cancel, move |orders| async move {
                let socket = UdpSocket::from_std(socket).map_err(|e| Error::system("answering", "epoll_ctl", e))?;
                let answering = answering();
                let streams = answering.streams(connecting::listener(listener)?, orders.clone());
                let (carried, ()) = tokio::join!(answering.datagrams(&socket, orders), streams);
                Ok(answering.result(Some(carried)))
            })
        }
        Transport::Tcp => {
            let (listener, port) = connecting::listen(endpoint)?;
            RuntimeServer::start(NAME, port, None, cancel, move |orders| async move {
                let answering = answering();
                answering.streams(connecting::listener(listener)?, orders).await;
                Ok(answering.result(None))
            })
        }
        Transport::Tls | Transport::Https => {
            let over = settings.over;
            let (config, authority) = secured::server(endpoint, CHAIN_BYTES, over.protocol().unwrap_or_default())?;
            let (listener, port) = connecting::listen(endpoint)?;
            RuntimeServer::start(NAME, port, Some(authority), cancel, move |orders| async move {
                let answering = answering();
                let listener = connecting::listener(listener)?;
                answering.sessions(&listener, config, over, orders).await;
                Ok(answering.result(None))
            })
        }
        Transport::Quic => {
            let protocol = settings.over.protocol().unwrap_or_default();
            let listening = quic::listen(endpoint, protocol, CHAIN_BYTES, Buffers::default(), quic::short_transport())?;
            let (port, authority) = (listening.port, listening.authority.clone());
            RuntimeServer::start(NAME, port, Some(authority), cancel, move |mut orders| async move {
                let answering = answering();
                let (quic, counts) = listening.open(answering.door())?;
                let (finish, open) = quic::accept(&quic, false, &answering, &answering.served, &mut orders).await;
                quic::part(open, &finish).await;
                Ok(answering.result(Some(counts.carried())))
            })
        }
    }
}

/// A socket of UDP and one that listens for TCP, at the same port.
fn both(endpoint: &Endpoint) -> Result<(std::net::UdpSocket, std::net::TcpListener, u16)> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (listener, port) = connecting::listen(endpoint)?;
        match datagram_socket::udp_at(endpoint.address, port, Buffers::default(), Df::Clear) {
            Ok(socket) => {
                datagram_socket::never_wait(&socket)?;
                return Ok((socket.into(), listener, port));
            }
            Err(error) if attempts == ATTEMPTS => return Err(error),
            // Somebody else has that port of UDP.
            Err(_) => {}
        }
    }
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    transactions: u64,
    truncated: u64,
    connections: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received_bytes: Option<u64>,
    strays: Strays,
}

struct Answering {
    zone: Zone,
    name: String,
    answer_bytes: usize,
    /// The longest time of a handshake.
    longest: Duration,
    tally: Tally,
    served: Served,
}

#[derive(Default)]
struct Tally {
    transactions: Cell<u64>,
    truncated: Cell<u64>,
    connections: Cell<u64>,
}

impl Answering {
    fn door(&self) -> &Arc<Door> {
        &self.served.unserved.door
    }

    /// The result, with what datagrams carried where there were any.
    fn result(&self, datagrams: Option<Carried>) -> ServerResult {
        let Tally { transactions, truncated, connections } = &self.tally;
        ServerResult {
            transactions: transactions.get(),
            truncated: truncated.get(),
            connections: connections.get(),
            failed: self.served.unserved.failed.get(),
            sent_bytes: datagrams.map(|carried| carried.sent),
            received_bytes: datagrams.map(|carried| carried.received),
            strays: self.served.unserved.strays(),
        }
    }

    /// The answer to a question of the trial. It is counted before the client can know of it, so that the client's
    /// count is never the larger one.
    fn answer(&self, question: &[u8], space: Space) -> Option<Vec<u8>> {
        let answer = self.zone.answer(question, self.answer_bytes, space)?;
        increase(if answer.is_truncated { &self.tally.truncated } else { &self.tally.transactions });
        Some(answer.message)
    }

    /// Answers in datagrams until the order to finish, and gives what those of the trial carried.
    async fn datagrams(&self, socket: &UdpSocket, mut orders: Orders) -> Carried {
        let (mut buffer, mut carried) = ([0; MAX_QUESTION_BYTES], Carried::default());
        loop {
            let arrived = tokio::select! {
                arrived = socket.recv_from(&mut buffer) => arrived,
                _ = orders.finish() => return carried,
            };
            // An error is about an earlier answer, whose client has closed its socket.
            let Ok((bytes, from)) = arrived else { continue };
            let question = &buffer[..bytes];
            // An answer that cannot be sent is lost, as one that a link drops.
            match self.door().take(question, from) {
                Arrival::Admitted => match self.answer(question, Space::Datagram) {
                    Some(message) => {
                        carried.received += bytes as u64;
                        carried.sent += socket.send_to(&message, from).await.unwrap_or(0) as u64;
                    }
                    None => self.door().count_stray_datagram(),
                },
                Arrival::Answer(answer) => drop(socket.send_to(&answer, from).await),
                Arrival::Stray => {}
            }
        }
    }

    /// Answers in connections of TCP until the order to finish.
    async fn streams(self: &Rc<Self>, listener: TcpListener, mut orders: Orders) {
        let handle = |stream: TcpStream| {
            let answering = Rc::clone(self);
            async move {
                let is_ours = Cell::new(false);
                let served = match stream.set_nodelay(true) {
                    Ok(()) => answering.stream(stream, &is_ours).await,
                    Err(error) => Err(error),
                };
                answering.end(served, &is_ours);
            }
        };
        accepting::accept(&listener, self.door(), &mut orders, handle).await;
    }

    /// Answers in connections of TLS until the order to finish.
    async fn sessions(
        self: &Rc<Self>,
        listener: &TcpListener,
        config: Arc<ServerConfig>,
        over: Transport,
        mut orders: Orders,
    ) {
        let handle = |stream: TcpStream| {
            let (answering, config) = (Rc::clone(self), Arc::clone(&config));
            async move {
                let is_ours = Cell::new(false);
                let served = answering.session(stream, &config, over, &is_ours).await;
                answering.end(served, &is_ours);
            }
        };
        accepting::accept(listener, self.door(), &mut orders, handle).await;
    }

    async fn session(
        self: &Rc<Self>,
        stream: TcpStream,
        config: &Arc<ServerConfig>,
        over: Transport,
        is_ours: &Cell<bool>,
    ) -> io::Result<()> {
        let session = timeout(self.longest, accepting::shake_hands(stream, &self.name, config, is_ours)).await??;
        if over != Transport::Https {
            return self.stream(session, is_ours).await;
        }
        increase(&self.tally.connections);
        let (answering, is_refused) = (Rc::clone(self), Rc::new(Cell::new(false)));
        let refusing = Rc::clone(&is_refused);
        let served = https::serve(session, move |question| {
            let answer = answering.answer(&question, Space::Stream);
            refusing.set(refusing.get() || answer.is_none());
            async move { answer }
        });
        // A client may close as soon as it has its answer, whatever else HTTP/2 would still send. One that has none
        // counts the question as failed itself.
        let _ = served.await;
        if is_refused.get() { Err(io::Error::other("a question that is none of the trial's")) } else { Ok(()) }
    }

    /// Answers in a stream until the client closes it.
    async fn stream(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, is_ours: &Cell<bool>) -> io::Result<()> {
        let mut is_first = true;
        while let Some(question) = timeout(IDLE, framing::read(&mut stream)).await?? {
            let unknown = || io::Error::other("a question that is none of the trial's");
            let message = self.answer(&question, Space::Stream).ok_or_else(unknown)?;
            is_ours.set(true);
            if std::mem::take(&mut is_first) {
                increase(&self.tally.connections);
            }
            framing::write(&mut stream, &message).await?;
        }
        if is_first && !is_ours.get() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The client has all that it asked for.
        let _ = stream.shutdown().await;
        Ok(())
    }

    /// The end of a connection. One that broke off is counted.
    fn end(&self, served: io::Result<()>, is_ours: &Cell<bool>) {
        if served.is_err() {
            self.served.unserved.fail(is_ours.get());
        }
    }

    /// Answers each stream of a connection, until the client closes that.
    async fn connection(&self, connection: &Connection) {
        increase(&self.tally.connections);
        while let Ok((mut response, mut request)) = connection.accept_bi().await {
            let answered: io::Result<()> = async {
                let question = request.read_to_end(MAX_QUESTION_BYTES).await.map_err(io::Error::other)?;
                let question = framing::read(&mut &question[..]).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
                let unknown = || io::Error::other("a question that is none of the trial's");
                let message = self.answer(&question, Space::Stream).ok_or_else(unknown)?;
                framing::write(&mut response, &message).await?;
                response.finish().map_err(io::Error::other)
            }
            .await;
            if answered.is_err() {
                self.served.unserved.fail(true);
            }
        }
    }
}

impl Handle for Answering {
    async fn handle(self: Rc<Self>, connecting: Connecting) {
        let is_ours = Cell::new(false);
        match quic::shake_hands(connecting, self.longest, &is_ours).await {
            Some(connection) => self.connection(&connection).await,
            None => self.served.unserved.fail(is_ours.get()),
        }
    }
}

//! The server of `http`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use h3::error::StreamError;
use h3::server::RequestResolver;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::http::uri::Authority;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use quinn::{Connecting, TransportConfig, VarInt};
use rustls::ServerConfig;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Result, Server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::body::Generated;
use super::{CHAIN_BYTES, MAX_PARALLEL, NAME, Settings, Version};
use crate::accepting::{self, increase};
use crate::door::Door;
use crate::quic::{self, DatagramCounts, Handle, Marks, Served};
use crate::runtime::LocalExecutor;
use crate::server::RuntimeServer;
use crate::{connecting, name, secured};

/// Listens, with certificates that are made now where there is TLS.
pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let (door, protocol, name) = (Door::of(endpoint)?, settings.version.protocol(), name::of_trial(&endpoint.token));
    if settings.version == Version::Three {
        let listening = quic::listen(endpoint, protocol, CHAIN_BYTES, Buffers::default(), transport())?;
        let (port, authority) = (listening.port, listening.authority.clone());
        return RuntimeServer::start(NAME, port, Some(authority), cancel, move |mut orders| async move {
            let (quic, counts) = listening.open(&door)?;
            let serving = Serving::new(name, &settings, door);
            let (finish, open) = quic::accept(&quic, false, &serving, &serving.served, &mut orders).await;
            quic::part(open, &finish).await;
            Ok(serving.result(Some(&counts)))
        });
    }
    let (config, authority) = match settings.tls {
        true => secured::server(endpoint, CHAIN_BYTES, protocol)
            .map(|(config, authority)| (Some(config), Some(authority)))?,
        false => (None, None),
    };
    let (listener, port) = connecting::listen(endpoint)?;
    RuntimeServer::start(NAME, port, authority, cancel, move |mut orders| async move {
        let serving = Serving::new(name, &settings, door);
        let handle = |stream| {
            let (serving, config) = (Rc::clone(&serving), config.clone());
            async move { serving.connection(stream, config).await }
        };
        let listener = connecting::listener(listener)?;
        accepting::accept(&listener, &serving.served.unserved.door, &mut orders, handle).await;
        Ok(serving.result(None))
    })
}

/// The settings of QUIC at both ends. Connections look for larger datagrams, as those of browsers do.
pub fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(MAX_PARALLEL as u32));
    transport
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    requests: u64,
    connections: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<Marks>,
    strays: Strays,
}

struct Serving {
    /// The trial's name.
    name: String,
    /// The lengths of the trial's objects.
    sizes: BTreeSet<u64>,
    version: Version,
    /// The longest time of a handshake, and until a first request.
    longest: Duration,
    requests: Cell<u64>,
    connections: Cell<u64>,
    served: Served,
}

/// The requests of a connection so far.
#[derive(Default)]
struct Visit {
    /// True if it is the trial's: it asked for a name of the trial's, by TLS or in a request.
    is_ours: Cell<bool>,
    answered: Cell<u64>,
    is_refused: Cell<bool>,
}

impl Serving {
    fn new(name: String, settings: &Settings, door: Arc<Door>) -> Rc<Self> {
        Rc::new(Self {
            name,
            sizes: settings.page.sizes(),
            version: settings.version,
            longest: Duration::from_nanos(settings.timeout_ns),
            requests: Cell::default(),
            connections: Cell::default(),
            served: Served::at(door),
        })
    }

    /// The result, with the counts of datagrams where they were QUIC's.
    fn result(&self, datagrams: Option<&DatagramCounts>) -> ServerResult {
        let carried = datagrams.map(DatagramCounts::carried);
        ServerResult {
            requests: self.requests.get(),
            connections: self.connections.get(),
            failed: self.served.unserved.failed.get(),
            sent_bytes: carried.map(|carried| carried.sent),
            received_bytes: carried.map(|carried| carried.received),
            ecn: datagrams.map(DatagramCounts::marks),
            strays: self.served.unserved.strays(),
        }
    }

    /// The length of the object that is asked for; absent where the trial has no such object. It is counted before the
    /// client can know of it, so that the client's count is never the larger one.
    fn sought<B>(&self, request: &Request<B>, visit: &Visit) -> Option<u64> {
        let bytes = self.size(request);
        match bytes {
            Some(_) => {
                visit.is_ours.set(true);
                if visit.answered.get() == 0 {
                    increase(&self.connections);
                }
                increase(&visit.answered);
                increase(&self.requests);
            }
            None => visit.is_refused.set(true),
        }
        bytes
    }

    fn size<B>(&self, request: &Request<B>) -> Option<u64> {
        let named: Option<Authority> = request.headers().get(HOST).and_then(|host| host.to_str().ok()?.parse().ok());
        let authority = request.uri().authority().cloned().or(named)?;
        if request.method() != Method::GET || !name::is_of_trial(authority.host(), &self.name) {
            return None;
        }
        let bytes = request.uri().path().strip_prefix('/')?.parse().ok()?;
        self.sizes.contains(&bytes).then_some(bytes)
    }

    async fn connection(self: Rc<Self>, stream: TcpStream, config: Option<Arc<ServerConfig>>) {
        let visit = Rc::new(Visit::default());
        let served = match config {
            None => match stream.set_nodelay(true) {
                Ok(()) => self.requests(stream, &visit).await,
                Err(error) => Err(error),
            },
            Some(config) => {
                let handshake = accepting::shake_hands(stream, &self.name, &config, &visit.is_ours);
                match timeout(self.longest, handshake).await {
                    Ok(Ok(session)) => self.requests(session, &visit).await,
                    Ok(Err(error)) => Err(error),
                    Err(_) => Err(io::ErrorKind::TimedOut.into()),
                }
            }
        };
        self.end(served.is_err(), &visit);
    }

    /// Answers the requests of a connection until the client closes it.
    async fn requests(
        self: &Rc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        visit: &Rc<Visit>,
    ) -> io::Result<()> {
        let (serving, of_visit) = (Rc::clone(self), Rc::clone(visit));
        let service = service_fn(move |request| {
            let response = response(serving.sought(&request, &of_visit));
            async move { Ok::<_, Infallible>(response) }
        });
        let io = TokioIo::new(stream);
        let serving = async {
            // A client may close as soon as it has its answer, whatever would still be sent. One that has none counts
            // the object as failed itself.
            let _ = match self.version {
                Version::One => http1::Builder::new().serve_connection(io, service).await,
                Version::Two | Version::Three => {
                    let mut builder = http2::Builder::new(LocalExecutor);
                    builder.max_concurrent_streams(MAX_PARALLEL as u32);
                    builder.serve_connection(io, service).await
                }
            };
            Ok(())
        };
        tokio::select! {
            served = serving => served,
            () = silence(self.longest, visit) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// The end of a connection. One without a request, or with one for something else, is counted.
    fn end(&self, is_broken: bool, visit: &Visit) {
        if is_broken || visit.is_refused.get() || visit.answered.get() == 0 {
            self.served.unserved.fail(visit.is_ours.get());
        }
    }

    /// Answers the requests of a connection of QUIC until the client closes it.
    async fn streams(self: &Rc<Self>, quic: quinn::Connection, visit: &Rc<Visit>) {
        let Ok(mut connection) = h3::server::builder().send_grease(false).build(h3_quinn::Connection::new(quic)).await
        else {
            return;
        };
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                accepted = connection.accept() => match accepted {
                    Ok(Some(resolver)) => {
                        let (serving, visit) = (Rc::clone(self), Rc::clone(visit));
                        // An answer that is given up is counted by the client.
                        open.spawn_local(async move { drop(serving.stream(resolver, &visit).await) });
                    }
                    Ok(None) | Err(_) => return,
                },
                Some(_) = open.join_next(), if !open.is_empty() => {}
            }
        }
    }

    async fn stream(
        &self,
        resolver: RequestResolver<h3_quinn::Connection, Bytes>,
        visit: &Visit,
    ) -> std::result::Result<(), StreamError> {
        let (request, mut stream) = resolver.resolve_request().await?;
        let bytes = self.sought(&request, visit);
        let mut head = Response::new(());
        *head.status_mut() = status(bytes);
        head.headers_mut().insert(CONTENT_LENGTH, bytes.unwrap_or(0).into());
        stream.send_response(head).await?;
        let mut body = Generated::new(bytes.unwrap_or(0));
        while let Some(chunk) = body.next() {
            stream.send_data(chunk).await?;
        }
        stream.finish().await
    }
}

impl Handle for Serving {
    async fn handle(self: Rc<Self>, connecting: Connecting) {
        let visit = Rc::new(Visit::default());
        match quic::shake_hands(connecting, self.longest, &visit.is_ours).await {
            Some(connection) => {
                self.streams(connection, &visit).await;
                self.end(false, &visit);
            }
            None => self.end(true, &visit),
        }
    }
}

/// Ends when a connection is silent for so long without having asked for anything of the trial's.
async fn silence(longest: Duration, visit: &Visit) {
    sleep(longest).await;
    if visit.is_ours.get() {
        pending::<()>().await;
    }
}

fn status(bytes: Option<u64>) -> StatusCode {
    if bytes.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

fn response(bytes: Option<u64>) -> Response<Generated> {
    let mut response = Response::new(Generated::new(bytes.unwrap_or(0)));
    *response.status_mut() = status(bytes);
    response
}

//! The server of `tls`.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring::Ticketer;
use rustls::server::Acceptor;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Error, Result, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::LazyConfigAcceptor;

use super::{MAX_IN_FLIGHT, NAME, Settings};
use crate::server::{Orders, RuntimeServer};
use crate::{certificates, connecting, name, trust};

/// Connections at the same time, those of strangers included.
const MAX_OPEN: usize = 2 * MAX_IN_FLIGHT as usize;
/// Pause where no connection can be accepted (no descriptor is left, for example).
const BACK_OFF: Duration = Duration::from_millis(10);

/// Listens, with a certificate that is made now.
pub fn serve(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let name = name::of_trial(&endpoint.token);
    let chain = certificates::chain(&name, settings.chain_bytes)?;
    let authority = chain.authority.clone();
    let mut config = trust::server(chain, &name)?;
    // The state of sessions is in the tickets, as where many machines serve one name.
    config.ticketer =
        Ticketer::new().map_err(|e| Error::system("making a key for tickets", "getrandom", io::Error::other(e)))?;
    let (listener, port) = connecting::listen(endpoint)?;
    let longest = Duration::from_nanos(settings.timeout_ns);
    let endpoint = endpoint.clone();
    let config = Arc::new(config);
    RuntimeServer::start(NAME, port, authority, cancel, move |orders| async move {
        let serving = Serving { endpoint, name, config, longest, tally: RefCell::default() };
        Rc::new(serving).run(&connecting::listener(listener)?, orders).await
    })
}

struct Serving {
    endpoint: Endpoint,
    name: String,
    config: Arc<ServerConfig>,
    /// The longest time of a connection.
    longest: Duration,
    tally: RefCell<Tally>,
}

#[derive(Default)]
struct Tally {
    transactions: u64,
    failed: u64,
    strays: u64,
}

/// The knowledge of a connection.
#[derive(Clone, Copy)]
enum State {
    /// It has not asked for the trial's name.
    Unknown,
    /// It has, and the handshake is not complete.
    Ours,
    /// The handshake was completed, and the client closed. It is counted.
    Completed,
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    transactions: u64,
    failed: u64,
    strays: Strays,
}

impl Serving {
    async fn run(self: Rc<Self>, listener: &TcpListener, mut orders: Orders) -> Result<ServerResult> {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept(), if open.len() < MAX_OPEN => match accepted {
                    Ok((stream, from)) if self.endpoint.admits(from.ip()) => {
                        let serving = Rc::clone(&self);
                        open.spawn_local(async move { serving.connection(stream).await });
                    }
                    Ok((stream, _)) => {
                        connecting::reset(&stream);
                        self.tally.borrow_mut().strays += 1;
                    }
                    Err(_) => sleep(BACK_OFF).await,
                },
                Some(_) = open.join_next(), if !open.is_empty() => {}
                _ = orders.finish() => break,
            }
        }
        // The client has ended: what is still open is a stranger's, or was given up.
        drop(open);
        let Tally { transactions, failed, strays } = self.tally.take();
        Ok(ServerResult { transactions, failed, strays: Strays::of_connections(strays) })
    }

    async fn connection(&self, stream: TcpStream) {
        let state = Cell::new(State::Unknown);
        // What became of it is in the state.
        let _ = timeout(self.longest, self.shake_hands(stream, &state)).await;
        let mut tally = self.tally.borrow_mut();
        match state.get() {
            State::Completed => {}
            State::Ours => tally.failed += 1,
            State::Unknown => tally.strays += 1,
        }
    }

    /// Shakes hands with who asks for the trial's name, and waits for the other's close.
    async fn shake_hands(&self, stream: TcpStream, state: &Cell<State>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        if hello.client_hello().server_name() != Some(&*self.name) {
            return Err(io::Error::other("another name"));
        }
        state.set(State::Ours);
        let mut session = hello.into_stream(Arc::clone(&self.config)).await?;
        let mut rest = [0];
        if session.read(&mut rest).await? != 0 {
            return Err(io::Error::other("data that nobody asked for"));
        }
        // Before the client can know of it, so that its count is never the larger one.
        state.set(State::Completed);
        self.tally.borrow_mut().transactions += 1;
        session.shutdown().await
    }
}

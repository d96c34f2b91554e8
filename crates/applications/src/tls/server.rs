//! The server of `tls`.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring::Ticketer;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Error, Result, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{NAME, Session, Settings, early};
use crate::accepting::{self, Unserved, increase};
use crate::door::Door;
use crate::server::{Orders, RuntimeServer};
use crate::{certificates, connecting, name, trust};

/// Listens, with a certificate that is made now.
pub fn serve(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let name = name::of_trial(&endpoint.token);
    let chain = certificates::chain(&name, settings.chain_bytes)?;
    let authority = chain.authority.clone();
    let mut config = trust::server(chain, &name)?;
    if settings.session == Session::Early {
        early::accept_data(&mut config);
    } else {
        // The state of sessions is in the tickets, as where many machines serve one name.
        config.ticketer =
            Ticketer::new().map_err(|e| Error::system("making a key for tickets", "getrandom", io::Error::other(e)))?;
    }
    let answers_early = settings.session == Session::Early;
    let (listener, port) = connecting::listen(endpoint)?;
    let longest = Duration::from_nanos(settings.timeout_ns);
    let door = Door::of(endpoint)?;
    let config = Arc::new(config);
    RuntimeServer::start(NAME, port, Some(authority), cancel, move |orders| async move {
        let serving = Serving {
            name,
            config,
            longest,
            answers_early,
            transactions: Cell::new(0),
            early: Cell::new(0),
            unserved: Unserved::at(door),
        };
        Ok(Rc::new(serving).run(&connecting::listener(listener)?, orders).await)
    })
}

struct Serving {
    name: String,
    config: Arc<ServerConfig>,
    /// The longest time of a connection.
    longest: Duration,
    /// True if it answers early data.
    answers_early: bool,
    transactions: Cell<u64>,
    /// Those of them whose early data it took.
    early: Cell<u64>,
    unserved: Unserved,
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    transactions: u64,
    early: u64,
    failed: u64,
    strays: Strays,
}

impl Serving {
    async fn run(self: Rc<Self>, listener: &TcpListener, mut orders: Orders) -> ServerResult {
        let handle = |stream| {
            let serving = Rc::clone(&self);
            async move { serving.connection(stream).await }
        };
        accepting::accept(listener, &self.unserved.door, &mut orders, handle).await;
        let Unserved { failed, .. } = &self.unserved;
        ServerResult {
            transactions: self.transactions.get(),
            early: self.early.get(),
            failed: failed.get(),
            strays: self.unserved.strays(),
        }
    }

    async fn connection(&self, stream: TcpStream) {
        let is_ours = Cell::new(false);
        match timeout(self.longest, self.shake_hands(stream, &is_ours)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => self.unserved.fail(is_ours.get()),
        }
    }

    /// Shakes hands with who asks for the trial's name, and waits for the other's close.
    async fn shake_hands(&self, stream: TcpStream, is_ours: &Cell<bool>) -> io::Result<()> {
        if self.answers_early {
            return self.shake_hands_early(stream, is_ours).await;
        }
        let mut session = accepting::shake_hands(stream, &self.name, &self.config, is_ours).await?;
        let mut rest = [0];
        if session.read(&mut rest).await? != 0 {
            return Err(io::Error::other("data that nobody asked for"));
        }
        // Before the client can know of it, so that its count is never the larger one.
        increase(&self.transactions);
        // It is counted, wherever the last packets go.
        let _ = session.shutdown().await;
        Ok(())
    }

    /// The same with a client that may ask in its first flight.
    async fn shake_hands_early(&self, stream: TcpStream, is_ours: &Cell<bool>) -> io::Result<()> {
        let start = accepting::greet(stream, &self.name, is_ours).await?;
        let mut session = early::Session::begin(start, Arc::clone(&self.config))?;
        let is_early = session.answer().await?;
        session.closed().await?;
        // Before the client can know of it, so that its count is never the larger one.
        increase(&self.transactions);
        if is_early {
            increase(&self.early);
        }
        // It is counted, wherever the last packets go.
        let _ = session.close().await;
        Ok(())
    }
}

//! The server of `quic-connect`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use quinn::{Connecting, Connection};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Cancel, Endpoint, Result, Server};
use tokio::time::timeout;

use super::{NAME, REQUEST, RESPONSE, Settings};
use crate::counted::Carried;
use crate::door::Door;
use crate::quic::{self, Handle, Marks, Served};
use crate::server::{Orders, RuntimeServer};

/// Listens, with certificates that are made now.
pub fn serve(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let buffers = Buffers::default();
    let listening = quic::listen(endpoint, quic::PROTOCOL, settings.chain_bytes, buffers, quic::short_transport())?;
    let (port, authority) = (listening.port, listening.authority.clone());
    let (door, retry) = (Door::of(endpoint)?, settings.retry);
    let longest = Duration::from_nanos(settings.timeout_ns);
    RuntimeServer::start(NAME, port, Some(authority), cancel, move |mut orders: Orders| async move {
        let (quic, counts) = listening.open(&door)?;
        let answering = Rc::new(Answering { longest, transactions: Cell::new(0), served: Served::at(door) });
        let served = &answering.served;
        let (finish, open) = quic::accept(&quic, retry, &answering, served, &mut orders).await;
        quic::part(open, &finish).await;
        let Carried { sent, received } = counts.carried();
        Ok(ServerResult {
            transactions: answering.transactions.get(),
            connections: served.connections.get(),
            failed: served.unserved.failed.get(),
            retries: served.retries.get(),
            sent_bytes: sent,
            received_bytes: received,
            ecn: counts.marks(),
            strays: served.unserved.strays(),
        })
    })
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    transactions: u64,
    connections: u64,
    failed: u64,
    retries: u64,
    sent_bytes: u64,
    received_bytes: u64,
    ecn: Marks,
    strays: Strays,
}

struct Answering {
    /// The longest time of a connection.
    longest: Duration,
    transactions: Cell<u64>,
    served: Served,
}

impl Handle for Answering {
    async fn handle(self: Rc<Self>, mut connecting: Connecting) {
        let is_ours = Cell::new(false);
        let answered = timeout(self.longest, async {
            quic::greet(&mut connecting, &is_ours).await?;
            self.answer(connecting).await
        });
        let Ok(Some(connection)) = answered.await else { return self.served.unserved.fail(is_ours.get()) };
        // Until then the end of the answer may have to be sent again.
        let _ = timeout(self.longest, connection.closed()).await;
    }
}

impl Answering {
    /// Answers one request, as soon as it is there. Nothing where it does not come so far.
    async fn answer(&self, connecting: Connecting) -> Option<Connection> {
        // A server can always send before the handshake is over.
        let (connection, completed) = connecting.into_0rtt().ok()?;
        let (mut response, mut request) = connection.accept_bi().await.ok()?;
        if request.read_to_end(REQUEST.len()).await.ok()? != REQUEST {
            return None;
        }
        response.write_all(RESPONSE).await.ok()?;
        // The tickets are sent when the handshake is over, and the end of the answer after them. The value means
        // something at a client only.
        completed.await;
        // Before the client can know of it, so that its count is never the larger one.
        self.transactions.set(self.transactions.get() + 1);
        response.finish().ok()?;
        Some(connection)
    }
}

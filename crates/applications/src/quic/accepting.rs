//! The server's loop: connections of the trial to a task each, and all others counted.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connecting, Connection, Incoming};
use sixbench_traffic::Finish;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::LONGEST_PARTING;
use crate::accepting::{MAX_OPEN, Unserved, increase};
use crate::door::Door;
use crate::server::Orders;

/// Counts of a server of QUIC beside the connections that it served.
#[derive(Debug)]
pub struct Served {
    /// Connections that were not.
    pub unserved: Unserved,
    /// Connections that the trial's peer began.
    pub connections: Cell<u64>,
    /// Retry packets (RFC 9000 section 8.1.2).
    pub retries: Cell<u64>,
}

impl Served {
    /// No count yet.
    pub fn at(door: Arc<Door>) -> Self {
        Self { unserved: Unserved::at(door), connections: Cell::new(0), retries: Cell::new(0) }
    }
}

/// A server's work on a connection of the trial's peer.
pub trait Handle: 'static {
    /// Serves it to its end.
    fn handle(self: Rc<Self>, connecting: Connecting) -> impl Future<Output = ()>;
}

/// Accepts connections until the order to finish, and gives that order, with the tasks of connections that are open
/// then. [`part`] ends them.
///
/// # Arguments
/// - `retries`: whether a client has to repeat a token before it is answered.
pub async fn accept<H: Handle>(
    quic: &quinn::Endpoint,
    retries: bool,
    handler: &Rc<H>,
    served: &Served,
    orders: &mut Orders,
) -> (Finish, JoinSet<()>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            Some(incoming) = quic.accept(), if open.len() < MAX_OPEN => {
                if let Some(connecting) = admit(incoming, retries, served) {
                    let handler = Rc::clone(handler);
                    open.spawn_local(async move { handler.handle(connecting).await });
                }
            }
            Some(_) = open.join_next(), if !open.is_empty() => {}
            finish = orders.finish() => return (finish, open),
        }
    }
}

/// Waits for the closes of the client, which has ended, while they may be on their way: a socket that is closed earlier
/// answers them with errors, which would reach the next trial. Tasks that are open afterwards are a stranger's, or were
/// given up.
pub async fn part(mut open: JoinSet<()>, finish: &Finish) {
    let longest = finish.first_silence_ns.map_or(LONGEST_PARTING, Duration::from_nanos);
    let _ = timeout(longest, async { while open.join_next().await.is_some() {} }).await;
}

/// Waits until the client has asked for a name of the trial's; `is_ours` is set then.
pub async fn greet(connecting: &mut Connecting, is_ours: &Cell<bool>) -> Option<()> {
    // There are such data only for who asked for such a name.
    connecting.handshake_data().await.ok()?;
    is_ours.set(true);
    Some(())
}

/// The connection once its handshake is over; `is_ours` is set as soon as the client has asked for a name of the
/// trial's. None: the handshake failed or took longer.
pub async fn shake_hands(mut connecting: Connecting, longest: Duration, is_ours: &Cell<bool>) -> Option<Connection> {
    let handshake = async {
        greet(&mut connecting, is_ours).await?;
        connecting.await.ok()
    };
    timeout(longest, handshake).await.ok()?
}

fn admit(incoming: Incoming, retries: bool, served: &Served) -> Option<Connecting> {
    if !served.unserved.door.admits(incoming.remote_address().ip()) {
        served.unserved.fail(false);
        // Nothing is sent to who may have forged the address.
        incoming.ignore();
        return None;
    }
    if retries && incoming.may_retry() {
        increase(&served.retries);
        // It may be retried, as was asked just now.
        let _ = incoming.retry();
        return None;
    }
    let connecting = incoming.accept().inspect_err(|_| served.unserved.fail(false)).ok()?;
    increase(&served.connections);
    Some(connecting)
}

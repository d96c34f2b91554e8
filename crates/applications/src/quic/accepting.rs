//! The server's loop: connections of the trial to a task each, and all others counted.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use quinn::{Connecting, Incoming};
use sixbench_traffic::strays::Strays;
use sixbench_traffic::{Endpoint, Finish};
use tokio::task::JoinSet;

use crate::server::Orders;

/// Connections at the same time, those of strangers included.
const MAX_OPEN: usize = 512;

/// Counts of what was not served.
#[derive(Debug, Default)]
pub struct Served {
    /// Connections from other addresses, or for another name.
    pub strays: Cell<u64>,
    /// Connections of the trial that failed.
    pub failed: Cell<u64>,
    /// Retry packets (RFC 9000 section 8.1.2).
    pub retries: Cell<u64>,
}

impl Served {
    /// The strays, as results have them. What is not of the trial comes in datagrams, each of which may begin one.
    pub fn strays(&self) -> Strays {
        Strays { connections: self.strays.get(), datagrams: 0 }
    }

    /// A connection failed: one of the trial, or of a stranger.
    pub fn fail(&self, is_ours: bool) {
        let count = if is_ours { &self.failed } else { &self.strays };
        count.set(count.get() + 1);
    }
}

/// A server's work on a connection of the trial's peer.
pub trait Handle: 'static {
    /// Serves it to its end.
    fn handle(self: Rc<Self>, connecting: Connecting) -> impl Future<Output = ()>;
}

/// Accepts connections until the order to finish, and gives that order. Connections that are open then are left to
/// whoever drops the tasks.
///
/// # Arguments
/// - `retries`: whether a client has to repeat a token before it is answered.
pub async fn accept<H: Handle>(
    quic: &quinn::Endpoint,
    trial: &Endpoint,
    retries: bool,
    handler: &Rc<H>,
    served: &Served,
    orders: &mut Orders,
) -> (Finish, JoinSet<()>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            Some(incoming) = quic.accept(), if open.len() < MAX_OPEN => {
                if let Some(connecting) = admit(incoming, trial, retries, served) {
                    let handler = Rc::clone(handler);
                    open.spawn_local(async move { handler.handle(connecting).await });
                }
            }
            Some(_) = open.join_next(), if !open.is_empty() => {}
            finish = orders.finish() => return (finish, open),
        }
    }
}

fn admit(incoming: Incoming, trial: &Endpoint, retries: bool, served: &Served) -> Option<Connecting> {
    if !trial.admits(incoming.remote_address().ip()) {
        served.strays.set(served.strays.get() + 1);
        // Nothing is sent to who may have forged the address.
        incoming.ignore();
        return None;
    }
    if retries && incoming.may_retry() {
        served.retries.set(served.retries.get() + 1);
        // It may be retried, as was asked just now.
        let _ = incoming.retry();
        return None;
    }
    incoming.accept().inspect_err(|_| served.fail(false)).ok()
}

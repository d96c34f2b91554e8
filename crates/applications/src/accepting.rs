//! The parts that servers share: who is accepted, and who is not.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::Acceptor;
use sixbench_traffic::strays::Strays;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use crate::door::{Door, Waiting};
use crate::name;
use crate::server::Orders;

/// Connections at the same time, those of strangers included.
pub const MAX_OPEN: usize = 512;
/// Pause where no connection can be accepted (no descriptor is left, for example).
const BACK_OFF: Duration = Duration::from_millis(10);

/// Counts of what was not served.
#[derive(Debug)]
pub struct Unserved {
    /// Counts what is not of the trial: from other addresses, or for another name.
    pub door: Arc<Door>,
    /// Connections of the trial that failed.
    pub failed: Cell<u64>,
}

impl Unserved {
    /// No count yet.
    pub fn at(door: Arc<Door>) -> Self {
        Self { door, failed: Cell::new(0) }
    }

    /// The strays, as results have them.
    pub fn strays(&self) -> Strays {
        self.door.strays()
    }

    /// A connection failed: one of the trial, or of a stranger.
    pub fn fail(&self, is_ours: bool) {
        if is_ours {
            increase(&self.failed);
        } else {
            self.door.count_stray_connection();
        }
    }
}

/// Counts one more.
pub fn increase(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

/// Accepts connections of the trial's peer until the order to finish, a task each. The client has ended then: tasks
/// that are left belong to a stranger, or to what was given up, and end.
pub async fn accept<F: Future<Output = ()> + 'static>(
    listener: &TcpListener,
    door: &Arc<Door>,
    orders: &mut Orders,
    handle: impl Fn(TcpStream) -> F,
) {
    let (mut open, mut waiting) = (JoinSet::new(), Waiting::at(door));
    loop {
        tokio::select! {
            accepted = listener.accept(), if open.len() < MAX_OPEN => match accepted {
                Ok((stream, from)) if door.admits(from.ip()) => {
                    open.spawn_local(handle(stream));
                }
                Ok((stream, from)) => waiting.take(stream, from.ip()),
                Err(_) => sleep(BACK_OFF).await,
            },
            Some(_) = open.join_next(), if !open.is_empty() => {}
            () = waiting.next() => {}
            _ = orders.finish() => return,
        }
    }
}

/// The session of TLS with a client that asks for the trial's name, or for one below it; `is_ours` is set as soon as it
/// has.
pub async fn shake_hands(
    stream: TcpStream,
    trial: &str,
    config: &Arc<ServerConfig>,
    is_ours: &Cell<bool>,
) -> io::Result<TlsStream<TcpStream>> {
    greet(stream, trial, is_ours).await?.into_stream(Arc::clone(config)).await
}

/// The same up to the client's first message.
pub async fn greet(stream: TcpStream, trial: &str, is_ours: &Cell<bool>) -> io::Result<StartHandshake<TcpStream>> {
    stream.set_nodelay(true)?;
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    if !hello.client_hello().server_name().is_some_and(|asked| name::is_of_trial(asked, trial)) {
        return Err(io::Error::other("another name"));
    }
    is_ours.set(true);
    Ok(hello)
}

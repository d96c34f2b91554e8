//! The size of datagrams that a connection's own discovery finds (RFC 8899), watched from without.

use std::time::Duration;

use quinn::Connection;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use tokio::time::sleep;

/// The distance between two looks, which is how exactly the time of a change is known.
const EVERY: Duration = Duration::from_millis(1);

/// The changes of the size so far.
#[derive(Debug, Clone)]
pub struct SizeSearch {
    /// The payload of the largest datagrams at the end.
    pub datagram_bytes: u16,
    /// Times since the connection's begin at which it changed, and the new sizes.
    pub changes: Vec<Change>,
}

/// A change of the size.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Change {
    /// The time since the watch began.
    pub t_ns: u64,
    /// The size from then on.
    pub datagram_bytes: u16,
}

impl SizeSearch {
    /// The size as it is now.
    pub fn first(connection: &Connection) -> Self {
        Self { datagram_bytes: connection.stats().path.current_mtu, changes: Vec::new() }
    }

    /// Looks again and again; never ends by itself. The changes are in `self`.
    pub async fn watch(&mut self, connection: &Connection, started_ns: u64) {
        loop {
            sleep(EVERY).await;
            self.look(connection, started_ns);
        }
    }

    /// Looks once.
    pub fn look(&mut self, connection: &Connection, started_ns: u64) {
        let datagram_bytes = connection.stats().path.current_mtu;
        if datagram_bytes != self.datagram_bytes {
            self.datagram_bytes = datagram_bytes;
            self.changes.push(Change { t_ns: clock::monotonic_ns() - started_ns, datagram_bytes });
        }
    }
}

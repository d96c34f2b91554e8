//! The arrivals at a session that are not of its trial.

use schemars::JsonSchema;
use serde::Serialize;

/// Numbers of connections and datagrams that came and are not of the trial, by the names of the protocol document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Strays {
    pub connections: u64,
    pub datagrams: u64,
}

impl Strays {
    /// The strays of a workload that has no datagrams.
    pub fn of_connections(connections: u64) -> Self {
        Self { connections, datagrams: 0 }
    }

    /// The strays of a workload that has no connections.
    pub fn of_datagrams(datagrams: u64) -> Self {
        Self { connections: 0, datagrams }
    }
}

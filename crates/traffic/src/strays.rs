//! The arrivals at a session that are not of its trial.

use serde::Serialize;

/// Numbers of connections and datagrams that came and are not of the trial, by the names of the protocol document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Strays {
    pub connections: u64,
    pub datagrams: u64,
}

impl Strays {
    /// The strays of a workload that has no connections.
    pub fn of_datagrams(datagrams: u64) -> Self {
        Self { connections: 0, datagrams }
    }
}

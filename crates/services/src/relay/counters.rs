//! Counters of a relay.

use std::collections::BTreeMap;

use serde::Serialize;

use super::datagrams::Passed;
use super::session::{CLIENT, SERVER};

/// Counts of a relay's sessions and their traffic.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct RelayCounters {
    pub tcp: Tcp,
    pub udp: Udp,
    /// Connections and datagrams for which no session was made, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Most sessions at once.
    pub most: usize,
}

/// Connections: a pair of them is a session.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct Tcp {
    pub open: u64,
    pub opened: u64,
    /// Ended by a reset.
    pub reset: u64,
    /// Ended by a reset because the server could not be reached, or refused.
    pub unreachable: u64,
    #[serde(flatten)]
    pub passed: Bytes,
}

/// Datagrams between a pair of addresses and ports are a session.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct Udp {
    pub open: u64,
    pub opened: u64,
    pub datagrams_to_ipv4: u64,
    pub datagrams_to_ipv6: u64,
    /// Errors of either side, which are not passed on.
    pub errors: u64,
    /// Datagrams that the kernel did not take.
    pub not_sent: u64,
    #[serde(flatten)]
    pub passed: Bytes,
}

impl Udp {
    pub(super) fn add(&mut self, passed: &Passed) {
        self.datagrams_to_ipv4 += passed.datagrams[CLIENT];
        self.datagrams_to_ipv6 += passed.datagrams[SERVER];
        self.passed.add(passed.bytes);
        self.errors += passed.errors;
        self.not_sent += passed.not_sent;
    }
}

/// Payload that was passed on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Bytes {
    pub bytes_to_ipv4: u64,
    pub bytes_to_ipv6: u64,
}

impl Bytes {
    /// Adds what was passed on, by the side that sent it.
    pub(super) fn add(&mut self, passed: [u64; 2]) {
        self.bytes_to_ipv4 += passed[CLIENT];
        self.bytes_to_ipv6 += passed[SERVER];
    }
}

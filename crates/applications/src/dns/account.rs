//! The account of the client's answers, as the result has it. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use crate::counted::Carried;
use crate::loops::{Account, Repetitions};
use crate::trust::Negotiated;

/// A question that was answered.
pub struct Resolution {
    /// Time until there was a connection that carries questions; absent where there was one before, or none is needed.
    pub session_ns: Option<u64>,
    /// Time from then until the whole answer was there.
    pub response_ns: u64,
    /// Both.
    pub transaction_ns: u64,
    /// Bytes of all that belongs to it.
    pub carried: Carried,
    /// The protocol that the answer came by.
    pub protocol: String,
    /// The outcome of the handshake of TLS over TCP, where there was one.
    pub negotiated: Option<Negotiated>,
}

/// The answers so far.
#[derive(Default)]
pub struct Resolutions {
    session: Times,
    response: Times,
    transaction: Times,
    carried: Carried,
    protocols: BTreeMap<String, u64>,
    versions: BTreeMap<String, u64>,
    ciphers: BTreeMap<String, u64>,
    /// Questions that were sent again.
    pub retries: u64,
    /// Answers that had to be asked for again by TCP.
    pub truncated: u64,
}

impl Resolutions {
    /// Adds an answer.
    pub fn add(&mut self, resolution: Resolution) {
        if let Some(session_ns) = resolution.session_ns {
            self.session.record(session_ns);
        }
        self.response.record(resolution.response_ns);
        self.transaction.record(resolution.transaction_ns);
        self.carried += resolution.carried;
        *self.protocols.entry(resolution.protocol).or_default() += 1;
        if let Some(Negotiated { version, cipher, .. }) = resolution.negotiated {
            *self.versions.entry(version).or_default() += 1;
            *self.ciphers.entry(cipher).or_default() += 1;
        }
    }
}

impl Account for Resolutions {
    fn count(&self) -> u64 {
        self.transaction.count()
    }
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    repetitions: Repetitions,
    session: TimesTally,
    response: TimesTally,
    transaction: TimesTally,
    sent_bytes: u64,
    received_bytes: u64,
    retries: u64,
    truncated: u64,
    protocols: BTreeMap<String, u64>,
    versions: BTreeMap<String, u64>,
    ciphers: BTreeMap<String, u64>,
}

impl ClientResult {
    /// The result of what was measured.
    pub fn new(account: Resolutions, repetitions: Repetitions) -> Self {
        Self {
            repetitions,
            session: account.session.tally(),
            response: account.response.tally(),
            transaction: account.transaction.tally(),
            sent_bytes: account.carried.sent,
            received_bytes: account.carried.received,
            retries: account.retries,
            truncated: account.truncated,
            protocols: account.protocols,
            versions: account.versions,
            ciphers: account.ciphers,
        }
    }
}

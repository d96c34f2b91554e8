//! The account of the client's handshakes, as the result has it. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use crate::counted::Carried;
use crate::loops::{Account, Repetitions};

/// A connection whose handshake succeeded.
pub struct Handshake {
    /// Time until TCP's was over.
    pub connect_ns: u64,
    /// Time from then until the client had verified the server.
    pub handshake_ns: u64,
    /// Time from the connection's begin until the answer to early data came; absent where none were taken.
    pub first_byte_ns: Option<u64>,
    /// Bytes until the handshake's end.
    pub handshake: Carried,
    /// Bytes of the whole connection.
    pub connection: Carried,
    /// The version of TLS, by its name.
    pub version: String,
    /// The cipher suite, by its name.
    pub cipher: String,
    /// The kind of handshake: `full`, `full-retried` or `resumed`; with early data `early-data`, or
    /// `early-data-rejected` where the server did not take them.
    pub kind: &'static str,
}

/// The handshakes so far.
#[derive(Default)]
pub struct Handshakes {
    connect: Times,
    handshake: Times,
    transaction: Times,
    first_byte: Times,
    in_handshakes: Carried,
    in_connections: Carried,
    versions: BTreeMap<String, u64>,
    ciphers: BTreeMap<String, u64>,
    kinds: BTreeMap<&'static str, u64>,
}

impl Handshakes {
    /// Adds shaken.
    pub fn add(&mut self, shaken: Handshake) {
        self.connect.record(shaken.connect_ns);
        self.handshake.record(shaken.handshake_ns);
        self.transaction.record(shaken.connect_ns + shaken.handshake_ns);
        if let Some(first_byte_ns) = shaken.first_byte_ns {
            self.first_byte.record(first_byte_ns);
        }
        self.in_handshakes += shaken.handshake;
        self.in_connections += shaken.connection;
        *self.versions.entry(shaken.version).or_default() += 1;
        *self.ciphers.entry(shaken.cipher).or_default() += 1;
        *self.kinds.entry(shaken.kind).or_default() += 1;
    }
}

impl Account for Handshakes {
    fn count(&self) -> u64 {
        self.handshake.count()
    }
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    repetitions: Repetitions,
    connect: TimesTally,
    handshake: TimesTally,
    transaction: TimesTally,
    first_byte: TimesTally,
    handshake_sent_bytes: u64,
    handshake_received_bytes: u64,
    sent_bytes: u64,
    received_bytes: u64,
    versions: BTreeMap<String, u64>,
    ciphers: BTreeMap<String, u64>,
    kinds: BTreeMap<&'static str, u64>,
}

impl ClientResult {
    /// The result of what was measured.
    pub fn new(account: Handshakes, repetitions: Repetitions) -> Self {
        Self {
            repetitions,
            connect: account.connect.tally(),
            handshake: account.handshake.tally(),
            transaction: account.transaction.tally(),
            first_byte: account.first_byte.tally(),
            handshake_sent_bytes: account.in_handshakes.sent,
            handshake_received_bytes: account.in_handshakes.received,
            sent_bytes: account.in_connections.sent,
            received_bytes: account.in_connections.received,
            versions: account.versions,
            ciphers: account.ciphers,
            kinds: account.kinds,
        }
    }
}

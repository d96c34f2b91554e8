//! The account of the client's pages, as the result has it. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use crate::counted::Carried;
use crate::loops::{Account, Repetitions};
use crate::quic::Marks;

/// The times of a connection that was opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// Time until TCP's handshake was over; absent over QUIC.
    pub connect_ns: Option<u64>,
    /// Time from then, or from the start, until the client had verified the server; absent without TLS.
    pub handshake_ns: Option<u64>,
}

/// The outcome of a connection's handshakes.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// The protocol over it: by ALPN, or by the registry's name for it where it was known beforehand.
    pub protocol: String,
    /// The version of TLS and the cipher suite, where they are known.
    pub tls: Option<(String, String)>,
}

/// An object that came.
pub struct Fetched {
    /// Time at which the head of the answer was there.
    pub first_byte_ns: u64,
    /// Time at which all of the body was there.
    pub ended_ns: u64,
    /// Time from the request until then.
    pub object_ns: u64,
    /// Bytes of the body.
    pub bytes: u64,
    /// The version of the answer; absent where it is the one that was asked for.
    pub other_version: Option<String>,
}

/// The objects and connections of a page so far.
#[derive(Default)]
pub struct Load {
    /// Connections that were opened for it.
    pub openings: Vec<Opening>,
    /// Objects that came, with their number in the page and what their connections agreed on.
    pub fetched: Vec<(usize, Fetched, Agreed)>,
    /// Bytes that its connections carried.
    pub carried: Carried,
}

/// The times of all objects of a page, from its start, in the order in which the page has them.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ObjectTimes {
    /// Times of the requests.
    begun_ns: Vec<u64>,
    /// Times at which the heads of the answers were there.
    first_byte_ns: Vec<u64>,
    /// Times at which all of the bodies were there.
    ended_ns: Vec<u64>,
}

impl ObjectTimes {
    /// The times of a page that was begun at this time, and of which every object came.
    fn new(started_ns: u64, load: &Load) -> Self {
        let mut fetched: Vec<_> = load.fetched.iter().map(|(index, fetched, _)| (index, fetched)).collect();
        fetched.sort_by_key(|(index, _)| *index);
        let mut times = Self::default();
        for (_, fetched) in fetched {
            times.begun_ns.push(fetched.ended_ns - fetched.object_ns - started_ns);
            times.first_byte_ns.push(fetched.first_byte_ns - started_ns);
            times.ended_ns.push(fetched.ended_ns - started_ns);
        }
        times
    }
}

/// The pages so far.
#[derive(Default)]
pub struct Pages {
    last_page: Option<ObjectTimes>,
    connect: Times,
    handshake: Times,
    first_byte: Times,
    object: Times,
    page: Times,
    connections: u64,
    requests: u64,
    body_bytes: u64,
    carried: Carried,
    protocols: BTreeMap<String, u64>,
    versions: BTreeMap<String, u64>,
    ciphers: BTreeMap<String, u64>,
}

impl Pages {
    /// Adds a page that was begun at this time, and of which every object came.
    pub fn add(&mut self, started_ns: u64, load: Load) {
        self.last_page = Some(ObjectTimes::new(started_ns, &load));
        let first_byte_ns =
            load.fetched.iter().map(|(_, fetched, _)| fetched.first_byte_ns).min().unwrap_or(started_ns);
        let ended_ns = load.fetched.iter().map(|(_, fetched, _)| fetched.ended_ns).max().unwrap_or(started_ns);
        self.first_byte.record(first_byte_ns - started_ns);
        self.page.record(ended_ns - started_ns);
        self.carried += load.carried;
        for opening in load.openings {
            self.connections += 1;
            opening.connect_ns.into_iter().for_each(|time_ns| self.connect.record(time_ns));
            opening.handshake_ns.into_iter().for_each(|time_ns| self.handshake.record(time_ns));
        }
        for (_, fetched, agreed) in load.fetched {
            self.requests += 1;
            self.object.record(fetched.object_ns);
            self.body_bytes += fetched.bytes;
            *self.protocols.entry(fetched.other_version.unwrap_or(agreed.protocol)).or_default() += 1;
            if let Some((version, cipher)) = agreed.tls {
                *self.versions.entry(version).or_default() += 1;
                *self.ciphers.entry(cipher).or_default() += 1;
            }
        }
    }
}

impl Account for Pages {
    fn count(&self) -> u64 {
        self.page.count()
    }
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    repetitions: Repetitions,
    connect: TimesTally,
    handshake: TimesTally,
    first_byte: TimesTally,
    object: TimesTally,
    page: TimesTally,
    connections: u64,
    requests: u64,
    body_bytes: u64,
    sent_bytes: u64,
    received_bytes: u64,
    protocols: BTreeMap<String, u64>,
    versions: BTreeMap<String, u64>,
    ciphers: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<Marks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_page: Option<ObjectTimes>,
}

impl ClientResult {
    /// The result of what was measured; `ecn` has the marks of all packets, where they came by QUIC.
    pub fn new(account: Pages, repetitions: Repetitions, ecn: Option<Marks>) -> Self {
        Self {
            repetitions,
            connect: account.connect.tally(),
            handshake: account.handshake.tally(),
            first_byte: account.first_byte.tally(),
            object: account.object.tally(),
            page: account.page.tally(),
            connections: account.connections,
            requests: account.requests,
            body_bytes: account.body_bytes,
            sent_bytes: account.carried.sent,
            received_bytes: account.carried.received,
            protocols: account.protocols,
            versions: account.versions,
            ciphers: account.ciphers,
            ecn,
            last_page: account.last_page,
        }
    }
}

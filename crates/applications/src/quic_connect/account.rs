//! The account of the client's connections, as the result has it. Pure.

use std::collections::BTreeMap;

use quinn::UdpStats;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use crate::loops::{Account, Repetitions};
use crate::quic::Marks;

/// A connection that succeeded.
pub struct Opened {
    /// Time from its begin until the client had verified the server.
    pub handshake_ns: u64,
    /// Time from its begin until the first byte of the answer came.
    pub first_byte_ns: u64,
    /// UDP that was sent, and that came.
    pub sent: UdpStats,
    /// UDP that came.
    pub received: UdpStats,
    /// Packets that were sent, several of which may be in a datagram.
    pub sent_packets: u64,
    /// Those of them that were taken for lost.
    pub lost_packets: u64,
    /// The kind of handshake: `full`, `resumed`, or `0-rtt` where the server took data of the first flight.
    pub kind: &'static str,
    /// The protocol over QUIC that both agreed on.
    pub protocol: String,
}

/// The connections so far.
#[derive(Default)]
pub struct Connections {
    handshake: Times,
    first_byte: Times,
    sent_datagrams: u64,
    received_datagrams: u64,
    sent_bytes: u64,
    received_bytes: u64,
    sent_packets: u64,
    lost_packets: u64,
    kinds: BTreeMap<&'static str, u64>,
    protocols: BTreeMap<String, u64>,
}

impl Connections {
    /// Adds opened.
    pub fn add(&mut self, opened: Opened) {
        self.handshake.record(opened.handshake_ns);
        self.first_byte.record(opened.first_byte_ns);
        self.sent_datagrams += opened.sent.datagrams;
        self.received_datagrams += opened.received.datagrams;
        self.sent_bytes += opened.sent.bytes;
        self.received_bytes += opened.received.bytes;
        self.sent_packets += opened.sent_packets;
        self.lost_packets += opened.lost_packets;
        *self.kinds.entry(opened.kind).or_default() += 1;
        *self.protocols.entry(opened.protocol).or_default() += 1;
    }
}

impl Account for Connections {
    fn count(&self) -> u64 {
        self.handshake.count()
    }
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    repetitions: Repetitions,
    handshake: TimesTally,
    first_byte: TimesTally,
    sent_datagrams: u64,
    received_datagrams: u64,
    sent_bytes: u64,
    received_bytes: u64,
    sent_packets: u64,
    lost_packets: u64,
    ecn: Marks,
    kinds: BTreeMap<&'static str, u64>,
    protocols: BTreeMap<String, u64>,
}

impl ClientResult {
    /// The result of what was measured; `ecn` has the marks of all of them.
    pub fn new(account: Connections, repetitions: Repetitions, ecn: Marks) -> Self {
        Self {
            repetitions,
            handshake: account.handshake.tally(),
            first_byte: account.first_byte.tally(),
            sent_datagrams: account.sent_datagrams,
            received_datagrams: account.received_datagrams,
            sent_bytes: account.sent_bytes,
            received_bytes: account.received_bytes,
            sent_packets: account.sent_packets,
            lost_packets: account.lost_packets,
            ecn,
            kinds: account.kinds,
            protocols: account.protocols,
        }
    }
}

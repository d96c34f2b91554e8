//! `dns`: questions and answers of DNS, over each of its transports.
//!
//! Each question is for the TXT records of another name in a zone that only this trial has, so that it proves to be of
//! the trial, and the answer is as long as the experiment asks for.

mod account;
mod client;
pub(crate) mod framing;
mod https;
pub(crate) mod message;
mod server;
mod session;

use serde_json::{Value, json};
use sixbench_traffic::params::{self, Limit, Params, SECOND_NS};
use sixbench_traffic::{Cancel, Endpoint, Result, Server, TypedWorkload, only};

use crate::door::Carrier;

const NAME: &str = "dns";
const MAX_IN_FLIGHT: u64 = 256;
const CHAIN_BYTES: usize = 1_536;
const DEFAULT_ANSWER_BYTES: usize = 128;
/// The size that resolvers offer since DNS Flag Day 2020: its answers are not fragmented.
const DEFAULT_EDNS_BYTES: u64 = 1_232;

/// The workload.
pub struct Dns;

impl TypedWorkload for Dns {
    type ClientResult = account::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({"count": 1}), Settings::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<Self::ServerResult>>> {
        server::serve(only(NAME, endpoints)?, &params::read(NAME, params, Settings::read)?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Self::ClientResult> {
        client::run(only(NAME, endpoints)?, &params::read(NAME, params, Settings::read)?, cancel)
    }
}

/// The transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    /// RFC 1035 section 4.2.1; an answer that is truncated is asked for again by TCP.
    Udp,
    /// RFC 7766.
    Tcp,
    /// RFC 7858.
    Tls,
    /// RFC 8484, by HTTP/2.
    Https,
    /// RFC 9250.
    Quic,
}

impl Transport {
    /// The protocol that both sides agree on (ALPN, RFC 7301), where they do.
    fn protocol(self) -> Option<&'static [u8]> {
        match self {
            Transport::Udp | Transport::Tcp => None,
            Transport::Tls => Some(b"dot"),
            Transport::Https => Some(b"h2"),
            Transport::Quic => Some(b"doq"),
        }
    }

    /// The transport below it.
    fn carrier(self) -> Carrier {
        match self {
            Transport::Udp | Transport::Quic => Carrier::Udp,
            Transport::Tcp | Transport::Tls | Transport::Https => Carrier::Tcp,
        }
    }
}

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reuse {
    /// One for each question.
    New,
    /// One for all questions of one of those in flight.
    Kept,
}

/// `params`, read and checked.
#[derive(Clone)]
struct Settings {
    limit: Limit,
    warmup_ns: u64,
    timeout_ns: u64,
    /// Time after which a question over UDP is sent again.
    retry_after_ns: u64,
    in_flight: usize,
    over: Transport,
    connection: Reuse,
    answer_bytes: usize,
    /// The longest datagram that the client says to take.
    edns_bytes: u16,
}

impl Settings {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        Ok(Self {
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            retry_after_ns: params.time_ns("retry_after_ns", 1_000_000, SECOND_NS)?,
            in_flight: params.integer_or("in_flight", 1..=MAX_IN_FLIGHT, 1)? as usize,
            over: params.choice(
                "over",
                &[
                    ("udp", Transport::Udp),
                    ("tcp", Transport::Tcp),
                    ("tls", Transport::Tls),
                    ("https", Transport::Https),
                    ("quic", Transport::Quic),
                ],
            )?,
            connection: params.choice("connection", &[("new", Reuse::New), ("kept", Reuse::Kept)])?,
            answer_bytes: params.size_or("answer_bytes", 100..=4_096, DEFAULT_ANSWER_BYTES)?,
            edns_bytes: params.integer_or("edns_bytes", 512..=4_096, DEFAULT_EDNS_BYTES)? as u16,
        })
    }
}

#[cfg(test)]
mod tests;

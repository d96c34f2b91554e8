//! `tcp-connect` and `tcp-crr`: many short connections, empty or with one byte each way, a given number in flight or a
//! second.
//!
//! The first connection proves the client with a preamble and stays open as long as it measures: its close tells the
//! server that no more will come. It is not counted.

mod client;
mod flight;
mod phase;
mod server;

pub use self::server::ServerResult;

use serde_json::{Value, json};
use sixbench_wire::token::Token;

use super::pacing::Interval;
use super::tcp::TcpOptions;
use crate::cancel::Stop;
use crate::params::{self, Limit, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::{Cancel, Endpoint, Result, Server};

/// The payload of a connection, which is the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: `tcp-connect`.
    Connect,
    /// The request, then the response: `tcp-crr`.
    RequestResponse,
}

impl TypedWorkload for Kind {
    type ClientResult = client::ClientResult;
    type ServerResult = ServerResult;

    fn name(&self) -> &'static str {
        match self {
            Kind::Connect => "tcp-connect",
            Kind::RequestResponse => "tcp-crr",
        }
    }

    fn parameters(&self) -> Result<Value> {
        params::table(self.name(), &json!({"count": 1}), |params| TransactionParams::read(*self, params))
    }

    fn serve(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
        only(self.name(), endpoints)?;
        server::serve(endpoints, &TransactionParams::parse(*self, params)?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        let endpoint = only(self.name(), endpoints)?;
        client::run(endpoint, &TransactionParams::parse(*self, params)?, &Stop::new(cancel))
    }
}

/// The end that closes a connection first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstClose {
    /// The client closes first: it has the connection in TIME-WAIT (RFC 9293 section 3.6).
    Client,
    /// The server closes first, and the client when it has seen that.
    Server,
    /// The client resets, so that nobody has it in TIME-WAIT.
    Reset,
}

/// The most that may be in flight: each is a descriptor on both sides.
const MAX_IN_FLIGHT: u64 = 8_192;
/// The most that may be in flight with a rate, unless given.
const IN_FLIGHT_WITH_RATE: u64 = 1_024;
const MAX_RATE_PER_S: u64 = 10_000_000;

/// Serves connections without data at all these addresses, which are known for `timeout_ns`: of workloads that connect
/// in ways of their own.
pub fn serve_connections(
    endpoints: &[Endpoint],
    options: TcpOptions,
    timeout_ns: u64,
    cancel: &Cancel,
) -> Result<Box<dyn Server<ServerResult>>> {
    let params = TransactionParams {
        kind: Kind::Connect,
        limit: Limit::Count(1),
        warmup_ns: 0,
        timeout_ns,
        options,
        interval_ns: SECOND_NS,
        in_flight: endpoints.len(),
        rate: None,
        first_close: FirstClose::Client,
    };
    server::serve(endpoints, &params, cancel)
}

/// `params`, read and checked.
struct TransactionParams {
    kind: Kind,
    limit: Limit,
    warmup_ns: u64,
    /// Time limit for the handshake, and for the response.
    timeout_ns: u64,
    options: TcpOptions,
    interval_ns: u64,
    in_flight: usize,
    /// Absent in a closed loop.
    rate: Option<Interval>,
    first_close: FirstClose,
}

impl TransactionParams {
    fn parse(kind: Kind, params: &Value) -> Result<Self> {
        params::read(kind.name(), params, |params| Self::read(kind, params))
    }

    fn read(kind: Kind, params: &mut Params<'_>) -> Result<Self> {
        let rate_per_s = params.integer("rate_per_s", 1..=MAX_RATE_PER_S)?;
        let default_in_flight = if rate_per_s.is_some() { IN_FLIGHT_WITH_RATE } else { 1 };
        Ok(Self {
            in_flight: params.integer_or("in_flight", 1..=MAX_IN_FLIGHT, default_in_flight)? as usize,
            rate: rate_per_s.map(Interval::of_pps),
            first_close: params.choice(
                "first_close",
                &[("client", FirstClose::Client), ("server", FirstClose::Server), ("reset", FirstClose::Reset)],
            )?,
            kind,
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            options: TcpOptions::read(params)?,
            interval_ns: params.interval_ns()?,
        })
    }
}

/// The byte a client sends: the token's first.
fn request(token: &Token) -> u8 {
    token.0[0]
}

/// The byte a server answers with, also to the proof: the token's second.
fn response(token: &Token) -> u8 {
    token.0[1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn params_are_those_of_the_document() {
        let read = |params: Value| TransactionParams::parse(Kind::RequestResponse, &params);
        let params = read(json!({"count": 5})).unwrap();
        assert_eq!((params.limit, params.timeout_ns, params.warmup_ns), (Limit::Count(5), 2_000_000_000, 0));
        assert_eq!((params.in_flight, params.rate.is_none(), params.first_close), (1, true, FirstClose::Client));
        assert_eq!(read(json!({"count": 5, "rate_per_s": 9})).unwrap().in_flight, 1_024);
        for params in [
            json!({}),
            json!({"count": 1, "nodelay": true}),
            json!({"count": 1, "timeout_ns": 0}),
            json!({"count": 1, "in_flight": 0}),
            json!({"count": 1, "rate_per_s": 0}),
            json!({"count": 1, "first_close": "both"}),
        ] {
            assert_eq!(read(params.clone()).err().unwrap().code, Code::BadParams, "{params}");
        }
    }
}

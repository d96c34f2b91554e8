//! `quic-connect`: connections of QUIC, each with one byte there and one back.

mod account;
mod client;
mod server;

use serde_json::{Value, json};
use sixbench_traffic::params::{self, Limit, Params, SECOND_NS};
use sixbench_traffic::{Cancel, Endpoint, Result, Server, TypedWorkload, only};

const NAME: &str = "quic-connect";
const MAX_IN_FLIGHT: u64 = 256;
const DEFAULT_CHAIN_BYTES: usize = 1_536;

/// The workload.
pub struct QuicConnect;

impl TypedWorkload for QuicConnect {
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

/// The kind of handshake that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    /// The server sends its certificates.
    Full,
    /// The client has a ticket of an earlier session; the request waits for the handshake.
    Resumed,
    /// The client has a ticket, and the request is in its first flight (RFC 9001 section 4.6).
    ZeroRtt,
}

/// `params`, read and checked.
struct Settings {
    limit: Limit,
    warmup_ns: u64,
    timeout_ns: u64,
    in_flight: usize,
    session: Session,
    retry: bool,
    chain_bytes: usize,
}

impl Settings {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        Ok(Self {
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            in_flight: params.integer_or("in_flight", 1..=MAX_IN_FLIGHT, 1)? as usize,
            session: params.choice(
                "session",
                &[("full", Session::Full), ("resumed", Session::Resumed), ("0-rtt", Session::ZeroRtt)],
            )?,
            retry: params.flag("retry", false)?,
            chain_bytes: params.size_or("chain_bytes", 1_280..=16_384, DEFAULT_CHAIN_BYTES)?,
        })
    }
}

/// The byte that the client asks with, and the server's answer.
const REQUEST: &[u8] = b"?";
const RESPONSE: &[u8] = b"!";

#[cfg(test)]
mod tests;

//! `tls`: connections of TCP, each with a handshake of TLS 1.3 and no data.
//!
//! The client asks for the trial's name, so the first flight proves that it is of the trial. When the handshake is over
//! it closes, and reads what the server still sends (tickets for further sessions) until that has closed too. With
//! early data (RFC 8446 section 2.3) its first flight has a byte, and the server answers that with its first flight.

mod account;
mod client;
mod early;
mod server;

use serde_json::{Value, json};
use sixbench_traffic::error::bad_params;
use sixbench_traffic::params::{self, Limit, Params, SECOND_NS};
use sixbench_traffic::{Cancel, Endpoint, Result, Server, TypedWorkload, only};

const NAME: &str = "tls";
const MAX_IN_FLIGHT: u64 = 256;
const DEFAULT_CHAIN_BYTES: usize = 1_536;

/// The workload.
pub struct Tls;

impl TypedWorkload for Tls {
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
    /// The client has a ticket of an earlier session (RFC 8446 section 2.2), and a new exchange of keys.
    Resumed,
    /// Besides, it asks in its first flight (RFC 8446 section 2.3).
    Early,
}

/// `params`, read and checked.
struct Settings {
    limit: Limit,
    warmup_ns: u64,
    timeout_ns: u64,
    in_flight: usize,
    session: Session,
    chain_bytes: usize,
}

/// The byte that the client asks with in early data, and the server's answer.
const REQUEST: &[u8] = b"?";
const RESPONSE: &[u8] = b"!";

impl Settings {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        let session = params.choice("session", &[("full", Session::Full), ("resumed", Session::Resumed)])?;
        let session = match (session, params.flag("early_data", false)?) {
            (Session::Resumed, true) => Session::Early,
            (Session::Full, true) => {
                return Err(bad_params(NAME, "`early_data` needs a `session` that is resumed"));
            }
            (session, _) => session,
        };
        Ok(Self {
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            in_flight: params.integer_or("in_flight", 1..=MAX_IN_FLIGHT, 1)? as usize,
            session,
            chain_bytes: params.size_or("chain_bytes", 1_280..=16_384, DEFAULT_CHAIN_BYTES)?,
        })
    }
}

#[cfg(test)]
mod tests;

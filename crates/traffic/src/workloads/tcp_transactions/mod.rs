//! `tcp-connect` and `tcp-crr`: one connection after the other, empty or with one byte each way.
//!
//! The first connection proves the client with a preamble and stays open as long as it measures: its close tells the
//! server that no more will come. It is not counted.

mod client;
mod server;

use serde_json::Value;

use super::tcp::{Stop, TcpOptions};
use crate::params::{Limit, Params, SECOND_NS};
use crate::{Cancel, Endpoint, Result, Server, Token, Workload};

/// The workload `tcp-connect`.
pub struct TcpConnect;

/// The workload `tcp-crr` (connect, request, response).
pub struct TcpCrr;

impl Workload for TcpConnect {
    fn name(&self) -> &'static str {
        "tcp-connect"
    }

    fn serve(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>> {
        server::serve(endpoint, &TransactionParams::read(self.name(), Kind::Connect, params)?, cancel)
    }

    fn run(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Value> {
        let params = TransactionParams::read(self.name(), Kind::Connect, params)?;
        client::run(endpoint, &params, &Stop::new(cancel))
    }
}

impl Workload for TcpCrr {
    fn name(&self) -> &'static str {
        "tcp-crr"
    }

    fn serve(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>> {
        let kind = Kind::RequestResponse;
        server::serve(endpoint, &TransactionParams::read(self.name(), kind, params)?, cancel)
    }

    fn run(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Value> {
        let params = TransactionParams::read(self.name(), Kind::RequestResponse, params)?;
        client::run(endpoint, &params, &Stop::new(cancel))
    }
}

/// What a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Connect,
    /// The request, then the response.
    RequestResponse,
}

/// `params`, read and checked.
struct TransactionParams {
    kind: Kind,
    limit: Limit,
    warmup_ns: u64,
    /// For the handshake, and for the response.
    timeout_ns: u64,
    options: TcpOptions,
    interval_ns: u64,
}

impl TransactionParams {
    fn read(workload: &'static str, kind: Kind, params: &Value) -> Result<Self> {
        let mut params = Params::new(workload, params)?;
        let read = Self {
            kind,
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            options: TcpOptions::read(&mut params)?,
            interval_ns: params.interval_ns()?,
        };
        params.finish()?;
        Ok(read)
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
    use serde_json::json;

    use super::*;

    #[test]
    fn params_are_those_of_the_document() {
        let read = |params: Value| TransactionParams::read("tcp-crr", Kind::RequestResponse, &params);
        let params = read(json!({"count": 5})).unwrap();
        assert_eq!((params.limit, params.timeout_ns, params.warmup_ns), (Limit::Count(5), 2_000_000_000, 0));
        for params in [json!({}), json!({"count": 1, "nodelay": true}), json!({"count": 1, "timeout_ns": 0})] {
            assert_eq!(read(params.clone()).err().unwrap().code(), "bad-params", "{params}");
        }
    }
}

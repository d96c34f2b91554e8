//! `tcp-rr`: one request in flight on one connection, and the time until its answer is whole.

mod client;
mod link;
mod server;

use serde_json::{Value, json};

use super::tcp::TcpOptions;
use crate::cancel::Stop;
use crate::params::{self, Limit, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::{Cancel, Endpoint, Result, Server};

/// The largest request or answer.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;

/// The workload.
pub struct TcpRr;

impl TypedWorkload for TcpRr {
    type ClientResult = client::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        "tcp-rr"
    }

    fn parameters(&self) -> Result<Value> {
        params::table(self.name(), &json!({"count": 1}), RrParams::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<server::ServerResult>>> {
        let endpoint = only(self.name(), endpoints)?;
        server::serve(endpoint, params::read(self.name(), params, RrParams::read)?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        let endpoint = only(self.name(), endpoints)?;
        client::run(endpoint, &params::read(self.name(), params, RrParams::read)?, &Stop::new(cancel))
    }
}

/// `params`, read and checked.
struct RrParams {
    message_bytes: usize,
    response_bytes: usize,
    limit: Limit,
    warmup_ns: u64,
    /// Longest time in which no byte moves.
    timeout_ns: u64,
    options: TcpOptions,
    interval_ns: u64,
    /// Both sides call again and again instead of waiting in a call.
    busy_poll: bool,
}

impl RrParams {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        let message_bytes = params.size_or("message_bytes", 1..=MAX_MESSAGE_BYTES, 64)?;
        Ok(Self {
            message_bytes,
            response_bytes: params.size("response_bytes", 1..=MAX_MESSAGE_BYTES)?.unwrap_or(message_bytes),
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            options: TcpOptions::read_long(params, true)?,
            interval_ns: params.interval_ns()?,
            busy_poll: params.flag("busy_poll", false)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn defaults_are_those_of_the_document() {
        let params = params::read("tcp-rr", &json!({"count": 5, "message_bytes": 9}), RrParams::read).unwrap();
        assert_eq!((params.message_bytes, params.response_bytes), (9, 9));
        assert_eq!((params.limit, params.timeout_ns, params.options.nodelay), (Limit::Count(5), 2_000_000_000, true));
        assert!(!params.busy_poll);
    }

    #[test]
    fn what_is_refused() {
        for params in [
            json!({}),
            json!({"count": 0}),
            json!({"count": 1, "duration_ns": 1}),
            json!({"count": 1, "message_bytes": 0}),
            json!({"count": 1, "message_bytes": (1_u64 << 30) + 1}),
            json!({"count": 1, "window_bytes": 1}),
        ] {
            assert_eq!(
                params::read("tcp-rr", &params, RrParams::read).err().unwrap().code,
                Code::BadParams,
                "{params}"
            );
        }
    }
}

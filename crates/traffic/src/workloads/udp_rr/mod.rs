//! `udp-rr`: one request in flight, and the time until its answer.

mod client;
mod server;

use std::net::{IpAddr, Ipv6Addr};

use serde_json::{Value, json};

use crate::datagram::{HEADER_BYTES, max_payload_bytes};
use crate::df::Df;
use crate::params::{self, Limit, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::socket::Buffers;
use crate::{Cancel, Endpoint, Result, Server};

/// The workload.
pub struct UdpRr;

const NAME: &str = "udp-rr";

impl TypedWorkload for UdpRr {
    type ClientResult = client::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({"count": 1}), |params| Settings::read(params, Ipv6Addr::LOCALHOST.into()))
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<server::ServerResult>>> {
        let endpoint = only(NAME, endpoints)?;
        server::serve(endpoint, Settings::parse(params, endpoint.address.ip())?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        let endpoint = only(NAME, endpoints)?;
        client::run(endpoint, &Settings::parse(params, endpoint.address.ip())?, cancel)
    }
}

/// Longer than a round trip where both sides have a core. Where they have not, the peer may be waiting for this one.
const PATIENCE_OF_SPINNING_NS: u64 = 50_000;

/// Pauses between two looks for a datagram, where none has come for `idle_ns`.
#[inline]
fn pause(idle_ns: u64) {
    if idle_ns < PATIENCE_OF_SPINNING_NS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// The parameters, checked.
struct Settings {
    message_bytes: usize,
    response_bytes: usize,
    limit: Limit,
    warmup_ns: u64,
    /// Time limit for one answer.
    timeout_ns: u64,
    buffers: Buffers,
    df: Df,
    /// True if both sides ask again and again instead of sleeping until something comes.
    busy_poll: bool,
    interval_ns: u64,
}

impl Settings {
    fn parse(params: &Value, address: IpAddr) -> Result<Self> {
        params::read(NAME, params, |params| Self::read(params, address))
    }

    fn read(params: &mut Params<'_>, address: IpAddr) -> Result<Self> {
        let sizes = HEADER_BYTES as u64..=max_payload_bytes(address);
        let message_bytes = params.size_or("message_bytes", sizes.clone(), 64)?;
        Ok(Self {
            message_bytes,
            response_bytes: params.size("response_bytes", sizes)?.unwrap_or(message_bytes),
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            buffers: Buffers::read(params)?,
            df: Df::read(params)?,
            busy_poll: params.flag("busy_poll", false)?,
            interval_ns: params.interval_ns()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn defaults_are_those_of_the_document() {
        let settings = Settings::parse(&json!({"count": 5, "message_bytes": 99}), [127, 0, 0, 1].into()).unwrap();
        assert_eq!((settings.message_bytes, settings.response_bytes), (99, 99));
        assert_eq!((settings.limit, settings.timeout_ns), (Limit::Count(5), 2_000_000_000));
    }

    #[test]
    fn what_is_refused() {
        for params in [
            json!({}),
            json!({"count": 1, "message_bytes": 31}),
            json!({"count": 1, "response_bytes": 65_508}),
            json!({"count": 1, "bytes": 1}),
            json!({"count": 1, "nodelay": true}),
        ] {
            let error = Settings::parse(&params, [127, 0, 0, 1].into()).err().unwrap();
            assert_eq!(error.code, Code::BadParams, "{params}");
        }
    }
}

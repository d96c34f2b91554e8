//! `ping`: ICMP or ICMPv6 echo requests on a schedule, answered by the peer's kernel.

mod account;
mod client;
pub(super) mod packet;

pub(super) use client::open;

use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use self::packet::{ECHO_HEADER_BYTES, MARK_BYTES};
use crate::datagram::max_payload_bytes;
use crate::df::Df;
use crate::ledger::MAX_SEQUENCES;
use crate::params::{self, Limit, MAX_TIME_NS, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::strays::Strays;
use crate::{Cancel, Endpoint, Finish, Result, Server};

/// The workload.
pub struct Ping;

const NAME: &str = "ping";

impl TypedWorkload for Ping {
    type ClientResult = client::ClientResult;
    type ServerResult = KernelResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({"count": 1}), |params| Settings::read(params, Ipv6Addr::LOCALHOST.into()))
    }

    fn serve(&self, endpoints: &[Endpoint], params: &Value, _: &Cancel) -> Result<Box<dyn Server<KernelResult>>> {
        let endpoint = only(NAME, endpoints)?;
        Settings::parse(params, endpoint.address.ip())?;
        Ok(Box::new(Kernel))
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        let endpoint = only(NAME, endpoints)?;
        client::run(endpoint, &Settings::parse(params, endpoint.address.ip())?, cancel)
    }
}

/// The kernel answers; there is nothing to do.
pub(super) struct Kernel;

/// The result of a side whose kernel answers, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KernelResult {
    strays: Strays,
}

impl Server<KernelResult> for Kernel {
    fn port(&self) -> u16 {
        0
    }

    fn finish(self: Box<Self>, _: &Finish) -> Result<KernelResult> {
        Ok(KernelResult { strays: Strays::default() })
    }
}

/// The parameters, checked.
struct Settings {
    payload_bytes: usize,
    interval_ns: u64,
    limit: Limit,
    warmup_ns: u64,
    timeout_ns: u64,
    df: Df,
}

/// A faster schedule than this is a load and no probe.
const MIN_INTERVAL_NS: u64 = 1_000;

impl Settings {
    fn parse(params: &Value, address: IpAddr) -> Result<Self> {
        params::read(NAME, params, |params| Self::read(params, address))
    }

    fn read(params: &mut Params<'_>, address: IpAddr) -> Result<Self> {
        // The ICMP header is as long as the UDP header.
        let payloads = MARK_BYTES as u64..=max_payload_bytes(address);
        let settings = Self {
            payload_bytes: params.size_or("payload_bytes", payloads, 56)?,
            interval_ns: params.integer_or("interval_ns", MIN_INTERVAL_NS..=MAX_TIME_NS, SECOND_NS / 100)?,
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, SECOND_NS)?,
            df: Df::read(params)?,
        };
        if matches!(settings.limit, Limit::Count(count) if count > MAX_SEQUENCES) {
            return Err(params.refuse(format!("`count` must be at most {MAX_SEQUENCES}")));
        }
        Ok(settings)
    }
}

const _: () = assert!(ECHO_HEADER_BYTES == 8);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn defaults_are_those_of_the_document() {
        let settings = Settings::parse(&json!({"count": 5}), [127, 0, 0, 1].into()).unwrap();
        assert_eq!((settings.payload_bytes, settings.interval_ns, settings.timeout_ns), (56, 10_000_000, SECOND_NS));
    }

    #[test]
    fn what_is_refused() {
        for params in [
            json!({}),
            json!({"count": 1, "payload_bytes": 23}),
            json!({"count": 1, "payload_bytes": 65_508}),
            json!({"count": 1, "interval_ns": 999}),
            json!({"count": 1, "duration_ns": 1}),
            json!({"count": 1, "message_bytes": 64}),
        ] {
            let error = Settings::parse(&params, [127, 0, 0, 1].into()).err().unwrap();
            assert_eq!(error.code, Code::BadParams, "{params}");
        }
    }
}

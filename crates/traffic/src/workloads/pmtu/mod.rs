//! `pmtu`: the path MTU in each direction, found in three ways: learned by the kernel from ICMP, found by probing with
//! datagrams (RFC 8899), and settled on by TCP. Also the hop that limits it, even one that sends no error.
//!
//! [`search`], [`locate`] and [`message`] are pure; [`prober`] sends and receives; [`ways`], [`trace`] and [`transfer`]
//! use it, and [`direction`] does all of that in order. [`session`] lets the two sides take turns.

mod client;
mod direction;
mod locate;
mod message;
mod prober;
mod search;
mod server;
mod session;
mod trace;
mod transfer;
mod ways;

use serde_json::{Value, json};

use super::tcp::TcpOptions;
use crate::cancel::Stop;
use crate::params::{self, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::{Cancel, Endpoint, Result, Server};

/// The workload.
pub struct Pmtu;

const NAME: &str = "pmtu";

/// Enough for slow start to reach a number of full segments, and little enough for a slow link.
const TRANSFER_BYTES: u64 = 200 << 10;
const MAX_TRANSFER_BYTES: u64 = 1 << 30;

impl TypedWorkload for Pmtu {
    type ClientResult = client::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({}), Settings::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<server::ServerResult>>> {
        let endpoint = only(NAME, endpoints)?;
        server::serve(endpoint, Settings::parse(params)?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        let endpoint = only(NAME, endpoints)?;
        client::run(endpoint, &Settings::parse(params)?, &Stop::new(cancel))
    }
}

/// The parameters, checked.
struct Settings {
    /// The least that an acknowledgement is waited for.
    probe_timeout_ns: u64,
    transfer_bytes: u64,
    /// A transfer of which nothing is acknowledged for this long has stalled.
    stall_timeout_ns: u64,
    /// True if the kernel is to forget before what it had learned.
    forget: bool,
    options: TcpOptions,
}

impl Settings {
    fn parse(params: &Value) -> Result<Self> {
        params::read(NAME, params, Self::read)
    }

    fn read(params: &mut Params<'_>) -> Result<Self> {
        Ok(Self {
            probe_timeout_ns: params.integer_or("probe_timeout_ns", 1_000_000..=10 * SECOND_NS, SECOND_NS / 10)?,
            transfer_bytes: params.integer_or("transfer_bytes", 1..=MAX_TRANSFER_BYTES, TRANSFER_BYTES)?,
            stall_timeout_ns: params.integer_or(
                "stall_timeout_ns",
                SECOND_NS / 10..=300 * SECOND_NS,
                10 * SECOND_NS,
            )?,
            forget: params.flag("forget", true)?,
            options: TcpOptions::read(params)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn defaults_are_those_of_the_document() {
        let settings = Settings::parse(&json!({})).unwrap();
        assert_eq!((settings.probe_timeout_ns, settings.stall_timeout_ns), (SECOND_NS / 10, 10 * SECOND_NS));
        assert_eq!((settings.transfer_bytes, settings.forget), (204_800, true));
        assert_eq!(settings.options.congestion, "cubic");
    }

    #[test]
    fn what_is_refused() {
        for params in [
            json!({"probe_timeout_ns": 999_999}),
            json!({"transfer_bytes": 0}),
            json!({"stall_timeout_ns": 1}),
            json!({"forget": "yes"}),
            json!({"duration_ns": 1}),
        ] {
            assert_eq!(Settings::parse(&params).err().unwrap().code, Code::BadParams, "{params}");
        }
    }
}

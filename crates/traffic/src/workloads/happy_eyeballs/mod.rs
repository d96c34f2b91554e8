//! `happy-eyeballs`: connections to a server that has addresses of both families, by the algorithm of RFC 8305, and the
//! time of a connection over each family alone.
//!
//! There are no queries: the answers are assumed to come after given times.

mod account;
mod attempt;
mod client;
mod race;

use serde_json::{Value, json};

use self::race::Rules;
use super::tcp::TcpOptions;
use super::tcp_transactions;
use crate::cancel::Stop;
use crate::params::{self, Params, SECOND_NS};
use crate::session::TypedWorkload;
use crate::{Cancel, Endpoint, Result, Server};

/// The workload `happy-eyeballs`.
pub struct HappyEyeballs;

impl TypedWorkload for HappyEyeballs {
    type ClientResult = client::ClientResult;
    type ServerResult = tcp_transactions::ServerResult;

    fn name(&self) -> &'static str {
        "happy-eyeballs"
    }

    fn parameters(&self) -> Result<Value> {
        params::table(self.name(), &json!({}), EyeballsParams::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<tcp_transactions::ServerResult>>> {
        let params = params::read(self.name(), params, EyeballsParams::read)?;
        tcp_transactions::serve_connections(endpoints, params.options, params.timeout_ns, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        client::run(endpoints, &params::read(self.name(), params, EyeballsParams::read)?, &Stop::new(cancel))
    }
}

/// RFC 8305 section 5: the least Connection Attempt Delay there may be, and its recommended value.
const LEAST_ATTEMPT_DELAY_NS: u64 = 10_000_000;
const ATTEMPT_DELAY_NS: u64 = 250_000_000;
/// RFC 8305 section 3: the recommended Resolution Delay.
const RESOLUTION_DELAY_NS: u64 = 50_000_000;
const GAP_NS: u64 = 20_000_000;

const MAX_COUNT: u64 = 1_000_000;

/// `params`, read and checked.
struct EyeballsParams {
    count: u64,
    gap_ns: u64,
    /// Time limit for one connection, however many attempts it takes.
    timeout_ns: u64,
    rules: Rules,
    options: TcpOptions,
}

impl EyeballsParams {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        Ok(Self {
            count: params.integer_or("count", 1..=MAX_COUNT, 10)?,
            gap_ns: params.time_ns("gap_ns", 0, GAP_NS)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            rules: Rules {
                attempt_delay_ns: params.time_ns("attempt_delay_ns", LEAST_ATTEMPT_DELAY_NS, ATTEMPT_DELAY_NS)?,
                resolution_delay_ns: params.time_ns("resolution_delay_ns", 0, RESOLUTION_DELAY_NS)?,
                a_after_ns: params.time_ns("a_after_ns", 0, 0)?,
                aaaa_after_ns: params.time_ns("aaaa_after_ns", 0, 0)?,
            },
            options: TcpOptions::read(params)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn params_are_those_of_the_document() {
        let read = |params: Value| params::read("happy-eyeballs", &params, EyeballsParams::read);
        let params = read(json!({})).unwrap();
        assert_eq!((params.count, params.gap_ns, params.timeout_ns), (10, 20_000_000, 2_000_000_000));
        assert_eq!((params.rules.attempt_delay_ns, params.rules.resolution_delay_ns), (250_000_000, 50_000_000));
        for params in [
            json!({"count": 0}),
            json!({"attempt_delay_ns": 9_999_999}),
            json!({"duration_ns": 1}),
            json!({"a_after_ns": -1}),
        ] {
            assert_eq!(read(params.clone()).err().unwrap().code, Code::BadParams, "{params}");
        }
    }
}

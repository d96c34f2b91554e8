//! `dns64`: questions for AAAA records at a rate, to a resolver that makes them from the A records of an authority,
//! which is the server here (RFC 8219 section 9). An answer counts if it comes in time and has the one right address.

mod answers;
mod client;
mod message;
mod server;

use serde_json::{Value, json};
use sixbench_wire::addresses::Prefix6;

use super::pacing::Interval;
use crate::cancel::Stop;
use crate::params::{self, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::{Cancel, Endpoint, Result, Server};

/// The workload `dns64`.
pub struct Dns64;

const NAME: &str = "dns64";
/// RFC 1035 section 4.2.
const PORT: u16 = 53;
/// Most questions a second: the wait for each may be a quarter of a second (RFC 8219 section 9.2.1).
const MAX_RATE_PER_S: u64 = 200_000;
/// RFC 8219 section 9.2.
const MAX_TIMEOUT_NS: u64 = SECOND_NS;
/// Most questions that wait at once. 16 bits distinguish them.
const MAX_WAITING: u64 = 50_000;
const MAX_DURATION_NS: u64 = 86_400 * SECOND_NS;

impl TypedWorkload for Dns64 {
    type ClientResult = client::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({"rate_per_s": 1, "duration_ns": 1, "prefix": "64:ff9b::/96"}), Settings::read)
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
#[derive(Debug, Clone, Copy)]
struct Settings {
    rate: Interval,
    duration_ns: u64,
    timeout_ns: u64,
    prefix: Prefix6,
    /// True if the authority itself answers with AAAA records, for a test of the tester (RFC 8219 section 9.2.1).
    self_test: bool,
}

impl Settings {
    fn parse(params: &Value) -> Result<Self> {
        params::read(NAME, params, Self::read)
    }

    fn read(params: &mut Params<'_>) -> Result<Self> {
        let Some(rate_per_s) = params.integer("rate_per_s", 1..=MAX_RATE_PER_S)? else {
            return Err(params.refuse("`rate_per_s` must be given: questions a second"));
        };
        let Some(duration_ns) = params.integer("duration_ns", 1..=MAX_DURATION_NS)? else {
            return Err(params.refuse("`duration_ns` must be given"));
        };
        let Some(prefix) = params.text("prefix")?.and_then(prefix_of) else {
            return Err(params.refuse("`prefix` must be given: one that RFC 6052 has, such as 64:ff9b::/96"));
        };
        let timeout_ns = params.integer_or("timeout_ns", 1..=MAX_TIMEOUT_NS, MAX_TIMEOUT_NS)?;
        if rate_per_s * timeout_ns > MAX_WAITING * SECOND_NS {
            let reason = format!("`rate_per_s` times `timeout_ns` must come to {MAX_WAITING} questions at most");
            return Err(params.refuse(reason));
        }
        Ok(Self {
            rate: Interval::of_pps(rate_per_s),
            duration_ns,
            timeout_ns,
            prefix,
            self_test: params.flag("self_test", false)?,
        })
    }
}

fn prefix_of(text: &str) -> Option<Prefix6> {
    let (address, bits) = text.split_once('/')?;
    let prefix = Prefix6 { address: address.parse().ok()?, bits: bits.parse().ok()? };
    prefix.check().is_ok().then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn params_are_those_of_the_document() {
        let given = json!({"rate_per_s": 1000, "duration_ns": SECOND_NS, "prefix": "2001:db8:64::/96"});
        let settings = Settings::parse(&given).unwrap();
        assert_eq!((settings.timeout_ns, settings.self_test), (SECOND_NS, false));
        assert_eq!(settings.prefix.to_string(), "2001:db8:64::/96");
        let self_test =
            json!({"rate_per_s": 200_000, "duration_ns": 1, "prefix": "64:ff9b::/96", "timeout_ns": SECOND_NS / 4});
        assert_eq!(Settings::parse(&self_test).unwrap().timeout_ns, SECOND_NS / 4);
        for params in [
            json!({"rate_per_s": 1, "duration_ns": 1}),
            json!({"duration_ns": 1, "prefix": "64:ff9b::/96"}),
            json!({"rate_per_s": 1, "prefix": "64:ff9b::/96"}),
            json!({"rate_per_s": 50_001, "duration_ns": 1, "prefix": "64:ff9b::/96"}),
            json!({"rate_per_s": 200_001, "duration_ns": 1, "prefix": "64:ff9b::/96", "timeout_ns": 1}),
            json!({"rate_per_s": 1, "duration_ns": 1, "prefix": "64:ff9b::/96", "timeout_ns": 1_000_000_001}),
            json!({"rate_per_s": 1, "duration_ns": 1, "prefix": "2001:db8::/95"}),
            json!({"rate_per_s": 1, "duration_ns": 1, "prefix": "198.18.0.0/15"}),
        ] {
            assert_eq!(Settings::parse(&params).err().unwrap().code, Code::BadParams, "{params}");
        }
    }
}

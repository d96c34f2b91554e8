//! `tcp-connect`: handshakes of TCP. A connection is closed as soon as it is there; no data are sent.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_packet::{LocalAddress, Result};

use crate::limits::{self, AskedRepeats, SECOND_NS};
use crate::local::{self, LocalEnd};
use crate::outcome::{Ending, Outcome};
use crate::pacing::{Pacer, Schedule, least_interval_ns};
use crate::stream::{self, Attempt, Handshake};

const DEFAULT_TIMEOUT_NS: u64 = 3 * SECOND_NS;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpConnectRequest {
    address: IpAddr,
    port: u16,
    source: Option<LocalAddress>,
    count: Option<u64>,
    interval_ns: Option<u64>,
    timeout_ns: Option<u64>,
    /// The server is the user's own.
    #[serde(default)]
    mine: bool,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TcpConnectResult {
    /// The attempts, in their order.
    pub attempts: Vec<TcpConnectAttempt>,
}

/// An attempt to connect.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TcpConnectAttempt {
    /// Time at which it began.
    pub begun_ns: u64,
    /// Its end.
    #[serde(flatten)]
    pub ending: Ending,
    /// Time until the connection was there, or was refused; absent in silence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// This end.
    #[serde(flatten)]
    pub local: LocalEnd,
    /// The kernel's account.
    #[serde(flatten)]
    pub handshake: Handshake,
}

/// Connects as often as was asked for.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `system` where the kernel refuses the means.
pub fn run(request: &TcpConnectRequest, pacer: &Pacer) -> Result<TcpConnectResult> {
    let TcpConnectRequest { address, port, source, mine, .. } = *request;
    let asked = AskedRepeats { count: request.count, interval_ns: request.interval_ns, timeout_ns: request.timeout_ns };
    let repeats = asked.checked(least_interval_ns(mine), DEFAULT_TIMEOUT_NS)?;
    local::check_address(address, source)?;
    let peer = local::peer(address, limits::port(port)?, source);
    stream::rehearse();
    let mut schedule = Schedule::new(pacer, address, &repeats, mine);
    let attempts = (0..repeats.count).map(|_| {
        schedule.wait_for_next();
        let connected = stream::connect(peer, source, repeats.timeout_ns)?;
        let Attempt { socket, local, begun_ns, elapsed_ns, handshake } = connected;
        let ending = socket.map_or_else(|ending| ending, |_| Ending::of(Outcome::Answered));
        let elapsed_ns = (ending.outcome != Outcome::Silence).then_some(elapsed_ns);
        Ok(TcpConnectAttempt { begun_ns, ending, elapsed_ns, local, handshake })
    });
    Ok(TcpConnectResult { attempts: attempts.collect::<Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    use serde_json::{Value, json};

    use super::*;

    fn run_with(params: Value) -> Result<Value> {
        let request: TcpConnectRequest = serde_json::from_value(params).unwrap();
        run(&request, &Pacer::default()).map(|result| json!(result))
    }

    #[test]
    fn a_server_that_listens_answers_and_one_that_does_not_refuses() {
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let params = json!({"address": address, "port": port, "count": 3, "interval_ns": 0, "mine": true, "source": address});
            let result = run_with(params.clone()).unwrap();
            let attempts = result["attempts"].as_array().unwrap();
            assert_eq!(attempts.len(), 3);
            for attempt in attempts {
                assert_eq!((&attempt["outcome"], &attempt["interface"]), (&json!("answered"), &json!("lo")));
                assert_eq!((&attempt["source"], &attempt["retransmits"]), (&json!(address), &json!(0)));
                assert!(attempt["elapsed_ns"].is_u64() && attempt["mss_bytes"].as_u64().unwrap() > 1_000);
            }
            drop(listener);
            let refused = run_with(params).unwrap();
            assert_eq!(refused["attempts"][0]["outcome"], "refused");
        }
    }

    #[test]
    fn an_address_that_this_machine_does_not_send_to_has_no_route() {
        let result = run_with(json!({"address": "240.0.0.1", "port": 80, "source": "192.0.2.200"})).unwrap();
        assert_eq!(result["attempts"][0]["outcome"], "no-route");
        assert_eq!(result["attempts"][0]["reason"], "EADDRNOTAVAIL");
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_before_anything_is_sent() {
        for (params, words) in [
            (json!({"address": "127.0.0.1", "port": 0}), "`port`"),
            (json!({"address": "127.0.0.1", "port": 1, "interval_ns": 0}), "`interval_ns`"),
            (json!({"address": "127.0.0.1", "port": 1, "source": "::1"}), "different families"),
        ] {
            let error = run_with(params).unwrap_err();
            assert!(error.message.contains(words), "{error}");
        }
    }
}

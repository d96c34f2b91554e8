//! The limits on requests of clients, checked before anything is started.

use std::time::Duration;

use serde_json::{Map, Value};
use sixbench_traffic::Load;

use crate::error::{Code, Error};

/// Sessions that a client may have at a time.
pub const MAX_SESSIONS: usize = 8;
/// Time beyond `--max-duration`, for what comes before and after the measured time: a session that is older is
/// cancelled.
const GRACE: Duration = Duration::from_secs(30);
const MAX_STREAMS: u128 = 128;
/// Connections of `tcp-connect` and `tcp-crr` at once.
const MAX_IN_FLIGHT: u128 = 1_024;
/// Most bytes of each buffer that a parameter asks for.
const MAX_MEMORY_BYTES: u128 = 16 << 20;

/// The limit on amounts of bytes.
const MAX_BYTES: &str = "--max-rate for --max-duration";

/// The parameters of workloads that are limited.
const LIMITED: [&str; 14] = [
    "streams",
    "in_flight",
    "duration_ns",
    "warmup_ns",
    "bytes",
    "transfer_bytes",
    "message_bytes",
    "response_bytes",
    "sndbuf_bytes",
    "rcvbuf_bytes",
    "window_bytes",
    "rate_bps",
    "rate_pps",
    "datagram_bytes",
];

/// Beginnings of the names of parameters of traffic models.
const VARYING: [&str; 5] = ["gaps", "sizes", "on_", "off_", "trace"];

/// The server's options.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most bits of payload a second of a UDP flow.
    pub max_rate_bps: u64,
    /// Longest time of a session, in seconds.
    pub max_duration_s: u64,
}

impl Limits {
    /// The age at which a session is cancelled.
    pub fn max_age(&self) -> Duration {
        Duration::from_secs(self.max_duration_s) + GRACE
    }

    /// `--max-duration` as the protocol says it.
    pub fn max_duration_ns(&self) -> u64 {
        self.max_duration_s.saturating_mul(1_000_000_000)
    }

    /// Looks at the parameters of a session, of which the workload itself says whether they make sense, and at their
    /// load.
    ///
    /// # Errors
    /// `over-limit` with the limit and what would be within it.
    pub fn check(&self, workload: &str, params: &Map<String, Value>, load: &Load) -> Result<(), Error> {
        let asked = |key: &str| {
            debug_assert!(LIMITED.contains(&key), "{key} is not among the limited parameters");
            params.get(key).and_then(Value::as_u64).map(u128::from)
        };
        let streams = asked("streams").unwrap_or(1);
        within("streams", streams, MAX_STREAMS, "streams")?;
        within("in_flight", asked("in_flight").unwrap_or(1), MAX_IN_FLIGHT, "connections in flight")?;
        let time_ns = ["duration_ns", "warmup_ns"].into_iter().filter_map(asked).sum();
        within("duration_ns and warmup_ns together", time_ns, self.max_duration_ns().into(), "--max-duration")?;
        for key in ["bytes", "transfer_bytes"] {
            within_if_any(key, asked(key), self.max_bytes(), MAX_BYTES)?;
        }
        let at_a_time = load.transaction_bytes.map(u128::from);
        within_if_any("the bytes that are asked for at a time", at_a_time, self.max_bytes(), MAX_BYTES)?;
        for key in ["message_bytes", "response_bytes", "sndbuf_bytes", "rcvbuf_bytes", "window_bytes"] {
            within_if_any(key, asked(key), MAX_MEMORY_BYTES, "memory")?;
        }
        let messages = asked("message_bytes").map(|bytes| bytes * streams);
        within_if_any("message_bytes of all streams", messages, MAX_MEMORY_BYTES, "memory")?;
        if workload == "udp-stream" { self.check_rate(params, &asked) } else { Ok(()) }
    }

    /// Fails if a flow has a higher rate than the limit, or varies: then it has only a mean rate, which cannot be
    /// compared with a limit.
    fn check_rate(&self, params: &Map<String, Value>, asked: &impl Fn(&str) -> Option<u128>) -> Result<(), Error> {
        let varies = |key: &&String| VARYING.iter().any(|begin| key.starts_with(begin));
        if let Some(key) = params.keys().find(varies) {
            let message = format!(
                "this server takes only flows of equal datagrams at equal distances, of at most {} bit/s (its --max-rate); leave out `{key}`",
                self.max_rate_bps
            );
            return Err(over_limit(message, "--max-rate", self.max_rate_bps.into()));
        }
        let by_packets = || Some(asked("rate_pps")?.saturating_mul(asked("datagram_bytes")? * 8));
        match asked("rate_bps").or_else(by_packets) {
            Some(bps) => within("the rate in bit/s", bps, self.max_rate_bps.into(), "--max-rate"),
            None => {
                let message = format!(
                    "this server takes no UDP flow without `rate_bps` (or `rate_pps` and `datagram_bytes`); the most is {} bit/s (its --max-rate)",
                    self.max_rate_bps
                );
                Err(over_limit(message, "--max-rate", self.max_rate_bps.into()))
            }
        }
    }

    fn max_bytes(&self) -> u128 {
        u128::from(self.max_rate_bps) * u128::from(self.max_duration_s) / 8
    }
}

/// Accepts a value that is absent, or within the limit.
fn within_if_any(what: &str, asked: Option<u128>, most: u128, limit: &'static str) -> Result<(), Error> {
    asked.map_or(Ok(()), |asked| within(what, asked, most, limit))
}

fn within(what: &str, asked: u128, most: u128, limit: &'static str) -> Result<(), Error> {
    if asked <= most {
        return Ok(());
    }
    Err(over_limit(
        format!("{what}: {asked} is more than the {most} that this server allows (its limit of {limit})"),
        limit,
        most,
    ))
}

/// A refusal that names the limit and what would be within it.
pub fn over_limit(message: String, limit: &'static str, most: u128) -> Error {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    Error::new(Code::OverLimit, message).with("limit", limit).with("most", most)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: Limits = Limits { max_rate_bps: 1_000_000, max_duration_s: 10 };
    const SECOND_NS: u64 = 1_000_000_000;

    fn check(workload: &str, params: Value) -> Result<(), Error> {
        let load = crate::workloads::find(workload).expect("a workload").load(&params).expect("its parameters");
        let Value::Object(params) = params else { panic!("an object") };
        LIMITS.check(workload, &params, &load)
    }

    #[test]
    fn limited_parameters_are_parameters_of_workloads() {
        let workloads = crate::workloads::parameters().expect("the parameters");
        let names: Vec<&String> = workloads
            .as_object()
            .expect("workloads by name")
            .values()
            .flat_map(|parameters| parameters.as_object().expect("parameters by name").keys())
            .collect();
        for limited in LIMITED {
            assert!(names.iter().any(|name| *name == limited), "no workload has {limited}");
        }
        for begin in VARYING {
            assert!(names.iter().any(|name| name.starts_with(begin)), "no parameter begins with {begin}");
        }
    }

    #[test]
    fn what_is_within_the_limits_passes() {
        check("tcp-stream", json!({"duration_ns": 9 * SECOND_NS, "warmup_ns": SECOND_NS, "streams": 128}))
            .expect("within");
        check("tcp-stream", json!({"bytes": 1_250_000, "message_bytes": 131_072, "streams": 128})).expect("within");
        check("udp-stream", json!({"rate_bps": 1_000_000, "datagram_bytes": 9000, "count": 1})).expect("within");
        check("udp-stream", json!({"rate_pps": 1250, "datagram_bytes": 100, "count": 1})).expect("within");
        check("ping", json!({})).expect("within");
        check("http", json!({"duration_ns": SECOND_NS, "object_bytes": 125_000, "objects": 5, "in_flight": 2}))
            .expect("within");
        check("quic-stream", json!({"bytes": 1_250_000, "rcvbuf_bytes": 4 << 20})).expect("within");
    }

    #[test]
    fn what_exceeds_one_is_told_which_and_how_much_is_allowed() {
        for (workload, params, limit, most) in [
            ("tcp-stream", json!({"duration_ns": 10 * SECOND_NS, "warmup_ns": 1}), "--max-duration", 10 * SECOND_NS),
            ("tcp-stream", json!({"duration_ns": u64::MAX, "warmup_ns": u64::MAX}), "--max-duration", 10 * SECOND_NS),
            ("tcp-stream", json!({"bytes": 1_250_001}), "--max-rate for --max-duration", 1_250_000),
            ("pmtu", json!({"transfer_bytes": 1_250_001}), "--max-rate for --max-duration", 1_250_000),
            ("tcp-stream", json!({"streams": 129}), "streams", 128),
            ("tcp-crr", json!({"count": 9, "in_flight": 1_025}), "connections in flight", 1_024),
            ("tcp-stream", json!({"streams": 128, "message_bytes": 131_073}), "memory", 16 << 20),
            ("tcp-rr", json!({"response_bytes": 1 << 30}), "memory", 16 << 20),
            ("udp-rr", json!({"rcvbuf_bytes": 1 << 30}), "memory", 16 << 20),
            ("tls", json!({"duration_ns": 10 * SECOND_NS, "warmup_ns": 1}), "--max-duration", 10 * SECOND_NS),
            ("quic-connect", json!({"duration_ns": 11 * SECOND_NS}), "--max-duration", 10 * SECOND_NS),
            ("quic-stream", json!({"duration_ns": 11 * SECOND_NS}), "--max-duration", 10 * SECOND_NS),
            ("quic-stream", json!({"bytes": 1_250_001}), "--max-rate for --max-duration", 1_250_000),
            ("quic-stream", json!({"bytes": 1, "rcvbuf_bytes": 17 << 20}), "memory", 16 << 20),
            ("dns", json!({"duration_ns": 11 * SECOND_NS}), "--max-duration", 10 * SECOND_NS),
            ("http", json!({"duration_ns": 11 * SECOND_NS}), "--max-duration", 10 * SECOND_NS),
            ("http", json!({"count": 1, "object_bytes": 1_250_001}), "--max-rate for --max-duration", 1_250_000),
            (
                "http",
                json!({"count": 1, "object_bytes": 125_000, "objects": 5, "in_flight": 3}),
                "--max-rate for --max-duration",
                1_250_000,
            ),
            ("udp-stream", json!({"rate_bps": 1_000_001}), "--max-rate", 1_000_000),
            ("udp-stream", json!({"rate_pps": u64::MAX, "datagram_bytes": u64::MAX}), "--max-rate", 1_000_000),
            ("udp-stream", json!({"datagram_bytes": 100}), "--max-rate", 1_000_000),
            ("udp-stream", json!({"trace": "AAAA", "gaps_mean_ns": 1}), "--max-rate", 1_000_000),
            ("udp-stream", json!({"rate_bps": 1, "gaps": "gamma", "gaps_shape": 0.01}), "--max-rate", 1_000_000),
            ("udp-stream", json!({"rate_pps": 1, "datagram_bytes": 32, "on_ns": 9}), "--max-rate", 1_000_000),
            ("udp-stream", json!({"rate_bps": 1, "sizes_mean_bytes": 32}), "--max-rate", 1_000_000),
        ] {
            let failure = check(workload, params.clone()).expect_err(&params.to_string());
            assert_eq!((failure.code, &failure.context["limit"]), (Code::OverLimit, &json!(limit)), "{params}");
            assert_eq!(failure.context["most"], most, "{params}");
            assert!(failure.message.contains(&most.to_string()), "{}", failure.message);
        }
    }
}

//! `frames`: whole Ethernet frames past the hosts' IP layers, one way or both ways, at exact rates (RFC 2544, RFC 8219).

mod account;
mod direction;
mod hello;
mod layout;
mod next_hop;
mod ports;
mod receiver;
mod sender;
mod steps;

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use self::layout::{FCS_BYTES, MARK_BYTES, headers_bytes};
use self::ports::PortChoice;
use self::steps::Steps;
use super::pacing::{DEFAULT_SPIN_NS, MAX_PPS};
use super::udp_stream::Direction;
use crate::Result;
use crate::ledger::MAX_SEQUENCES;
use crate::params::{self, Limit, Params, SECOND_NS};
use crate::session::{Cancel, Endpoint, Server, Workload};

/// The workload.
pub struct Frames;

const NAME: &str = "frames";

/// RFC 2544 section 9.1, RFC 5180 section 5.1.
const SIZES: std::ops::RangeInclusive<u64> = 64..=9216;
/// The most that `spin_ns` may be.
const MAX_SPIN_NS: u64 = 1_000_000;
/// RFC 2544 section 23: frames that are under way when the last one has been sent.
const RESIDUAL_NS: u64 = 2 * SECOND_NS;
/// The most that `residual_ns` may be: `finish` waits no longer than 5 s.
const MAX_RESIDUAL_NS: u64 = 4 * SECOND_NS;

/// The latest that the rate may change: a day.
const MAX_STEP_NS: u64 = 24 * 3600 * SECOND_NS;

impl Workload for Frames {
    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        let example = json!({"count": 1, "frame_bytes": SIZES.start(), "rate_pps": 1});
        params::table(NAME, &example, |params| Settings::read(params, Ipv4Addr::LOCALHOST.into(), false))
    }

    fn serve(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>> {
        direction::serve(endpoint, Settings::parse(params, endpoint.address, false)?, cancel)
    }

    fn run(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Value> {
        direction::run(endpoint, &Settings::parse(params, endpoint.address, true)?, cancel)
    }
}

/// The parameters, checked.
#[derive(Debug, Clone, Copy)]
struct Settings {
    direction: Direction,
    /// Of the client's frames, with their check sequence.
    frame_bytes: usize,
    rate_pps: u64,
    rate_reverse_pps: u64,
    /// From that time on both directions have that rate.
    step: Option<(u64, u64)>,
    limit: Limit,
    warmup_ns: u64,
    ports: PortChoice,
    residual_ns: u64,
    /// The longest stretch of a wait that is spun.
    spin_ns: u64,
    /// Of the series.
    interval_ns: u64,
}

impl Settings {
    fn parse(params: &Value, address: IpAddr, is_client: bool) -> Result<Self> {
        params::read(NAME, params, |params| Self::read(params, address, is_client))
    }

    fn read(params: &mut Params<'_>, address: IpAddr, is_client: bool) -> Result<Self> {
        let direction = params.choice("direction", Direction::NAMES)?;
        let Some(frame_bytes) = params.size("frame_bytes", SIZES)? else {
            return Err(params.refuse("`frame_bytes` must be given, such as 64"));
        };
        let Some(rate_pps) = params.integer("rate_pps", 1..=MAX_PPS)? else {
            return Err(params.refuse("`rate_pps` must be given: frames a second"));
        };
        let rate_reverse_pps = params.integer("rate_reverse_pps", 1..=MAX_PPS)?.unwrap_or(rate_pps);
        let settings = Self {
            direction,
            frame_bytes,
            rate_pps,
            rate_reverse_pps,
            step: Self::read_step(params)?,
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            ports: PortChoice::read(params)?,
            residual_ns: params.integer_or("residual_ns", 0..=MAX_RESIDUAL_NS, RESIDUAL_NS)?,
            spin_ns: params.integer_or("spin_ns", 0..=MAX_SPIN_NS, DEFAULT_SPIN_NS)?,
            interval_ns: params.interval_ns()?,
        };
        let least = headers_bytes(address.is_ipv4()) + MARK_BYTES + FCS_BYTES;
        if is_client && frame_bytes < least {
            return Err(params.refuse(format!("`frame_bytes` must be at least {least} over IPv6, not {frame_bytes}")));
        }
        let most = |rate_pps| settings.due(rate_pps) > MAX_SEQUENCES;
        if most(rate_pps) || most(rate_reverse_pps) {
            return Err(params.refuse(format!("a flow has at most {MAX_SEQUENCES} frames; these would be more")));
        }
        Ok(settings)
    }

    fn read_step(params: &mut Params<'_>) -> Result<Option<(u64, u64)>> {
        let after_ns = params.integer("step_after_ns", 1..=MAX_STEP_NS)?;
        let rate_pps = params.integer("step_rate_pps", 1..=MAX_PPS)?;
        match (after_ns, rate_pps) {
            (None, None) => Ok(None),
            (Some(after_ns), Some(rate_pps)) => Ok(Some((after_ns, rate_pps))),
            _ => Err(params.refuse("`step_after_ns` and `step_rate_pps` must be given together")),
        }
    }

    /// When the frames of a flow of that rate are due.
    fn steps(&self, rate_pps: u64) -> Steps {
        Steps::new(rate_pps, self.step)
    }

    /// UDP's payload of all frames, of both directions.
    fn payload_bytes(&self, is_ipv4_client: bool) -> usize {
        self.frame_bytes - FCS_BYTES - headers_bytes(is_ipv4_client)
    }

    /// How many frames a flow of that rate has.
    fn due(&self, rate_pps: u64) -> u64 {
        match self.limit {
            Limit::Duration(ns) => self.steps(rate_pps).due_before(ns),
            Limit::Count(count) | Limit::Bytes(count) => count,
        }
    }

    /// How long a flow of that rate takes, its warm-up included.
    fn planned_ns(&self, rate_pps: u64) -> u64 {
        let measured_ns = self.limit.duration_ns().unwrap_or_else(|| self.steps(rate_pps).due_ns(self.due(rate_pps)));
        measured_ns.saturating_add(self.warmup_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn reason(params: Value, address: IpAddr) -> String {
        let error = Settings::parse(&params, address, true).unwrap_err();
        assert_eq!(error.code(), "bad-params");
        error.to_string()
    }

    #[test]
    fn frames_are_of_the_sizes_of_the_rfcs() {
        let with = |bytes: u64| json!({"frame_bytes": bytes, "rate_pps": 1, "count": 1});
        assert_eq!(Settings::parse(&with(64), V4, true).unwrap().payload_bytes(true), 18);
        assert_eq!(Settings::parse(&with(84), V6, true).unwrap().payload_bytes(false), 18);
        assert!(Settings::parse(&with(64), V6, false).is_ok(), "the server's own are 20 bytes longer");
        assert!(reason(with(64), V6).contains("`frame_bytes` must be at least 84 over IPv6, not 64"));
        assert!(reason(with(9217), V4).contains("from 64 to 9216, not 9217"));
        assert!(reason(json!({"rate_pps": 1, "count": 1}), V4).contains("`frame_bytes` must be given"));
        assert!(reason(json!({"frame_bytes": 64, "count": 1}), V4).contains("`rate_pps` must be given"));
        let many = json!({"frame_bytes": 64, "rate_pps": 1_000_000_000, "duration_ns": 5 * SECOND_NS});
        assert!(reason(many, V4).contains("at most 4294967296 frames"));
        let half = json!({"frame_bytes": 64, "rate_pps": 1, "count": 1, "step_rate_pps": 1});
        assert!(reason(half, V4).contains("must be given together"));
    }

    #[test]
    fn as_many_are_due_as_the_rate_says() {
        let params = json!({"frame_bytes": 64, "rate_pps": 3, "rate_reverse_pps": 5, "duration_ns": SECOND_NS});
        let settings = Settings::parse(&params, V4, true).unwrap();
        assert_eq!((settings.due(settings.rate_pps), settings.due(settings.rate_reverse_pps)), (3, 5));
        let counted = Settings::parse(&json!({"frame_bytes": 64, "rate_pps": 10, "count": 20}), V4, true).unwrap();
        assert_eq!((counted.due(10), counted.planned_ns(10)), (20, 2 * SECOND_NS));
        let params = json!({"frame_bytes": 64, "rate_pps": 10, "duration_ns": 2 * SECOND_NS,
            "step_after_ns": SECOND_NS, "step_rate_pps": 4});
        assert_eq!(Settings::parse(&params, V4, true).unwrap().due(10), 14);
    }
}

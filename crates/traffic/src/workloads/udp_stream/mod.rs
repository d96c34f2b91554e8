//! `udp-stream`: datagrams one way or both ways, at a rate or as fast as they go, and the account of their fate.

mod account;
mod direction;
pub(super) mod end;
mod receiver;
mod send_times;
mod sender;
mod together;

use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use self::together::Together;
use super::directions::Direction;
use super::pacing::{DEFAULT_SPIN_NS, Interval, MAX_BPS, MAX_PPS, Pace};
use crate::cancel::Cancel;
use crate::datagram::{HEADER_BYTES, MAX_PAYLOAD_BYTES_V4, max_payload_bytes};
use crate::df::Df;
use crate::ledger::MAX_SEQUENCES;
use crate::models::{Model, Plain, Round};
use crate::params::{self, Limit, Params, SECOND_NS};
use crate::session::{Endpoint, Server, TypedWorkload, only};
use crate::socket::Buffers;
use crate::{Error, Result};

/// The workload.
pub struct UdpStream;

const NAME: &str = "udp-stream";

impl TypedWorkload for UdpStream {
    type ClientResult = direction::ClientResult;
    type ServerResult = direction::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        let example = json!({"count": 1, "datagram_bytes": HEADER_BYTES});
        params::table(NAME, &example, |params| Settings::read(params, Ipv6Addr::LOCALHOST.into()))
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<direction::ServerResult>>> {
        let endpoint = only(NAME, endpoints)?;
        direction::serve(endpoint, Settings::parse(params, endpoint.address.ip())?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<direction::ClientResult> {
        let endpoint = only(NAME, endpoints)?;
        direction::run(endpoint, &Settings::parse(params, endpoint.address.ip())?, cancel)
    }
}

/// The parameters, checked.
#[derive(Debug, Clone)]
struct Settings {
    direction: Direction,
    traffic: Traffic,
    limit: Limit,
    warmup_ns: u64,
    buffers: Buffers,
    df: Df,
    together: Together,
    /// The longest stretch of a wait that is spun.
    spin_ns: u64,
    /// Interval of the series.
    interval_ns: u64,
    /// True if both ends note each datagram.
    packet_log: bool,
}

/// The sizes and times of datagrams.
#[derive(Debug, Clone)]
enum Traffic {
    /// Datagrams of one size, as fast as the socket takes them.
    Unpaced(usize),
    /// Datagrams of one size at one distance.
    Constant(Interval, usize),
    /// Whatever a model says.
    Model(Model),
}

/// The most that `spin_ns` may be.
const MAX_SPIN_NS: u64 = 1_000_000;
/// More datagrams a second than one socket takes on any machine: bounds the sequence numbers of a flow without a rate.
const IMPLAUSIBLE_PPS: u64 = 100_000_000;

impl Settings {
    fn parse(params: &Value, address: IpAddr) -> Result<Self> {
        params::read(NAME, params, |params| Self::read(params, address))
    }

    fn read(params: &mut Params<'_>, address: IpAddr) -> Result<Self> {
        let settings = Self {
            direction: params.choice("direction", Direction::NAMES)?,
            traffic: traffic(params, address)?,
            limit: params.limit(&["duration_ns", "bytes", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            buffers: Buffers::read(params)?,
            df: Df::read_with_atomic(params, address)?,
            together: Together::read(params)?,
            spin_ns: params.integer_or("spin_ns", 0..=MAX_SPIN_NS, DEFAULT_SPIN_NS)?,
            interval_ns: params.interval_ns()?,
            packet_log: params.flag("packet_log", false)?,
        };
        if matches!(settings.limit, Limit::Bytes(_)) && settings.payloads().start() != settings.payloads().end() {
            return Err(params.refuse("`bytes` cannot end a flow of datagrams of several sizes; give `count`"));
        }
        if settings.df == Df::Atomic && settings.together.takes_super_packets() {
            return Err(params.refuse("`segmentation` cannot be `always`: atomic fragments are not cut by the kernel"));
        }
        if settings.planned().or(settings.expected()).is_some_and(|count| count > MAX_SEQUENCES) {
            return Err(params.refuse(format!("a flow has at most {MAX_SEQUENCES} datagrams; these would be more")));
        }
        Ok(settings)
    }

    /// True if datagrams go as fast as the socket takes them.
    fn is_unpaced(&self) -> bool {
        matches!(self.traffic, Traffic::Unpaced(_))
    }

    /// The pace of a phase.
    fn pace(&self, round: Round) -> Pace {
        match &self.traffic {
            Traffic::Unpaced(bytes) => Pace::Unpaced(*bytes),
            Traffic::Constant(interval, bytes) => Pace::Scheduled(Box::new(interval.of_payload_bytes(*bytes))),
            Traffic::Model(model) => Pace::Scheduled(Box::new(model.datagrams(round))),
        }
    }

    /// The payloads that datagrams of this flow may have.
    fn payloads(&self) -> RangeInclusive<usize> {
        match &self.traffic {
            Traffic::Unpaced(bytes) | Traffic::Constant(_, bytes) => *bytes..=*bytes,
            Traffic::Model(model) => model.min_bytes()..=model.max_bytes(),
        }
    }

    /// An estimate of the number of datagrams that a model has in its time.
    fn expected(&self) -> Option<u64> {
        match (self.limit, &self.traffic) {
            (Limit::Duration(ns), Traffic::Model(model)) => Some((ns as f64 / model.mean_gap_ns()) as u64),
            _ => None,
        }
    }

    /// Number of datagrams of the measured flow, where it is known before.
    fn planned(&self) -> Option<u64> {
        match (self.limit, &self.traffic) {
            (Limit::Count(count), _) => Some(count),
            (Limit::Bytes(bytes), _) => Some(bytes.div_ceil(*self.payloads().end() as u64)),
            (Limit::Duration(ns), Traffic::Constant(interval, _)) => Some(interval.due_before(ns)),
            (Limit::Duration(_), _) => None,
        }
    }

    /// True if a silence of any length may be part of the flow.
    fn may_be_slow(&self) -> bool {
        self.limit.duration_ns().is_none() && !matches!(self.traffic, Traffic::Unpaced(_))
    }

    /// A bound of the measured flow's sequence numbers.
    fn most(&self) -> u64 {
        let seconds = self.limit.duration_ns().unwrap_or(0) / SECOND_NS + 1;
        self.planned().unwrap_or(seconds.saturating_mul(IMPLAUSIBLE_PPS)).min(MAX_SEQUENCES)
    }
}

fn traffic(params: &mut Params, address: IpAddr) -> Result<Traffic> {
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let most = max_payload_bytes(address);
    let bytes = params
        .size("datagram_bytes", HEADER_BYTES as u64..=most)
        .map_err(|error| Error::bad_params(format!("{error} (the UDP payload that {family} can carry)")))?;
    let rate_pps = params.integer("rate_pps", 1..=MAX_PPS)?;
    let rate_bps = params.integer("rate_bps", 1..=MAX_BPS)?;
    if rate_pps.is_some() && rate_bps.is_some() {
        return Err(params.refuse("only one of `rate_pps`, `rate_bps` may be given"));
    }
    // The drawn sizes are the same in both families.
    let drawn_bytes = HEADER_BYTES as u64..=MAX_PAYLOAD_BYTES_V4;
    if let Some(model) = Model::read(params, Plain { datagram_bytes: bytes, rate_pps, rate_bps }, drawn_bytes)? {
        return Ok(Traffic::Model(model));
    }
    let bytes = bytes.ok_or_else(|| {
        params.refuse(format!("`datagram_bytes` must be given ({HEADER_BYTES} to {most} over {family})"))
    })?;
    Ok(match (rate_pps, rate_bps) {
        (None, None) => Traffic::Unpaced(bytes),
        (Some(pps), _) => Traffic::Constant(Interval::of_pps(pps), bytes),
        (None, Some(bps)) => Traffic::Constant(Interval::of_bps(bps, bytes), bytes),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::Code;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    fn reason(params: Value, address: IpAddr) -> String {
        let error = Settings::parse(&params, address).unwrap_err();
        assert_eq!(error.code, Code::BadParams);
        error.to_string()
    }

    #[test]
    fn each_family_has_its_largest_datagram() {
        assert!(Settings::parse(&json!({"datagram_bytes": 65507, "count": 1}), V4).is_ok());
        assert!(Settings::parse(&json!({"datagram_bytes": 65527, "count": 1}), V6).is_ok());
        assert_eq!(
            reason(json!({"datagram_bytes": 65508, "count": 1}), V4),
            "parameters of udp-stream: `datagram_bytes` must be an integer from 32 to 65507, not 65508 (the UDP payload \
             that IPv4 can carry)"
        );
        assert!(reason(json!({"datagram_bytes": 31, "count": 1}), V6).contains("from 32 to 65527, not 31"));
        assert!(reason(json!({"count": 1}), V6).contains("`datagram_bytes` must be given (32 to 65527 over IPv6)"));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let both = json!({"datagram_bytes": 64, "count": 1, "rate_pps": 1, "rate_bps": 1});
        assert!(reason(both, V4).contains("only one of `rate_pps`, `rate_bps`"));
        assert!(reason(json!({"datagram_bytes": 64}), V4).contains("exactly one of `duration_ns`, `bytes`, `count`"));
        assert!(reason(json!({"datagram_bytes": 64, "count": 1, "rate": 1}), V4).contains("unknown key \"rate\""));
        let many = json!({"datagram_bytes": 64, "rate_pps": 1_000_000_000, "duration_ns": 5 * SECOND_NS});
        assert!(reason(many, V4).contains("at most 4294967296 datagrams"));
        let sizes = json!({"datagram_bytes": 64, "sizes": "exponential", "rate_pps": 9, "bytes": 999});
        assert!(reason(sizes, V4).contains("`bytes` cannot end a flow of datagrams of several sizes; give `count`"));
        let unpaced = json!({"datagram_bytes": 64, "sizes": "exponential", "count": 9});
        assert!(reason(unpaced, V4).contains("exactly one of `gaps_mean_ns`, `rate_pps`, `rate_bps` must be given"));
    }

    #[test]
    fn atomic_fragments_are_of_ipv6_and_sent_one_by_one() {
        let atomic = json!({"datagram_bytes": 64, "count": 1, "df": "atomic"});
        assert!(Settings::parse(&atomic, V6).is_ok());
        assert_eq!(
            reason(atomic, V4),
            "parameters of udp-stream: `df` cannot be `atomic` over IPv4: only IPv6 has atomic fragments (RFC 6946)"
        );
        let cut = json!({"datagram_bytes": 64, "count": 1, "df": "atomic", "segmentation": "always"});
        assert!(reason(cut, V6).contains("`segmentation` cannot be `always`: atomic fragments are not cut"));
    }

    #[test]
    fn the_plan_follows_the_limit() {
        let planned = |params| Settings::parse(&params, V4).unwrap().planned();
        assert_eq!(planned(json!({"datagram_bytes": 100, "count": 7})), Some(7));
        assert_eq!(planned(json!({"datagram_bytes": 100, "bytes": 701})), Some(8));
        assert_eq!(planned(json!({"datagram_bytes": 100, "rate_pps": 10, "duration_ns": SECOND_NS})), Some(10));
        assert_eq!(planned(json!({"datagram_bytes": 100, "duration_ns": SECOND_NS})), None);
    }
}

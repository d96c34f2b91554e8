//! `frames`: whole Ethernet frames past the hosts' IP layers, one way or both ways, at exact rates (RFC 2544, RFC
//! 8219).

mod account;
mod direction;
mod ends;
mod engine;
mod extensions;
mod forms;
mod hello;
mod layout;
mod networks;
mod next_hop;
mod ports;
mod reading;
mod receiver;
mod sender;
mod session_socket;
mod stamps;
mod steps;

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use self::ends::Ends;
use self::engine::Engine;
use self::extensions::Extensions;
use self::forms::NativeShare;
use self::layout::{FCS_BYTES, MARK_BYTES, headers_bytes};
use self::networks::{MAX_NETWORKS, Networks};
use self::ports::PortChoice;
use self::steps::Steps;
use super::directions::Direction;
use super::pacing::{DEFAULT_SPIN_NS, MAX_PPS};
use crate::Result;
use crate::cancel::Cancel;
use crate::error::bad_params;
use crate::ledger::MAX_SEQUENCES;
use crate::params::{self, Limit, Params, SECOND_NS};
use crate::session::{Endpoint, Server, TypedWorkload};

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

impl TypedWorkload for Frames {
    type ClientResult = direction::ClientResult;
    type ServerResult = direction::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        let example = json!({"count": 1, "frame_bytes": SIZES.start(), "rate_pps": 1});
        params::table(NAME, &example, |params| Settings::read(params, Ipv4Addr::LOCALHOST.into(), false))
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<direction::ServerResult>>> {
        let settings = Settings::of_session(endpoints, params, false)?;
        direction::serve(Ends::new(endpoints, &settings, false)?, settings, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<direction::ClientResult> {
        let settings = Settings::of_session(endpoints, params, true)?;
        direction::run(&Ends::new(endpoints, &settings, true)?, &settings, cancel)
    }
}

/// The parameters, checked.
#[derive(Debug, Clone, Copy)]
struct Settings {
    direction: Direction,
    /// Size of the client's frames, with their check sequence.
    frame_bytes: usize,
    rate_pps: u64,
    rate_reverse_pps: u64,
    /// The time from which on both directions have another rate, and that rate.
    step: Option<(u64, u64)>,
    limit: Limit,
    warmup_ns: u64,
    ports: PortChoice,
    /// Networks behind each host, besides its own, to which the other host's frames go.
    client_networks: Option<Networks>,
    server_networks: Option<Networks>,
    native: NativeShare,
    /// Extension headers of frames over IPv6.
    extensions: Extensions,
    engine: Engine,
    /// True if the interface is to report, if it can, when it has sent and received tagged frames.
    hardware_stamps: bool,
    residual_ns: u64,
    /// The longest stretch of a wait that is spun.
    spin_ns: u64,
    /// Interval of the series.
    interval_ns: u64,
}

impl Settings {
    /// The parameters of a session between these addresses, the path's own first.
    fn of_session(endpoints: &[Endpoint], params: &Value, is_client: bool) -> Result<Self> {
        let Some(path) = endpoints.first() else {
            return Err(bad_params(NAME, "there is no address"));
        };
        Self::parse(params, path.address.ip(), is_client)
    }

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
        let networks = params.integer_or("networks", 1..=MAX_NETWORKS, 1)?;
        let settings = Self {
            direction,
            frame_bytes,
            rate_pps,
            rate_reverse_pps,
            step: Self::read_step(params)?,
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            ports: PortChoice::read(params)?,
            client_networks: Self::read_networks(params, "client_networks", networks, address)?,
            server_networks: Self::read_networks(params, "server_networks", networks, address)?,
            native: NativeShare::new(params.number_or("native_ratio", 0.0..=1.0, 0.0)?),
            extensions: params.choice("extension_headers", Extensions::NAMES)?,
            engine: params.choice("engine", Engine::NAMES)?,
            hardware_stamps: params.flag("hardware_stamps", false)?,
            residual_ns: params.integer_or("residual_ns", 0..=MAX_RESIDUAL_NS, RESIDUAL_NS)?,
            spin_ns: params.integer_or("spin_ns", 0..=MAX_SPIN_NS, DEFAULT_SPIN_NS)?,
            interval_ns: params.interval_ns()?,
        };
        let least = settings.overhead_bytes(address.is_ipv4()) + MARK_BYTES;
        if is_client && frame_bytes < least {
            return Err(params.refuse(format!("`frame_bytes` must be at least {least}, not {frame_bytes}")));
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

    /// The networks behind a host besides its own, of the family of the session's addresses. The first one is given
    /// where there is more than one network.
    fn read_networks(
        params: &mut Params<'_>,
        name: &'static str,
        networks: u64,
        address: IpAddr,
    ) -> Result<Option<Networks>> {
        let first = params.text(name)?;
        let Some(first) = first.filter(|_| networks > 1) else {
            let is_given = first.is_some();
            return match (is_given, networks > 1) {
                (true, _) => Err(params.refuse(format!("`{name}` belongs to `networks` above 1"))),
                (false, true) => Err(params.refuse(format!("`networks` needs `{name}`, the first of them"))),
                (false, false) => Ok(None),
            };
        };
        let others = Networks::parse(first, networks - 1).filter(|others| others.is_ipv4() == address.is_ipv4());
        others.map(Some).ok_or_else(|| {
            let family = if address.is_ipv4() { 4 } else { 6 };
            params.refuse(format!("`{name}` must be a prefix of IPv{family} that the others can follow, not {first:?}"))
        })
    }

    /// Length of all of a frame that is not UDP's payload.
    fn overhead_bytes(&self, is_ipv4: bool) -> usize {
        headers_bytes(is_ipv4) + FCS_BYTES + if is_ipv4 { 0 } else { self.extensions.bytes() }
    }

    /// The due times of the frames of a flow of that rate.
    fn steps(&self, rate_pps: u64) -> Steps {
        Steps::new(rate_pps, self.step)
    }

    /// The rate of the frames that come to a side.
    fn incoming_pps(&self, is_client: bool) -> u64 {
        if is_client { self.rate_reverse_pps } else { self.rate_pps }
    }

    /// Length of UDP's payload of all frames, of both directions.
    fn payload_bytes(&self, is_ipv4_client: bool) -> usize {
        self.frame_bytes - self.overhead_bytes(is_ipv4_client)
    }

    /// Number of frames in a flow of that rate.
    fn due(&self, rate_pps: u64) -> u64 {
        match self.limit {
            Limit::Duration(ns) => self.steps(rate_pps).due_before(ns),
            Limit::Count(count) | Limit::Bytes(count) => count,
        }
    }

    /// Duration of a flow of that rate, its warm-up included.
    fn planned_ns(&self, rate_pps: u64) -> u64 {
        let measured_ns = self.limit.duration_ns().unwrap_or_else(|| self.steps(rate_pps).due_ns(self.due(rate_pps)));
        measured_ns.saturating_add(self.warmup_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn reason(params: Value, address: IpAddr) -> String {
        let error = Settings::parse(&params, address, true).unwrap_err();
        assert_eq!(error.code, Code::BadParams);
        error.to_string()
    }

    #[test]
    fn frames_are_of_the_sizes_of_the_rfcs() {
        let with = |bytes: u64| json!({"frame_bytes": bytes, "rate_pps": 1, "count": 1});
        assert_eq!(Settings::parse(&with(64), V4, true).unwrap().payload_bytes(true), 18);
        assert_eq!(Settings::parse(&with(84), V6, true).unwrap().payload_bytes(false), 18);
        assert!(Settings::parse(&with(64), V6, false).is_ok(), "the server's own are 20 bytes longer");
        assert!(reason(with(64), V6).contains("`frame_bytes` must be at least 84, not 64"));
        assert!(reason(with(9217), V4).contains("from 64 to 9216, not 9217"));
        assert!(reason(json!({"rate_pps": 1, "count": 1}), V4).contains("`frame_bytes` must be given"));
        assert!(reason(json!({"frame_bytes": 64, "count": 1}), V4).contains("`rate_pps` must be given"));
        let many = json!({"frame_bytes": 64, "rate_pps": 1_000_000_000, "duration_ns": 5 * SECOND_NS});
        assert!(reason(many, V4).contains("at most 4294967296 frames"));
        let half = json!({"frame_bytes": 64, "rate_pps": 1, "count": 1, "step_rate_pps": 1});
        assert!(reason(half, V4).contains("must be given together"));
    }

    #[test]
    fn extension_headers_are_part_of_the_size() {
        let with = |bytes: u64, headers: &str| json!({"frame_bytes": bytes, "rate_pps": 1, "count": 1, "extension_headers": headers});
        assert_eq!(Settings::parse(&with(128, "chain"), V6, true).unwrap().payload_bytes(false), 22);
        assert_eq!(Settings::parse(&with(128, "none"), V6, true).unwrap().payload_bytes(false), 62);
        assert!(reason(with(123, "chain"), V6).contains("at least 124, not 123"));
        assert!(reason(with(128, "all"), V6).contains("must be one of none, hop-by-hop"));
    }

    #[test]
    fn networks_have_the_family_of_the_session() {
        let with = |networks: u64, first: Option<&str>| {
            let mut params = json!({"frame_bytes": 84, "rate_pps": 1, "count": 1, "networks": networks});
            for name in ["client_networks", "server_networks"] {
                params[name] = first.into();
            }
            if first.is_none() {
                let params = params.as_object_mut().unwrap();
                params.remove("client_networks");
                params.remove("server_networks");
            }
            params
        };
        let settings = Settings::parse(&with(256, Some("198.19.0.0/25")), V4, true).unwrap();
        assert_eq!(settings.server_networks.unwrap().addresses().count(), 255);
        assert!(Settings::parse(&with(1, None), V4, true).unwrap().client_networks.is_none());
        assert!(reason(with(256, None), V4).contains("`networks` needs `client_networks`"));
        assert!(reason(with(1, Some("198.19.0.0/25")), V4).contains("belongs to `networks` above 1"));
        assert!(reason(with(256, Some("198.19.0.0/25")), V6).contains("must be a prefix of IPv6"));
    }

    #[test]
    fn native_frames_need_the_other_family() {
        let params = json!({"frame_bytes": 84, "rate_pps": 1, "count": 1, "native_ratio": 0.1});
        let settings = Settings::parse(&params, V6, true).unwrap();
        let ends = [V6, V4].map(Endpoint::on_loopback);
        assert!(Ends::new(&ends, &settings, true).is_ok());
        for wrong in [&ends[..1], &[ends[0].clone(), ends[0].clone()][..]] {
            assert_eq!(Ends::new(wrong, &settings, true).err().unwrap().code, Code::BadParams);
        }
        let none = Settings::parse(&json!({"frame_bytes": 84, "rate_pps": 1, "count": 1}), V6, true).unwrap();
        assert!(Ends::new(&ends, &none, true).is_err());
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

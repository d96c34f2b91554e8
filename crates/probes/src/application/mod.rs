//! `application`: what clients of the Web do at a server, from this side alone: handshakes of TLS and QUIC, and objects
//! by HTTP/1.1, 2 and 3. Each attempt has a connection of its own, and follows no redirections.

mod attempt;
pub mod head;
mod http;
mod layers;
mod quic;
mod trust;

use std::cell::RefCell;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use hyper::http::uri::PathAndQuery;
use rustls::pki_types::ServerName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_packet::{Error, LocalAddress, Result};
use tokio::time::timeout;

pub use self::attempt::ApplicationAttempt;
use self::attempt::Tried;
use self::trust::Trust;
use crate::limits::{self, AskedRepeats, Repeats, SECOND_NS};
use crate::local;
use crate::outcome::{Ending, Outcome};
use crate::pacing::{Pacer, Schedule, least_interval_ns};
use crate::stream;

const DEFAULT_TIMEOUT_NS: u64 = 10 * SECOND_NS;
/// Bytes of a body that are read, at most.
const MAX_BODY_BYTES: u64 = 1 << 20;
/// The longest path: what all servers take (RFC 9110 section 4.1).
const MAX_PATH_BYTES: usize = 8_000;
/// The name of the program in its requests (RFC 9110 section 10.1.5).
const USER_AGENT: &str =
    concat!("sixbench/", env!("CARGO_PKG_VERSION"), " (+compares IPv4 with IPv6; at most one request a second)");

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationRequest {
    workload: Workload,
    version: Option<Version>,
    address: IpAddr,
    port: Option<u16>,
    source: Option<LocalAddress>,
    server_name: String,
    path: Option<String>,
    roots: Option<Roots>,
    count: Option<u64>,
    interval_ns: Option<u64>,
    timeout_ns: Option<u64>,
    max_bytes: Option<u64>,
    /// HTTP/1.1 without TLS.
    #[serde(default)]
    clear: bool,
    /// The server is the user's own.
    #[serde(default)]
    mine: bool,
}

/// The work at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Workload {
    Tls,
    Http,
    QuicConnect,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Version {
    #[serde(rename = "1.1")]
    One,
    #[serde(rename = "2")]
    Two,
    #[serde(rename = "3")]
    Three,
}

/// The authorities that are trusted.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Roots {
    /// Those of this machine.
    System,
    /// Those in a file in PEM format.
    File(PathBuf),
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApplicationResult {
    /// The attempts, in their order.
    pub attempts: Vec<ApplicationAttempt>,
    /// The reason why there are fewer attempts than were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// The reason why attempts were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The server has had enough (429), or asked to be left alone (Retry-After).
    RetryAfter,
}

/// The work of each attempt, checked.
struct Plan {
    layers: Layers,
    address: IpAddr,
    port: u16,
    source: Option<LocalAddress>,
    name: ServerName<'static>,
    /// The name in requests, with the port where it is another than that of the scheme.
    authority: String,
    path: String,
    timeout_ns: u64,
    max_bytes: u64,
}

/// The layers of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layers {
    /// TLS over TCP, and nothing over it.
    Tls,
    /// HTTP/1.1 over TCP alone.
    ClearHttp1,
    /// HTTP/1.1 over TLS.
    Http1,
    /// HTTP/2 over TLS.
    Http2,
    /// HTTP/3 over QUIC.
    Http3,
    /// QUIC, and nothing over it.
    Quic,
}

impl Layers {
    /// The protocols that are offered (ALPN, RFC 7301).
    fn protocols(self) -> Vec<Vec<u8>> {
        let offered: &[&[u8]] = match self {
            Self::Tls => &[b"h2", b"http/1.1"],
            Self::ClearHttp1 => &[],
            Self::Http1 => &[b"http/1.1"],
            Self::Http2 => &[b"h2"],
            Self::Http3 | Self::Quic => &[b"h3"],
        };
        offered.iter().map(|protocol| protocol.to_vec()).collect()
    }

    fn is_over_quic(self) -> bool {
        matches!(self, Self::Http3 | Self::Quic)
    }
}

/// Does it as often as was asked for, unless the server asks to be left alone.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `refused` where the server is left alone, `system` where the kernel
/// refuses the means.
pub fn run(request: &ApplicationRequest, pacer: &Pacer) -> Result<ApplicationResult> {
    let (plan, repeats) = Plan::checked(request)?;
    let trust = match &request.roots {
        _ if request.clear => None,
        Some(Roots::File(path)) => Some(Trust::in_file(path)?),
        Some(Roots::System) | None => Some(Trust::of_system()?),
    };
    if !request.mine {
        pacer.check(plan.address)?;
    }
    stream::rehearse();
    let mut schedule = Schedule::new(pacer, plan.address, &repeats, request.mine);
    let mut result = ApplicationResult { attempts: Vec::new(), stopped: None };
    for _ in 0..repeats.count {
        schedule.wait_for_next();
        // The server may have asked for it in its answer to another request meanwhile.
        let refusal = if request.mine { None } else { pacer.check(plan.address).err() };
        if let Some(refusal) = refusal {
            if result.attempts.is_empty() {
                return Err(refusal);
            }
            result.stopped = Some(Stopped::RetryAfter);
            break;
        }
        let attempt = layers::attempt(&plan, trust.as_ref())?;
        if !request.mine {
            let received_bytes = attempt.received_bytes.or(attempt.body_bytes);
            pacer.charge(plan.address, received_bytes.unwrap_or(0));
        }
        let (status, retry_after_s) = (attempt.head.status, attempt.head.retry_after_s);
        result.attempts.push(attempt);
        let asks_for_rest = status == Some(429) || (status == Some(503) && retry_after_s.is_some());
        if asks_for_rest && !request.mine {
            pacer.hold(plan.address, retry_after_s.unwrap_or(0));
            result.stopped = ((result.attempts.len() as u64) < repeats.count).then_some(Stopped::RetryAfter);
            break;
        }
    }
    Ok(result)
}

impl Plan {
    fn checked(request: &ApplicationRequest) -> Result<(Self, Repeats)> {
        let refuse = |reason: String| Err(Error::bad_params(reason));
        let layers = match (request.workload, request.version, request.clear) {
            (Workload::Tls, None, false) => Layers::Tls,
            (Workload::QuicConnect, None, false) => Layers::Quic,
            (Workload::Http, None | Some(Version::One), true) => Layers::ClearHttp1,
            (Workload::Http, None | Some(Version::One), false) => Layers::Http1,
            (Workload::Http, Some(Version::Two), false) => Layers::Http2,
            (Workload::Http, Some(Version::Three), false) => Layers::Http3,
            (Workload::Http, _, true) => return refuse("`clear` goes with HTTP/1.1 alone".to_owned()),
            (_, _, true) => return refuse("`clear` goes with `http` alone".to_owned()),
            (_, Some(_), _) => return refuse("`version` goes with `http` alone".to_owned()),
        };
        let asked =
            AskedRepeats { count: request.count, interval_ns: request.interval_ns, timeout_ns: request.timeout_ns };
        let repeats = asked.checked(least_interval_ns(request.mine), DEFAULT_TIMEOUT_NS)?;
        local::check_address(request.address, request.source)?;
        let usual_port = if request.clear { 80 } else { 443 };
        let port = limits::port(request.port.unwrap_or(usual_port))?;
        let text = request.server_name.trim_end_matches('.');
        let name = ServerName::try_from(text.to_owned())
            .map_err(|error| Error::bad_params(format!("`server_name` {text} is no name or address: {error}")))?;
        let path = request.path.clone().unwrap_or_else(|| "/".to_owned());
        let is_path = path.starts_with('/') && path.len() <= MAX_PATH_BYTES && path.parse::<PathAndQuery>().is_ok();
        if !is_path {
            return refuse(format!("`path` must begin with / and be one of HTTP, not {path:.100}"));
        }
        let max_bytes = limits::within("max_bytes", request.max_bytes.unwrap_or(MAX_BODY_BYTES), 0..=MAX_BODY_BYTES)?;
        let host = if text.contains(':') { format!("[{text}]") } else { text.to_owned() };
        let authority = if port == usual_port { host } else { format!("{host}:{port}") };
        let (address, source, timeout_ns) = (request.address, request.source, repeats.timeout_ns);
        Ok((Self { layers, address, port, source, name, authority, path, timeout_ns, max_bytes }, repeats))
    }

    /// Waits for the work until the time of the attempt is over.
    async fn within_limit(
        &self,
        attempt: &RefCell<ApplicationAttempt>,
        work: impl Future<Output = Tried<()>>,
    ) -> Tried<()> {
        let left_ns = self.timeout_ns.saturating_sub(attempt.borrow().elapsed_ns());
        match timeout(Duration::from_nanos(left_ns), work).await {
            Ok(ended) => ended,
            // All was there, and only the close took longer.
            Err(_) if attempt.borrow().total_ns.is_some() => Ok(()),
            Err(_) => Err(Ending::of(Outcome::Silence)),
        }
    }

    /// The present time, for dates in heads.
    fn now() -> SystemTime {
        SystemTime::now()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let refused = |more: Value| {
            let mut request = json!({"workload": "http", "address": "192.0.2.1", "server_name": "www.example.org"});
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let request: ApplicationRequest = serde_json::from_value(request).unwrap();
            Plan::checked(&request).map(|_| ()).map_err(|error| error.message)
        };
        assert_eq!(refused(json!({})), Ok(()));
        assert_eq!(refused(json!({"server_name": "192.0.2.1", "version": "3"})), Ok(()));
        for (more, words) in [
            (json!({"version": "2", "clear": true}), "`clear` goes with HTTP/1.1"),
            (json!({"workload": "tls", "version": "2"}), "`version` goes with `http`"),
            (json!({"workload": "tls", "clear": true}), "`clear` goes with `http`"),
            (json!({"server_name": "a b"}), "`server_name`"),
            (json!({"path": "index.html"}), "`path`"),
            (json!({"path": "/a b"}), "`path`"),
            (json!({"path": "/\r\nX: y"}), "`path`"),
            (json!({"max_bytes": (1 << 20) + 1}), "`max_bytes`"),
            (json!({"interval_ns": 1}), "`interval_ns`"),
            (json!({"source": "::1"}), "families"),
        ] {
            let error = refused(more).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_port_is_in_the_authority_where_it_is_unusual() {
        let authority = |port: u16, clear: bool, name: &str| {
            let request = json!({
                "workload": "http", "address": "192.0.2.1", "server_name": name, "port": port, "clear": clear,
            });
            Plan::checked(&serde_json::from_value(request).unwrap()).unwrap().0.authority
        };
        assert_eq!(authority(443, false, "a.example."), "a.example");
        assert_eq!(authority(8443, false, "a.example"), "a.example:8443");
        assert_eq!(authority(80, true, "2001:db8::1"), "[2001:db8::1]");
    }
}

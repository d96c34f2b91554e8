//! `http`: pages of objects by HTTP/1.1, 2 and 3.
//!
//! A page is a list of objects, some of which wait for others; the server makes up their bodies. hyper speaks HTTP/1.1
//! and HTTP/2 over TLS 1.3 or over TCP alone, h3 speaks HTTP/3 over QUIC.

mod account;
mod body;
mod client;
pub(crate) mod page;
mod server;
mod session;

use hyper::Version as HttpVersion;
use serde_json::{Value, json};
use sixbench_traffic::params::{self, Limit, Params, SECOND_NS};
use sixbench_traffic::{Cancel, Endpoint, Load, Result, Server, TypedWorkload, only};

use self::page::{MAX_OBJECT_BYTES, MAX_OBJECTS, Page};
use crate::accepting::MAX_OPEN;
use crate::door::Carrier;

const NAME: &str = "http";
const CHAIN_BYTES: usize = 1_536;
const MAX_IN_FLIGHT: u64 = 256;
const MAX_PARALLEL: u64 = 256;
const DEFAULT_OBJECT_BYTES: u64 = 10_240;
/// Connections to a host by HTTP/1.1, as browsers open them.
const DEFAULT_CONNECTIONS: u64 = 6;
/// Streams of a connection by HTTP/2 and 3 (the least that RFC 9113 section 6.5.2 and RFC 9114 section 6.1 recommend).
const DEFAULT_STREAMS: u64 = 100;

/// The workload.
pub struct Http;

impl TypedWorkload for Http {
    type ClientResult = account::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({"count": 1}), Settings::read)
    }

    /// The connections and the bodies of the pages in flight.
    fn load(&self, params: &Value) -> Result<Load> {
        let settings = params::read(NAME, params, Settings::read)?;
        let pages = settings.in_flight as u64;
        Ok(Load {
            flows: pages * settings.page.connections(settings.connections()) as u64,
            transaction_bytes: Some(pages * settings.page.bytes()),
        })
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<Self::ServerResult>>> {
        server::serve(only(NAME, endpoints)?, params::read(NAME, params, Settings::read)?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Self::ClientResult> {
        client::run(only(NAME, endpoints)?, &params::read(NAME, params, Settings::read)?, cancel)
    }
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// RFC 9112.
    One,
    /// RFC 9113.
    Two,
    /// RFC 9114.
    Three,
}

impl Version {
    /// The protocol that both sides agree on (ALPN, RFC 7301).
    fn protocol(self) -> &'static [u8] {
        match self {
            Version::One => b"http/1.1",
            Version::Two => b"h2",
            Version::Three => b"h3",
        }
    }

    /// Its name in the same registry without TLS, where both sides know it beforehand.
    fn clear_protocol(self) -> &'static str {
        match self {
            Version::One => "http/1.1",
            Version::Two | Version::Three => "h2c",
        }
    }

    /// The transport below it.
    fn carrier(self) -> Carrier {
        match self {
            Version::One | Version::Two => Carrier::Tcp,
            Version::Three => Carrier::Udp,
        }
    }

    /// The version that its answers have.
    fn of_answers(self) -> HttpVersion {
        match self {
            Version::One => HttpVersion::HTTP_11,
            Version::Two => HttpVersion::HTTP_2,
            Version::Three => HttpVersion::HTTP_3,
        }
    }
}

/// The use of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reuse {
    /// Each page opens its own.
    New,
    /// All pages of one of those in flight have the same.
    Kept,
}

/// `params`, read and checked.
#[derive(Clone)]
struct Settings {
    limit: Limit,
    warmup_ns: u64,
    timeout_ns: u64,
    in_flight: usize,
    version: Version,
    tls: bool,
    /// Connections to a host by HTTP/1.1, streams of a connection by the others.
    parallel: usize,
    connection: Reuse,
    page: Page,
}

impl Settings {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        let version = params.choice("version", &[("1.1", Version::One), ("2", Version::Two), ("3", Version::Three)])?;
        let tls = params.choice("tls", &[("1.3", true), ("none", false)])?;
        if version == Version::Three && !tls {
            return Err(params.refuse("HTTP/3 has no form without TLS: leave out `tls`"));
        }
        let unless_given = if version == Version::One { DEFAULT_CONNECTIONS } else { DEFAULT_STREAMS };
        let settings = Self {
            limit: params.limit(&["duration_ns", "count"])?,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 10 * SECOND_NS)?,
            in_flight: params.integer_or("in_flight", 1..=MAX_IN_FLIGHT, 1)? as usize,
            version,
            tls,
            parallel: params.integer("parallel", 1..=MAX_PARALLEL)?.unwrap_or(unless_given) as usize,
            connection: params.choice("connection", &[("new", Reuse::New), ("kept", Reuse::Kept)])?,
            page: page(params)?,
        };
        let connections = settings.in_flight * settings.page.connections(settings.connections());
        if connections > MAX_OPEN {
            return Err(params.refuse(format!(
                "`in_flight` pages would open {connections} connections: at most {MAX_OPEN} are served at once"
            )));
        }
        Ok(settings)
    }

    /// Connections to a host at most.
    fn connections(&self) -> usize {
        if self.version == Version::One { self.parallel } else { 1 }
    }

    /// Requests that a connection carries at once.
    fn streams(&self) -> usize {
        if self.version == Version::One { 1 } else { self.parallel }
    }
}

fn page(params: &mut Params<'_>) -> Result<Page> {
    let bytes = params.integer_or("object_bytes", 1..=MAX_OBJECT_BYTES, DEFAULT_OBJECT_BYTES)?;
    let count = params.integer_or("objects", 1..=MAX_OBJECTS as u64, 1)?;
    match params.text("page")? {
        None => Ok(Page::uniform(count as usize, bytes)),
        Some(text) => Page::decode(text).map_err(|reason| params.refuse(format!("`page` {reason}"))),
    }
}

#[cfg(test)]
mod tests;

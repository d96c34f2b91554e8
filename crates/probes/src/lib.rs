//! Probes: measurements of servers that nobody here controls, from this side alone.
//!
//! Each probe is a request of an ordinary user, without a namespace, a session or a token: one module each, with its
//! request, its result, and `run`. Every attempt ends in an [`Outcome`](outcome::Outcome); a failure is a finding and
//! never a missing row. All probes are bounded in size, number and time ([`limits`]), and polite ([`pacing`]).
//! Pure functions read the bytes of strangers: `resolve::message`, `path_mtu::message`, `application::head`,
//! `ping::reply_to`, `ping::request_in` and `route::number_in`. Called by `agent` alone.
#![forbid(unsafe_code)]

pub mod application;
pub mod error_queue;
pub mod limits;
pub mod local;
pub mod outcome;
pub mod pacing;
pub mod path_mtu;
pub mod ping;
pub mod resolve;
pub mod route;
mod stream;
pub mod tcp_connect;
mod text;
pub mod vantage;

use std::collections::BTreeMap;

pub use pacing::Pacer;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};
pub use sixbench_packet::{Error, Result};

/// The JSON Schemas of the results of all probes, by the names of their requests. They refer to definitions, which the
/// generator has.
pub fn result_schemas(generator: &mut SchemaGenerator) -> BTreeMap<&'static str, Schema> {
    BTreeMap::from([
        ("application", generator.subschema_for::<application::ApplicationResult>()),
        ("path-mtu", generator.subschema_for::<path_mtu::PathMtuResult>()),
        ("ping", generator.subschema_for::<ping::PingResult>()),
        ("resolve", generator.subschema_for::<resolve::ResolveResult>()),
        ("route", generator.subschema_for::<route::RouteResult>()),
        ("tcp-connect", generator.subschema_for::<tcp_connect::TcpConnectResult>()),
        ("vantage", generator.subschema_for::<vantage::VantageResult>()),
    ])
}

/// The same with the definitions.
pub fn results() -> Value {
    let mut generator = sixbench_traffic::schemas::generator();
    let probes = result_schemas(&mut generator);
    json!({"probes": probes, "$defs": generator.take_definitions(true)})
}

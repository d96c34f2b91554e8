//! Traffic generators and measurers, one module a workload.
//!
//! This crate holds everything that a trial sends, receives and times. Namespaces, links and the protocol on standard
//! input (that is `agent`) do not belong here. `agent` calls [`registry`] and drives the [`Workload`] it finds by name.
//!
//! A new workload is one new module and one line in [`registry`]. `unsafe` only in [`sys`].

pub mod arrivals;
pub mod atomic_fragments;
pub mod cancel;
pub mod cookie;
pub mod datagram;
pub mod datagram_batch;
pub mod datagram_socket;
pub mod df;
pub mod egress;
pub mod error;
pub mod error_queue;
pub mod frame_batch;
pub mod ledger;
pub mod models;
pub mod packet_log;
pub mod pages;
pub mod params;
pub mod path_mtu;
pub mod progress;
mod schemas;
pub mod series;
pub mod session;
pub mod socket;
pub mod strays;
pub mod sys;
mod workloads;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use cancel::{Cancel, Stop};
pub use error::{Code, Error, Result};
pub use progress::Progress;
pub use schemars::SchemaGenerator;
pub use session::{Endpoint, Finish, ResultSchemas, Server, Workload};

/// Every workload this agent knows, in the order of the protocol document.
pub fn registry() -> &'static [&'static dyn Workload] {
    workloads::ALL
}

/// The parameters of every workload, by its name: see [`params::table`].
pub fn parameters() -> Result<Value> {
    let tables = registry().iter().map(|workload| Ok((workload.name().to_owned(), workload.parameters()?)));
    Ok(Value::Object(tables.collect::<Result<_>>()?))
}

/// The JSON Schemas of the results of every workload, in `workloads` by its name; see [`Workload::results`]. They refer
/// to `$defs`.
pub fn results() -> Value {
    let mut generator = schemas::generator();
    let workloads: BTreeMap<_, _> =
        registry().iter().map(|workload| (workload.name(), workload.results(&mut generator))).collect();
    json!({"workloads": workloads, "$defs": generator.take_definitions(true)})
}

/// The workload of that name, or `unknown-workload`.
pub fn find(name: &str) -> Result<&'static dyn Workload> {
    registry().iter().copied().find(|w| w.name() == name).ok_or_else(|| {
        let known: Vec<_> = registry().iter().map(|w| w.name()).collect();
        let message = format!("there is no workload `{name}`; this agent knows {}", known.join(", "));
        Error::new(Code::UnknownWorkload, message)
    })
}

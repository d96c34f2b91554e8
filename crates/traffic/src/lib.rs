//! Traffic generators and measurers, one module a workload.
//!
//! This crate holds everything that a trial sends, receives and times. Namespaces, links and the protocol on standard
//! input (that is `agent`) do not belong here, nor workloads whose protocols are those of applications (that is
//! `applications`). `agent` calls [`registry`] and drives the [`Workload`] it finds by name.
//!
//! A new workload is one new module and one line in [`registry`]. `unsafe` only in [`sys`].

pub mod arrivals;
pub mod atomic_fragments;
pub mod cancel;
pub mod certificate;
pub mod connection_logs;
pub mod cookie;
pub mod datagram;
pub mod datagram_batch;
pub mod datagram_socket;
pub mod df;
pub mod egress;
pub mod error;
pub mod error_queue;
pub mod frame_batch;
pub mod leb128;
pub mod ledger;
mod load;
pub mod models;
pub mod moving;
pub mod packet_log;
pub mod pages;
pub mod params;
pub mod path_mtu;
pub mod progress;
pub mod proof;
pub mod schemas;
pub mod series;
pub mod session;
pub mod socket;
pub mod strays;
pub mod sys;
mod workloads;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use cancel::{Cancel, Stop};
pub use certificate::Certificate;
pub use connection_logs::ConnectionLogs;
pub use error::{Code, Error, Result};
pub use load::Load;
pub use progress::Progress;
pub use schemars::SchemaGenerator;
pub use session::{Endpoint, Finish, ResultSchemas, Server, TypedWorkload, Workload, only};
pub use workloads::tcp::info::TcpInfo;
pub use workloads::window::Window;

/// Every workload this agent knows, in the order of the protocol document.
pub fn registry() -> &'static [&'static dyn Workload] {
    workloads::ALL
}

/// The parameters of these workloads, by name: see [`params::table`].
pub fn parameters(workloads: &[&'static dyn Workload]) -> Result<Value> {
    let tables = workloads.iter().map(|workload| Ok((workload.name().to_owned(), workload.parameters()?)));
    Ok(Value::Object(tables.collect::<Result<_>>()?))
}

/// The JSON Schemas of the results of these workloads, in `workloads` by name; see [`Workload::results`]. They refer to
/// `$defs`.
pub fn results(workloads: &[&'static dyn Workload]) -> Value {
    let mut generator = schemas::generator();
    let of_workloads = workload_results(workloads, &mut generator);
    json!({"workloads": of_workloads, "$defs": generator.take_definitions(true)})
}

/// The same by name, without the definitions that they refer to, which the generator has.
pub fn workload_results(
    workloads: &[&'static dyn Workload],
    generator: &mut SchemaGenerator,
) -> BTreeMap<&'static str, ResultSchemas> {
    workloads.iter().map(|workload| (workload.name(), workload.results(generator))).collect()
}

/// The workload of that name among these, or `unknown-workload`.
pub fn find(workloads: &[&'static dyn Workload], name: &str) -> Result<&'static dyn Workload> {
    workloads.iter().copied().find(|w| w.name() == name).ok_or_else(|| {
        let known: Vec<_> = workloads.iter().map(|w| w.name()).collect();
        let message = format!("there is no workload `{name}`; this agent knows {}", known.join(", "));
        Error::new(Code::UnknownWorkload, message)
    })
}

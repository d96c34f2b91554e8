//! Traffic generators and measurers, one module a workload.
//!
//! This crate holds everything that a trial sends, receives and times. Namespaces, links and the protocol on standard
//! input (that is `agent`) do not belong here. `agent` calls [`registry`] and drives the [`Workload`] it finds by name.
//!
//! A new workload is one new module and one line in [`registry`]. `unsafe` only in [`sys`].

pub mod arrivals;
pub mod atomic_fragments;
pub mod cookie;
pub mod datagram;
pub mod datagram_socket;
pub mod df;
pub mod egress;
pub mod error;
pub mod error_queue;
pub mod family;
pub mod ledger;
pub mod models;
pub mod packet_log;
pub mod pages;
pub mod params;
pub mod path_mtu;
pub mod progress;
pub mod series;
pub mod session;
pub mod socket;
pub mod strays;
pub mod sys;
mod workloads;

use serde_json::Value;

pub use error::{Error, Result};
pub use progress::Progress;
pub use session::{Cancel, Endpoint, Finish, Server, Token, Workload};

/// Every workload this agent knows, in the order of the protocol document.
pub fn registry() -> &'static [&'static dyn Workload] {
    workloads::ALL
}

/// The parameters of every workload, by its name: see [`params::table`].
pub fn parameters() -> Result<Value> {
    let tables = registry().iter().map(|workload| Ok((workload.name().to_owned(), workload.parameters()?)));
    Ok(Value::Object(tables.collect::<Result<_>>()?))
}

/// The workload of that name, or `unknown-workload`.
pub fn find(name: &str) -> Result<&'static dyn Workload> {
    registry().iter().copied().find(|w| w.name() == name).ok_or_else(|| Error::UnknownWorkload {
        name: name.to_owned(),
        known: registry().iter().map(|w| w.name()).collect(),
    })
}

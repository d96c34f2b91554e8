//! Probes: measurements of servers that nobody here controls, from this side alone.
//!
//! Each probe is a request of an ordinary user, without a namespace, a session or a token: one module each, with its
//! request, its result, and `run`. Every attempt ends in an [`Outcome`](outcome::Outcome); a failure is a finding and
//! never a missing row. All probes are bounded in size, number and time ([`limits`]), and polite ([`pacing`]).
//! What is read from strangers is read by pure functions: `resolve::message`,
//! `path_mtu::message`, `application::head`, `ping::reply_to` and `route::number_in`. Called by `agent` alone.
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
pub mod vantage;

pub use pacing::Pacer;
pub use sixbench_packet::{Error, Result};

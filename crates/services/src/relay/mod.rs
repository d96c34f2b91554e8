//! A transport relay translator: TCP and UDP between IPv6 clients and IPv4 servers, each leg with connections of its
//! own (RFC 3142).

mod connection;
mod counters;
mod datagrams;
mod destination;
mod server;
mod session;

pub use counters::{Bytes, RelayCounters, Tcp, Udp};
pub use server::{Relay, RelayRequest};

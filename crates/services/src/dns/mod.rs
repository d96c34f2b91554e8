//! A resolver for the nodes of a closed network, with DNS64: RFC 1035, RFC 6147, RFC 7766. It may ask another server
//! for the names of one zone. The answers are decided in `sixbench_wire::dns`.

mod connection;
mod server;
mod upstream;

pub use server::{DnsCounters, DnsRequest, Server};

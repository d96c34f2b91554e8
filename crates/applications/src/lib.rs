//! Applications as traffic: what programs of the Internet do over a path, by the crates that those programs use.
//!
//! This crate holds the workloads whose protocols are not ours: rustls does TLS, quinn QUIC, hyper and h3 HTTP, and
//! hickory the messages of DNS. Each side of a trial is one thread with a runtime of its own ([`runtime`]), which ends
//! with the session. The server's certificate is made for the trial ([`certificates`]), and a client asks for it by a
//! name that follows from the trial's token ([`name`]). A server that was told no client finds it at its [`door`].
//! `agent` depends on this crate, and `probes` on its [`runtime`], its [`counted`] connections and its
//! [`watched_verifier`]. Workloads of bytes, messages and connections are in `sixbench-traffic`.

mod accepting;
pub mod certificates;
mod connecting;
pub mod counted;
mod dns;
mod door;
mod failure;
mod http;
#[cfg(test)]
mod loopback;
mod loops;
pub mod name;
pub mod parsers;
mod quic;
mod quic_connect;
mod quic_stream;
pub mod runtime;
mod secured;
mod server;
mod tls;
mod trust;
pub mod watched_verifier;

use sixbench_traffic::Workload;

/// Every workload of this crate, in the order of the protocol document.
pub fn registry() -> &'static [&'static dyn Workload] {
    &[&tls::Tls, &quic_connect::QuicConnect, &quic_stream::QuicStream, &http::Http, &dns::Dns]
}

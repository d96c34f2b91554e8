//! The workloads of datagrams on loopback, in both families.

mod atomic;
mod common;
mod cookie;
mod df;
mod directions;
mod models;
mod ping;
mod pmtu;
mod udp_rr;
mod udp_stream;

//! The workloads of datagrams on loopback, in both families.

mod common;
mod df;
mod ping;
mod udp_rr;
mod udp_stream;

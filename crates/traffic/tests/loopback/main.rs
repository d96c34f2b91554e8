//! The workloads on loopback, in both families.

mod atomic;
mod common;
mod cookie;
mod df;
mod directions;
mod ends;
mod happy_eyeballs;
mod models;
mod moving;
mod peers;
mod ping;
mod pmtu;
mod tcp_rr;
mod tcp_stream;
mod tcp_transactions;
mod udp_rr;
mod udp_stream;

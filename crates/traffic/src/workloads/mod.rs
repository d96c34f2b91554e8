//! One module a workload, and the list of them.

mod asking;
mod bring_up;
mod connections;
mod cpu_watch;
mod directions;
mod dns64;
mod frames;
mod guard;
mod happy_eyeballs;
pub mod opening;
mod pacing;
mod ping;
mod pmtu;
mod receiving;
mod round_trips;
mod sending;
mod server_span;
pub mod tcp;
mod tcp_rr;
mod tcp_stream;
mod tcp_transactions;
mod thread_server;
mod udp_rr;
mod udp_stream;
pub mod window;

use crate::Workload;

/// Every workload, in the order of the protocol document.
pub static ALL: &[&dyn Workload] = &[
    &tcp_stream::TcpStream,
    &udp_stream::UdpStream,
    &frames::Frames,
    &tcp_rr::TcpRr,
    &udp_rr::UdpRr,
    &tcp_transactions::Kind::Connect,
    &tcp_transactions::Kind::RequestResponse,
    &connections::Connections,
    &ping::Ping,
    &dns64::Dns64,
    &bring_up::BringUp,
    &pmtu::Pmtu,
    &happy_eyeballs::HappyEyeballs,
];

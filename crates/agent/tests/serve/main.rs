//! Two machines without a lab: `sixbench-agent serve` and `connect`, on loopback.

#[path = "../common/mod.rs"]
mod common;

mod applications;
mod bad_clients;
mod limits;
mod link_local;
mod load;
mod nat;
mod server;
mod transport;
mod trials;

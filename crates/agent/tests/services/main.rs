//! Services of nodes: real namespaces, real packets.

mod broker;
#[path = "../common/mod.rs"]
mod common;
mod dhcp;
mod discovery;
mod dns;
mod multicast;
mod relay;

//! A tunnel broker: RFC 3053, with the exchange of RFC 5572 made small: one question, one answer, one lease. A lease is
//! an end of a tunnel that the broker makes, or an IPv4 address alone, as DSTM's server has it
//! (draft-ietf-ngtrans-dstm).
//!
//! [`leases`] and [`messages`] decide and describe, without I/O; [`exchange`] moves lines, [`end`] makes one end of a
//! tunnel.

mod addresses;
mod client;
mod end;
mod exchange;
mod leases;
mod messages;
mod server;

pub use client::{BrokerRequest, Given, Lease, Release, Renewals};
pub use server::{Broker, Start, Status};

//! DHCP for IPv4 on one link: a server that gives addresses, and a client that can do without one ([RFC
//! 8925](https://www.rfc-editor.org/rfc/rfc8925)).
//!
//! Both speak by a packet socket, so that their device needs no IPv4 address.

mod client;
mod frames;
mod link;
mod pool;
mod server;

pub use client::{AskRequest, Ipv6OnlyAnswer, ask};
pub use frames::{Ends, frame, payload_for};
pub use pool::{Outcome, Pool};
pub use server::{DhcpCounters, ServeRequest, Server};

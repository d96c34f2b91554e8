//! The services of a node for others besides traffic and tunnels: the service requests of `docs/protocol.md`.
//!
//! This crate holds IPv4 multicast forwarding ([`multicast`]), router discovery ([`discovery`]), the tunnel broker with
//! its client ([`broker`]), a resolver with DNS64 ([`dns`]), a relay of transports ([`relay`]), addresses of IPv4 and
//! clients without them ([`dhcp`]), and the way in which a CLAT learns its prefix ([`prefix`]). The agent's lines, and
//! the way in which tunnels carry packets (`sixbench-plane`), do not belong here.
//!
//! A service is a value: it works by a thread of its own, in the network namespace of the thread that started it, and
//! ends when it is dropped. Formats and decisions are apart from sockets, in files without I/O. No `unsafe`.

mod asking;
pub mod broker;
pub mod dhcp;
pub mod discovery;
pub mod dns;
mod error;
pub mod multicast;
pub mod prefix;
pub mod relay;
mod served;
mod worker;

pub use error::{Code, Error, Result};
pub use served::Server;

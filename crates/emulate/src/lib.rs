//! Links with a known truth, where the kernel has no netem: delay, jitter, loss, duplicates, corruption, reordering.
//!
//! An emulated link is two interfaces of the agent's namespace, the far ends of the veth pairs of the nodes that it
//! joins. One thread carries the packets of all links of a node ([`Emulator`]): it takes them from a packet socket with
//! the kernel's time of arrival, decides the fate of each ([`decision`]), and sends them when they are due. It spins
//! for the last microseconds before that. It counts and times its real work on each packet, so that nobody has to trust
//! it.
//!
//! Rates and queues do not belong here: they are the kernel's (`tbf` at the nodes' ends). No `unsafe`.

pub mod decision;
mod error;
mod line;
mod packets;
mod record;
mod socket;
pub mod spec;
mod waiter;
mod wire;
mod worker;

pub use error::{Error, Result, no_link};
pub use spec::{Impairments, Spec};
pub use worker::{Emulator, Restart};

//! The transition data plane: tunnels that the kernel carries by eBPF, or that we carry.
//!
//! This crate holds: the specification of a tunnel ([`spec`]), its device ([`device`]), its programs ([`program`],
//! which `classifiers` loads: compiled from `bpf/` and embedded), its counters, its multicast groups ([`groups`]), its
//! part in user space ([`slow`]), a packet's way through it without a device ([`whole`]), and the tunnels of a node
//! ([`Tunnels`]); the translators of a node ([`Translators`]); the tags of a VLAN ([`Vlan`]); and, by programs of their
//! own, the places of dropped packets ([`drops`]) and the lateness of queues' timers ([`timers`]). It knows neither the
//! agent's protocol nor the formats of packets (`sixbench-wire`).
//!
//! A tunnel is a veth pair in the node. A program on the near end's egress encapsulates and sends on; one on the
//! ingress of each device below decapsulates and hands the packet to the near end. Routes, path MTU and addresses are
//! the near end's, as with a tunnel device of the kernel. `unsafe` only in [`sys`].

pub mod abi;
mod classifiers;
pub mod counters;
pub mod device;
pub mod drops;
pub mod error;
pub mod features;
pub mod frames;
pub mod groups;
pub mod program;
pub mod reasons;
pub mod refusal;
pub mod slow;
pub mod spec;
pub mod sys;
pub mod timers;
mod tracepoints;
pub mod translators;
mod tunnels;
pub mod vlan;
pub mod whole;
pub mod written;

pub use drops::Drops;
pub use error::{Code, Error, Result};
pub use spec::Spec;
pub use timers::Timers;
pub use translators::{TranslatorSpec, Translators};
pub use tunnels::{RunTimeRequest, Tunnels};
pub use vlan::Vlan;

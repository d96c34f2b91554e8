//! What traffic, links and nodes measure with.
//!
//! What lives here: clocks, histograms of times and delays, sets of sequence numbers, what processors do, and random
//! numbers that a seed decides or nobody can guess. What may not: packets, sockets, links and the protocol. `unsafe` only in [`sys`].

pub mod clock;
pub mod core_loop;
pub mod cpu;
pub mod delay;
pub mod histogram;
pub mod perf;
pub mod quantile;
pub mod random;
pub mod ranges;
pub mod sys;

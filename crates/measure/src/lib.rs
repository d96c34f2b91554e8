//! Measuring tools for traffic, links and nodes.
//!
//! This crate holds clocks, histograms of times and delays, sets of sequence numbers, the use of processors, and random
//! numbers that a seed decides or nobody can guess. Packets, sockets, links and the protocol do not belong here.
//! `unsafe` only in [`sys`].

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

//! The only `unsafe` of this crate: system calls that no crate wraps as we need them.

pub mod memory;
pub mod perf_event;
pub mod scheduling;

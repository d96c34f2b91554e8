//! The sentences of errors that workloads have in common.

pub use sixbench_packet::{Code, Error, Result};

/// The parameters are not of the workload's form, or out of range. `reason` says which, and what would be right.
pub fn bad_params(workload: &str, reason: impl std::fmt::Display) -> Error {
    Error::bad_params(format!("parameters of {workload}: {reason}"))
}

/// The peer closed, reset or fell silent: `action` is a verb.
pub fn peer_lost(doing: impl std::fmt::Display, action: impl std::fmt::Display) -> Error {
    Error::peer_lost(format!("{doing}: the peer {action}"))
}

/// Nothing came in this time.
pub fn timeout(doing: impl std::fmt::Display, after_ns: u64) -> Error {
    Error::timeout(format!("{doing}: nothing after {} ms", after_ns / 1_000_000))
}

/// The session was cancelled.
pub fn cancelled() -> Error {
    Error::new(Code::Cancelled, "cancelled")
}

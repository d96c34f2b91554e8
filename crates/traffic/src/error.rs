//! Errors of workloads, and their codes in the protocol.

use std::io;

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error says what was being done, to what, and what went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No workload has this name.
    #[error("there is no workload `{name}`; this agent knows {}", known.join(", "))]
    UnknownWorkload {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The parameters are not of the workload's form, or out of range.
    #[error("parameters of {workload}: {reason}")]
    BadParams {
        /// The workload.
        workload: &'static str,
        /// The mistake, and the value that would be right.
        reason: String,
    },
    /// A system call failed.
    #[error("{doing}: {call} failed: {source}")]
    System {
        /// The operation that failed, and its object.
        doing: String,
        /// The system call.
        call: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The peer closed, reset or fell silent.
    #[error("{doing}: the peer {what}")]
    PeerLost {
        /// The operation that failed, and its object.
        doing: String,
        /// The peer's action, as a verb: it closed, for example.
        what: String,
    },
    /// Something took longer than it may.
    #[error("{doing}: nothing after {} ms", after_ns / 1_000_000)]
    Timeout {
        /// The operation that took too long, and its object.
        doing: String,
        /// Time that was waited.
        after_ns: u64,
    },
    /// The session was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// The code of the protocol document.
    pub fn code(&self) -> &'static str {
        match self {
            Error::UnknownWorkload { .. } => "unknown-workload",
            Error::BadParams { .. } => "bad-params",
            Error::System { .. } => "system",
            Error::PeerLost { .. } => "peer-lost",
            Error::Timeout { .. } => "timeout",
            Error::Cancelled => "cancelled",
        }
    }

    /// A failed system call, with what it was for.
    pub fn system(doing: impl Into<String>, call: &'static str, source: impl Into<io::Error>) -> Self {
        Error::System { doing: doing.into(), call, source: source.into() }
    }
}

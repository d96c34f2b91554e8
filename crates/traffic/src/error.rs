//! What can go wrong in a workload, and the protocol's code for it.

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
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A system call failed.
    #[error("{doing}: {call} failed: {source}")]
    System {
        /// What was being done, to what.
        doing: String,
        /// The system call.
        call: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The peer closed, reset or fell silent.
    #[error("{doing}: the peer {what}")]
    PeerLost {
        /// What was being done, to what.
        doing: String,
        /// What it did.
        what: String,
    },
    /// Something took longer than it may.
    #[error("{doing}: nothing after {} ms", after_ns / 1_000_000)]
    Timeout {
        /// What was being done, to what.
        doing: String,
        /// How long it was waited for.
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

//! Errors between two machines.

use std::io;

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error says what was being done, to what, and what went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's input is wrong, such as a key or an address.
    #[error("{0}")]
    Usage(String),
    /// A system call failed.
    #[error("{doing}: {source}")]
    System {
        /// The operation that failed, and its object.
        doing: String,
        /// The system's words.
        source: io::Error,
    },
    /// The other end is not what it should be.
    #[error("{doing}: {what}")]
    Peer {
        /// The operation that failed, and its object.
        doing: String,
        /// The other end's mistake.
        what: String,
    },
}

impl Error {
    pub(crate) fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Error::System { doing: doing.into(), source: source.into() }
    }

    pub(crate) fn peer(doing: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Peer { doing: doing.into(), what: what.into() }
    }
}

//! Errors of emulated links.

use std::io;

/// Result of an operation on emulated links.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a link cannot be emulated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The specification contradicts itself.
    #[error("link {link}: {reason}")]
    BadSpec {
        /// The link's name.
        link: String,
        /// One sentence.
        reason: String,
    },
    /// A link of that name is emulated.
    #[error("the link {0} is emulated already")]
    Exists(String),
    /// No link of that name is emulated.
    #[error("no link {0} is emulated")]
    Missing(String),
    /// A system call failed.
    #[error("{doing}: {call} failed: {source}")]
    System {
        /// The operation that failed, and its object.
        doing: String,
        /// The system call that failed.
        call: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The thread that emulates has ended.
    #[error("the thread that emulates the links of this node has ended; its last message is on standard error")]
    Ended,
}

impl Error {
    /// A system call failed.
    pub fn system(doing: impl Into<String>, call: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { doing: doing.into(), call, source: source.into() }
    }

    /// The protocol document's code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSpec { .. } => "bad-params",
            Self::Exists(_) => "link-exists",
            Self::Missing(_) => "no-link",
            Self::System { .. } => "system",
            Self::Ended => "internal",
        }
    }
}

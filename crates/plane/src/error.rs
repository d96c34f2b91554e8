//! What can go wrong with a tunnel.

use std::io;

/// Result of an operation on tunnels.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a tunnel cannot be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The specification contradicts itself or its mechanism.
    #[error("tunnel {device}: {reason}")]
    BadSpec {
        /// The tunnel's device.
        device: String,
        /// One sentence.
        reason: String,
    },
    /// A tunnel of that name is there.
    #[error("there is a tunnel {0} already")]
    Exists(String),
    /// No tunnel of that name is there.
    #[error("there is no tunnel {0}")]
    Missing(String),
    /// A system call or a command failed.
    #[error("{doing}: {call} failed: {source}")]
    System {
        /// What was being done, to what.
        doing: String,
        /// Which call, or which command.
        call: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The kernel does not take the programs.
    #[error("{doing}: {reason}")]
    Programs {
        /// What was being done, to what.
        doing: String,
        /// The loader's and the verifier's words.
        reason: String,
    },
}

impl Error {
    /// A system call or a command failed.
    pub fn system(doing: impl Into<String>, call: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { doing: doing.into(), call, source: source.into() }
    }

    /// The protocol document's code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSpec { .. } => "bad-params",
            Self::Exists(_) => "tunnel-exists",
            Self::Missing(_) => "no-tunnel",
            Self::System { .. } | Self::Programs { .. } => "system",
        }
    }
}

/// An error of aya, with all that caused it: the outermost says little.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        source = cause.source();
    }
    words
}

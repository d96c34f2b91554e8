//! Errors of tunnels and translators.

use std::io;

use crate::refusal::Refusal;

/// Result of an operation on tunnels and translators.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a tunnel or a translator cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The specification contradicts itself or its mechanism.
    #[error("tunnel {device}: {reason}")]
    BadSpec {
        /// The tunnel's device.
        device: String,
        /// The contradiction, in one sentence.
        reason: String,
    },
    /// A tunnel of that name is there.
    #[error("there is a tunnel {0} already")]
    Exists(String),
    /// No tunnel of that name is there.
    #[error("there is no tunnel {0}")]
    Missing(String),
    /// A translator's specification contradicts itself or its mechanism.
    #[error("translator {device}: {reason}")]
    BadTranslator {
        /// The translator's device.
        device: String,
        /// The contradiction, in one sentence.
        reason: String,
    },
    /// A translator or another device of that name is there.
    #[error("there is a device {0} already")]
    TranslatorExists(String),
    /// No translator of that name is there.
    #[error("there is no translator {0}")]
    NoTranslator(String),
    /// A system call or a command failed.
    #[error("{doing}: {call} failed: {source}")]
    System {
        /// The work that failed, and its object.
        doing: String,
        /// The call or the command.
        call: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The kernel does not take the programs.
    #[error("{doing}: {refusal}")]
    Programs {
        /// The work that failed, and its object.
        doing: String,
        /// The reason, as far as it is known.
        refusal: Refusal,
    },
    /// The kernel does not tell what it does.
    #[error("watching {watching}: {}", refusal.words())]
    Watching {
        /// The events that were to be watched.
        watching: &'static str,
        /// The reason, as far as it is known.
        refusal: Refusal,
    },
    /// There is no run time to tell.
    #[error("no run time is being measured: send run_time \"start\" first")]
    NotMeasuring,
}

impl Error {
    /// A system call or a command failed.
    pub fn system(doing: impl Into<String>, call: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { doing: doing.into(), call, source: source.into() }
    }

    /// The protocol document's code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSpec { .. } | Self::BadTranslator { .. } | Self::NotMeasuring => "bad-params",
            Self::Exists(_) => "tunnel-exists",
            Self::Missing(_) => "no-tunnel",
            Self::TranslatorExists(_) => "translator-exists",
            Self::NoTranslator(_) => "no-translator",
            Self::System { .. } | Self::Programs { .. } | Self::Watching { .. } => "system",
        }
    }
}

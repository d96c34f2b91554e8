//! Errors of services.

use std::io;

/// Result of an operation on a service.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a service cannot work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parameters contradict themselves or the service's rules.
    #[error("{0}")]
    BadParams(String),
    /// The service is there already.
    #[error("{0} already")]
    Exists(String),
    /// The service is not there.
    #[error("there is no {0}")]
    Missing(String),
    /// The tunnel broker refused.
    #[error("asking the tunnel broker {broker}: it refuses: {reason}{}", why(.reason))]
    Refused {
        /// Its address and port.
        broker: String,
        /// One of the protocol document's reasons.
        reason: String,
    },
    /// The other side closed, or spoke nonsense.
    #[error("{0}")]
    PeerLost(String),
    /// Nothing came in time.
    #[error("{0}")]
    Timeout(String),
    /// A system call or a command failed.
    #[error("{doing}: {call} failed: {source}")]
    System {
        /// The operation that failed, and its object.
        doing: String,
        /// The system call or command that failed.
        call: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The tunnel could not be made or taken away.
    #[error(transparent)]
    Tunnel(#[from] sixbench_plane::Error),
}

/// An explanation of the reasons that do not explain themselves.
fn why(reason: &str) -> &'static str {
    if reason == "no-room" { " (all its leases are taken)" } else { "" }
}

impl Error {
    /// A system call or a command failed.
    pub fn system(doing: impl Into<String>, call: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { doing: doing.into(), call, source: source.into() }
    }

    /// The protocol document's code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadParams(_) => "bad-params",
            Self::Exists(_) => "service-exists",
            Self::Missing(_) => "no-service",
            Self::Refused { .. } => "refused",
            Self::PeerLost(_) => "peer-lost",
            Self::Timeout(_) => "timeout",
            Self::System { .. } => "system",
            Self::Tunnel(error) => error.code(),
        }
    }
}

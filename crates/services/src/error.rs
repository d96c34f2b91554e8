//! The sentences of errors of services.

pub use sixbench_packet::{Code, Error, Result};

/// The tunnel broker refused, for one of the protocol document's reasons.
pub(crate) fn refused(broker: impl std::fmt::Display, reason: String) -> Error {
    // Others explain themselves.
    let why = if reason == "no-room" { " (all its leases are taken)" } else { "" };
    let message = format!("asking the tunnel broker {broker}: it refuses: {reason}{why}");
    Error::new(Code::Refused, message).with("reason", reason)
}

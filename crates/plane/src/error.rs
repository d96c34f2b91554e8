//! The sentences of errors of tunnels and translators.

pub use sixbench_packet::{Code, Error, Result};

/// The specification of a tunnel contradicts itself or its mechanism.
pub(crate) fn bad_tunnel(device: &str, reason: impl std::fmt::Display) -> Error {
    Error::bad_params(format!("tunnel {device}: {reason}"))
}

/// A tunnel of that name is there.
pub(crate) fn tunnel_exists(device: &str) -> Error {
    Error::new(Code::TunnelExists, format!("there is a tunnel {device} already"))
}

/// No tunnel of that name is there.
pub(crate) fn no_tunnel(device: &str) -> Error {
    Error::new(Code::NoTunnel, format!("there is no tunnel {device}"))
}

/// A translator's specification contradicts itself or its mechanism.
pub(crate) fn bad_translator(device: &str, reason: impl std::fmt::Display) -> Error {
    Error::bad_params(format!("translator {device}: {reason}"))
}

/// A translator or another device of that name is there.
pub(crate) fn translator_exists(device: &str) -> Error {
    Error::new(Code::TranslatorExists, format!("there is a device {device} already"))
}

/// No translator of that name is there.
pub(crate) fn no_translator(device: &str) -> Error {
    Error::new(Code::NoTranslator, format!("there is no translator {device}"))
}

/// There is no run time to tell.
pub(crate) fn not_measuring() -> Error {
    Error::bad_params("no run time is being measured: send run_time \"start\" first")
}

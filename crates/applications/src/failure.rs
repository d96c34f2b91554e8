//! The reasons why something of an application did not succeed.

use std::error::Error;
use std::io;

use nix::errno::Errno;

/// A failure: a short name to count it by, and words for an error.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Such as `timeout`, `ECONNREFUSED` or `alert-HandshakeFailure`.
    pub reason: String,
    /// Its cause in words.
    pub words: String,
}

impl Failure {
    /// Nothing was answered in time.
    pub fn timeout() -> Self {
        Self::new("timeout", "nothing in time")
    }

    /// A failure of this name.
    pub fn new(reason: impl Into<String>, words: impl Into<String>) -> Self {
        Self { reason: reason.into(), words: words.into() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(of_io(&error), error.to_string())
    }
}

impl From<hyper::Error> for Failure {
    fn from(error: hyper::Error) -> Self {
        let reason = match error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
            Some(cause) => of_io(cause),
            None if error.is_incomplete_message() || error.is_closed() || error.is_canceled() => "closed".to_owned(),
            None => "http".to_owned(),
        };
        Self::new(reason, error.to_string())
    }
}

fn of_io(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => of_tls(tls),
        None => of_system(error),
    }
}

fn of_system(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        // The variants are named as the numbers are.
        (Some(number), _) => format!("{:?}", Errno::from_raw(number)),
        (None, io::ErrorKind::UnexpectedEof) => "closed".to_owned(),
        // Libraries that pass an error on keep its kind alone.
        (None, io::ErrorKind::ConnectionReset) => "ECONNRESET".to_owned(),
        (None, io::ErrorKind::BrokenPipe) => "EPIPE".to_owned(),
        (None, kind) => kind.to_string(),
    }
}

/// The name of an error of TLS, with the alert that came (RFC 8446 section 6.2).
pub fn of_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::AlertReceived(alert) => format!("alert-{alert:?}"),
        rustls::Error::InvalidCertificate(_) => "certificate-refused".to_owned(),
        rustls::Error::PeerIncompatible(_) => "incompatible".to_owned(),
        _ => "tls".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_as_those_of_other_workloads_are() {
        let of = |error: io::Error| Failure::from(error).reason;
        assert_eq!(of(io::Error::from_raw_os_error(111)), "ECONNREFUSED");
        assert_eq!(of(io::ErrorKind::UnexpectedEof.into()), "closed");
        assert_eq!(of(io::ErrorKind::BrokenPipe.into()), "EPIPE");
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA);
        assert_eq!(of(io::Error::other(alert)), "alert-UnknownCA");
    }
}

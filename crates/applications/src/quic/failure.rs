//! The reasons why a connection of QUIC did not succeed.

use quinn::ConnectionError;
use rustls::AlertDescription;

use crate::failure::Failure;

/// Codes of errors of the handshake: from here on, the alert of TLS (RFC 9001 section 4.8).
const CRYPTO_ERRORS: u64 = 0x100;

/// The failure of a connection.
pub fn of_connection(error: &ConnectionError) -> Failure {
    let reason = match error {
        ConnectionError::TimedOut => "timeout".to_owned(),
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => "closed".to_owned(),
        ConnectionError::Reset => "reset".to_owned(),
        ConnectionError::VersionMismatch => "version".to_owned(),
        ConnectionError::TransportError(error) => of_code("refused", u64::from(error.code)),
        ConnectionError::ConnectionClosed(close) => of_code("alert", u64::from(close.error_code)),
        ConnectionError::CidsExhausted => "connection-identifiers".to_owned(),
    };
    Failure::new(reason, error.to_string())
}

/// The name of an error code, by who found it.
fn of_code(by: &str, code: u64) -> String {
    match code.checked_sub(CRYPTO_ERRORS).and_then(|alert| u8::try_from(alert).ok()) {
        Some(alert) => format!("{by}-{:?}", AlertDescription::from(alert)),
        None => format!("quic-{code:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_their_names() {
        assert_eq!(of_code("alert", 0x100 + 48), "alert-UnknownCA");
        assert_eq!(of_code("alert", 0x0a), "quic-0xa");
        assert_eq!(of_connection(&ConnectionError::TimedOut).reason, "timeout");
    }
}

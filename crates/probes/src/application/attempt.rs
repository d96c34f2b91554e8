//! An attempt, as far as it got.

use std::error::Error as _;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;

use super::head::Head;
use crate::local::LocalEnd;
use crate::outcome::{Ending, Outcome};
use crate::stream::Handshake;

/// An attempt of an application.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApplicationAttempt {
    /// Time at which it began.
    pub begun_ns: u64,
    /// Its end.
    #[serde(flatten)]
    pub ending: Ending,
    /// Time from the begin until TCP's handshake was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<u64>,
    /// Time from there, or over QUIC from the begin, until the server was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake_ns: Option<u64>,
    /// Time from the begin until the head of the answer was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<u64>,
    /// Time from the begin until all was there that was read; or until the failure, unless it is silence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ns: Option<u64>,
    /// This end.
    #[serde(flatten)]
    pub local: LocalEnd,
    /// The kernel's account of TCP's handshake.
    #[serde(flatten)]
    pub handshake: Handshake,
    /// The protocol that both agreed on (ALPN); absent where they agreed on none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The version of TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_version: Option<String>,
    /// The cipher suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
    /// The names in a certificate that is one of other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificate_names: Vec<String>,
    /// The head of the answer.
    #[serde(flatten)]
    pub head: Head,
    /// Bytes of the body that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// False if the body goes on beyond these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_whole: Option<bool>,
    /// Payload of TCP or UDP that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Payload of TCP or UDP that came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
}

/// The result of a step; the end of the attempt where it failed.
pub type Tried<T> = Result<T, Ending>;

impl ApplicationAttempt {
    /// An attempt that begins at this time. Until it has ended it is silence.
    pub fn begin(begun_ns: u64) -> Self {
        Self {
            begun_ns,
            ending: Ending::of(Outcome::Silence),
            connect_ns: None,
            handshake_ns: None,
            first_byte_ns: None,
            total_ns: None,
            local: LocalEnd::default(),
            handshake: Handshake::default(),
            protocol: None,
            tls_version: None,
            cipher: None,
            certificate_names: Vec::new(),
            head: Head::default(),
            body_bytes: None,
            body_whole: None,
            sent_bytes: None,
            received_bytes: None,
        }
    }

    /// Time since the begin.
    pub fn elapsed_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.begun_ns)
    }

    /// Notes that all is there: what follows is the close of the connection.
    pub fn note_end(&mut self) {
        self.total_ns = Some(self.elapsed_ns());
    }

    /// Ends it, now or when that was noted.
    pub fn end(&mut self, ended: Tried<()>) {
        let total_ns = self.total_ns.unwrap_or_else(|| self.elapsed_ns());
        self.ending = ended.err().unwrap_or_else(|| Ending::of(Outcome::Answered));
        self.total_ns = (self.ending.outcome != Outcome::Silence).then_some(total_ns);
    }
}

/// The end that an error of a connection is, with what TLS says about it.
pub fn of_io(error: &io::Error) -> Ending {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => of_tls(tls),
        None => Ending::of_error(error),
    }
}

/// The end that an error of TLS is.
pub fn of_tls(error: &rustls::Error) -> Ending {
    let outcome = match error {
        rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => Outcome::NotOffered,
        rustls::Error::InvalidMessage(_) => Outcome::Protocol,
        _ => Outcome::Tls,
    };
    let reason = match error {
        // The names of alerts are those of their registry.
        rustls::Error::AlertReceived(alert) => format!("alert {alert:?}"),
        other => other.to_string(),
    };
    Ending::because(outcome, reason)
}

/// The end that an error of HTTP/1.1 or 2 is.
pub fn of_hyper(error: &hyper::Error) -> Ending {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    match cause {
        Some(cause) => of_io(cause),
        None if error.is_incomplete_message() || error.is_closed() || error.is_canceled() => {
            Ending::because(Outcome::Closed, error.to_string())
        }
        None => {
            let causes = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Ending::because(Outcome::Protocol, format!("{error}{causes}"))
        }
    }
}

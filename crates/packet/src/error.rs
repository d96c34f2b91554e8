//! The error of all that the agent does: a code for programs, a sentence for people.

use std::{fmt, io};

use nix::errno::Errno;
use serde::Serialize;
use serde_json::{Map, Value};

/// Result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Declares the codes. Their names are those of the protocol document, with hyphens.
macro_rules! codes {
    ($($code:ident)*) => {
        /// The code of an error: what programs tell errors apart by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[allow(missing_docs)] // The protocol document says what each means.
        pub enum Code {
            $($code,)*
        }

        #[cfg(test)]
        const CODES: &[Code] = &[$(Code::$code,)*];
    };
}

codes! {
    BadRequest LineTooLong NotGreeted ProtocolMismatch
    UnknownWorkload BadParams
    NoSession SessionExists
    NoTunnel TunnelExists
    NoTranslator TranslatorExists
    NoService ServiceExists
    NoCapture CaptureExists
    NoLink LinkExists
    NoDevice DeviceExists DeviceFailed
    Refused OverLimit Busy
    System PeerLost Timeout Cancelled
    Internal
}

/// An error response: a sentence says what was being done, to what, and what went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// The code.
    pub code: Code,
    /// The sentence.
    pub message: String,
    /// Details for programs.
    pub context: Map<String, Value>,
    /// Kind of the system's error, if a system call failed.
    #[serde(skip)]
    kind: Option<io::ErrorKind>,
}

/// Its name in the protocol document.
impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl Error {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), context: Map::new(), kind: None }
    }

    /// The request is not of the protocol's form, or out of its bounds.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// The parameters contradict themselves, or are out of range.
    pub fn bad_params(message: impl Into<String>) -> Self {
        Self::new(Code::BadParams, message)
    }

    /// The other side closed, reset, fell silent or spoke nonsense.
    pub fn peer_lost(message: impl Into<String>) -> Self {
        Self::new(Code::PeerLost, message)
    }

    /// Something took longer than it may.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(Code::Timeout, message)
    }

    /// A system call or a command failed. `doing` says what it was for.
    pub fn system(doing: impl fmt::Display, call: &'static str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::new(Code::System, format!("{doing}: {call} failed: {error}")).with_call(call, &error)
    }

    /// The same with one more detail.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.context.insert(key.to_owned(), value.into());
        self
    }

    /// The same with the call that failed, and the system's error.
    pub fn with_call(mut self, call: &'static str, error: &io::Error) -> Self {
        self.kind = Some(error.kind());
        let with_words = self.with("call", call).with("error", error.to_string());
        match error.raw_os_error() {
            Some(number) => with_words.with("errno", format!("{:?}", Errno::from_raw(number))),
            None => with_words,
        }
    }

    /// The kind of the system's error, if a system call failed.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_protocol_document_has_the_codes() {
        let document = include_str!("../../../docs/protocol.md");
        let rows = document.lines().skip_while(|line| !line.starts_with("| error code |")).skip(2);
        let rows = rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').nth(1).unwrap());
        let documented: BTreeSet<_> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let codes: Vec<_> = CODES.iter().map(|code| serde_json::to_value(code).unwrap()).collect();
        assert_eq!(documented, codes.iter().map(|code| code.as_str().unwrap()).collect());
    }
    use crate::Code;

    #[test]
    fn a_system_failure_names_the_call_and_the_error() {
        let error = Error::system("opening the door", "open", Errno::EACCES);
        assert_eq!((error.code, error.code.to_string().as_str()), (Code::System, "system"));
        assert_eq!(error.to_string(), "opening the door: open failed: Permission denied (os error 13)");
        assert_eq!(error.context["call"], "open");
        assert_eq!(error.context["errno"], "EACCES");
        assert_eq!(error.kind(), Some(io::ErrorKind::PermissionDenied));
    }
}

//! A request that failed, in the form of responses.

use std::io;

use nix::errno::Errno;
use serde::Serialize;
use serde_json::{Map, Value};
use sixbench_plane::refusal::Refusal;

/// Result of an operation.
pub type Outcome = Result<Value, Failure>;

/// The result of an operation that was done.
pub fn to_value(result: &impl Serialize) -> Outcome {
    serde_json::to_value(result).map_err(|error| Failure::new("internal", format!("writing the result: {error}")))
}

/// An error response.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The code, one of the protocol document's.
    pub code: &'static str,
    /// A sentence: the work, its object, and what went wrong.
    pub message: String,
    /// Details for programs.
    pub context: Map<String, Value>,
}

impl Failure {
    /// A failure without details.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), context: Map::new() }
    }

    /// The request is not of the protocol's form, or out of its bounds.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new("bad-request", message)
    }

    /// A system call failed. `doing` says what it was for.
    pub fn system(doing: impl std::fmt::Display, call: &'static str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::new("system", format!("{doing}: {call} failed: {error}")).with_call(call, &error)
    }

    /// The same with one more detail.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.context.insert(key.to_owned(), value.into());
        self
    }

    fn with_call(self, call: &'static str, error: &io::Error) -> Self {
        let failure = self.with("call", call).with("error", error.to_string());
        match error.raw_os_error() {
            Some(number) => failure.with("errno", format!("{:?}", Errno::from_raw(number))),
            None => failure,
        }
    }

    fn with_refusal(self, refusal: &Refusal) -> Self {
        let mut failure = match refusal.errno {
            Some(number) => self.with_call("bpf", &io::Error::from_raw_os_error(number)),
            None => self.with("call", "bpf"),
        };
        if !refusal.missing_capabilities.is_empty() {
            failure = failure.with("missing_capabilities", refusal.missing_capabilities.clone());
        }
        match &refusal.needed_kernel {
            Some(needed) => failure.with("needed_kernel", needed.as_str()),
            None => failure,
        }
    }
}

impl From<sixbench_traffic::Error> for Failure {
    fn from(error: sixbench_traffic::Error) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        match &error {
            sixbench_traffic::Error::System { call, source, .. } => failure.with_call(call, source),
            _ => failure,
        }
    }
}

impl From<sixbench_measure::perf::Refusal> for Failure {
    fn from(refusal: sixbench_measure::perf::Refusal) -> Self {
        Self::new("system", refusal.to_string()).with_call(refusal.call, &refusal.source)
    }
}

impl From<sixbench_emulate::Error> for Failure {
    fn from(error: sixbench_emulate::Error) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        match &error {
            sixbench_emulate::Error::System { call, source, .. } => failure.with_call(call, source),
            _ => failure,
        }
    }
}

impl From<sixbench_services::Error> for Failure {
    fn from(error: sixbench_services::Error) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        match error {
            sixbench_services::Error::System { call, source, .. } => failure.with_call(call, &source),
            sixbench_services::Error::Refused { reason, .. } => failure.with("reason", reason),
            sixbench_services::Error::Tunnel(error) => error.into(),
            _ => failure,
        }
    }
}

impl From<sixbench_plane::Error> for Failure {
    fn from(error: sixbench_plane::Error) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        match &error {
            sixbench_plane::Error::System { call, source, .. } => failure.with_call(call, source),
            sixbench_plane::Error::Programs { refusal, .. } | sixbench_plane::Error::Watching { refusal, .. } => {
                failure.with_refusal(refusal)
            }
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_failure_names_the_call_and_the_error() {
        let failure = Failure::system("opening the door", "open", Errno::EACCES);
        assert_eq!(failure.code, "system");
        assert_eq!(failure.message, "opening the door: open failed: Permission denied (os error 13)");
        assert_eq!(failure.context["call"], "open");
        assert_eq!(failure.context["errno"], "EACCES");
    }
}

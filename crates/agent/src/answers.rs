//! Responses: whole lines on standard output, whichever thread they come from.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::error::{Code, Error, Outcome};
use crate::sys;

/// The longest response, its end not counted.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// A response of this length has taken several times as much memory; an idle node should not go on holding that.
const LARGE_RESPONSE_BYTES: usize = 256 << 10;

/// The output that responses are written to.
pub struct Answers {
    output: Mutex<Box<dyn Write + Send>>,
}

#[derive(Serialize)]
struct Response<'a> {
    /// `null` where the request had none that could be read.
    id: Option<u64>,
    #[serde(flatten)]
    result: Body<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Body<'a> {
    Ok(&'a Value),
    Error(&'a Error),
}

impl Answers {
    /// Responses on standard output, without the buffer of [`io::stdout`].
    pub fn on_stdout() -> io::Result<Self> {
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self::to(File::from(output)))
    }

    /// Responses on any output that sends what is written at once.
    pub fn to(output: impl Write + Send + 'static) -> Self {
        Self { output: Mutex::new(Box::new(output)) }
    }

    /// Writes one response. It fails when nobody reads any more.
    pub fn send(&self, id: Option<u64>, outcome: Outcome) -> io::Result<()> {
        let line = render(id, &outcome, MAX_RESPONSE_BYTES);
        let result = self.output.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
        if line.len() > LARGE_RESPONSE_BYTES {
            drop((line, outcome));
            sys::return_freed_memory();
        }
        result
    }
}

/// A response that would be longer than `limit_bytes` becomes an `internal` error.
fn render(id: Option<u64>, outcome: &Outcome, limit_bytes: usize) -> Vec<u8> {
    let line = match outcome {
        Ok(value) => to_json(id, Body::Ok(value)),
        Err(failure) => to_json(id, Body::Error(failure)),
    };
    let line = line.and_then(|line| match line.len() {
        length if length > limit_bytes => Err(format!("it has {length} bytes; at most {limit_bytes} are allowed")),
        _ => Ok(line),
    });
    let mut line = line.unwrap_or_else(|reason| {
        let failure = Error::new(Code::Internal, format!("writing the response: {reason}"));
        to_json(id, Body::Error(&failure)).unwrap_or_default()
    });
    line.push(b'\n');
    line
}

fn to_json(id: Option<u64>, result: Body<'_>) -> Result<Vec<u8>, String> {
    serde_json::to_vec(&Response { id, result }).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(id: Option<u64>, outcome: Outcome) -> String {
        String::from_utf8(super::render(id, &outcome, 100)).expect("JSON is UTF-8")
    }

    #[test]
    fn responses_are_lines() {
        assert_eq!(render(Some(7), Ok(json!({"text": "a\nb"}))), "{\"id\":7,\"ok\":{\"text\":\"a\\nb\"}}\n");
        let failure = Error::new(Code::Timeout, "waiting").with("after_ns", 5);
        assert_eq!(
            render(None, Err(failure)),
            "{\"id\":null,\"error\":{\"code\":\"timeout\",\"message\":\"waiting\",\"context\":{\"after_ns\":5}}}\n"
        );
    }

    #[test]
    fn a_response_that_is_too_long_is_an_error() {
        let line = render(Some(1), Ok(Value::String("x".repeat(100))));
        assert!(line.starts_with("{\"id\":1,\"error\":{\"code\":\"internal\""), "{line}");
    }
}

//! Conversations without a node: a JSON object a line on standard input, answered on standard output.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::lines::{Line, Lines};
use crate::{EXIT_CANNOT, EXIT_USAGE, complain};

/// The longest line, its end not counted. A packet has at most 65,575 bytes.
pub const MAX_LINE_BYTES: usize = 1 << 18;

/// The reason why a conversation ended before its input did.
#[derive(Debug)]
enum End {
    /// The input is not what it should be: a sentence.
    Refused(String),
    /// Input or output failed.
    Broken(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Answers standard input on standard output until it ends. `answer` takes a line, or at the end none, and returns the
/// answer, if there is one, or the reason of a refusal.
pub fn on_standard_streams<A: Serialize>(
    command: &str,
    answer: impl FnMut(Option<&[u8]>) -> Result<Option<A>, String>,
) -> ExitCode {
    let mut output = io::stdout().lock();
    let refusal = match converse(io::stdin().lock(), &mut output, answer) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(End::Broken(error)) => return complain(&format!("{command}: {error}"), EXIT_CANNOT),
        Err(End::Refused(refusal)) => refusal,
    };
    match writeln!(output, "{}", json!({ "error": refusal })).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::from(EXIT_USAGE),
        Err(error) => complain(&format!("{command}: {error}"), EXIT_CANNOT),
    }
}

fn converse<A: Serialize>(
    input: impl BufRead,
    output: &mut impl Write,
    mut answer: impl FnMut(Option<&[u8]>) -> Result<Option<A>, String>,
) -> Result<(), End> {
    let mut write = |answer: Option<A>| -> io::Result<()> {
        let Some(answer) = answer else { return Ok(()) };
        serde_json::to_writer(&mut *output, &answer)?;
        output.write_all(b"\n")
    };
    let mut lines = Lines::new(input, MAX_LINE_BYTES);
    let mut number = 0_u64;
    while let Some(line) = lines.next()? {
        number += 1;
        let refused = |reason: String| End::Refused(format!("line {number}: {reason}"));
        let Line::Complete(line) = line else {
            return Err(refused(format!("a line has at most {MAX_LINE_BYTES} bytes")));
        };
        write(answer(Some(line)).map_err(refused)?)?;
    }
    write(answer(None).map_err(End::Refused)?)?;
    Ok(output.flush()?)
}

/// The value of a line, or the mistake in it.
pub fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| words(&error))
}

/// The error about a line. An error about a value goes without its column, which the user does not know.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(reason) if error.is_data() => reason.to_owned(),
        _ => text,
    }
}

/// The bytes of a packet in hexadecimal.
pub fn bytes_of(packet: &str) -> Result<Vec<u8>, String> {
    let digit = |&octet: &u8| char::from(octet).to_digit(16);
    packet
        .as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(((digit(high)? << 4) | digit(low)?) as u8),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(|| "a packet is two hexadecimal digits a byte".to_owned())
}

/// The answers to these lines, and how the conversation ended: as it should, or refused.
#[cfg(test)]
pub fn conversation<A: Serialize>(
    answer: impl FnMut(Option<&[u8]>) -> Result<Option<A>, String>,
    lines: &[&str],
) -> (Vec<serde_json::Value>, Result<(), String>) {
    let (input, mut output) = (lines.join("\n") + "\n", Vec::new());
    let end = converse(input.as_bytes(), &mut output, answer).map_err(|end| match end {
        End::Refused(reason) => reason,
        End::Broken(error) => panic!("{error}"),
    });
    let text = String::from_utf8(output).expect("UTF-8");
    (text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), end)
}

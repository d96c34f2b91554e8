//! The lines that the agent reads from its orchestrator.

use std::io::BufReader;

use sixbench_agent::lines::{Line, Lines};
use sixbench_agent::protocol::{MAX_REQUEST_BYTES, parse};

/// Lines of requests, of which the agent reads or refuses each. A refusal has a reason.
pub fn request_lines(data: &[u8]) {
    // Small, so that lines are put together from parts.
    let mut lines = Lines::new(BufReader::with_capacity(7, data), MAX_REQUEST_BYTES);
    while let Some(line) = lines.next().expect("memory can be read") {
        let Line::Complete(line) = line else { continue };
        match parse(line) {
            Ok(numbered) => assert!(!numbered.request.op().is_empty()),
            Err(refusal) => assert!(!refusal.reason.is_empty()),
        }
    }
}

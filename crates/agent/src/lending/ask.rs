//! Questions about interfaces to programs of the system.

use std::process::Command;

use serde_json::Value;

/// The output of `ip`, which is JSON.
pub fn ip(arguments: &[&str]) -> Result<Value, String> {
    let text = output_of("ip", arguments)?;
    // If there is nothing to report, `ip` may print nothing at all.
    let text = if text.trim().is_empty() { "[]" } else { &text };
    serde_json::from_str(text).map_err(|error| format!("reading what ip {} says: {error}", arguments.join(" ")))
}

/// The output of a program.
pub fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let doing = |what: String| format!("running {program} {}: {what}", arguments.join(" "));
    let output = Command::new(program).args(arguments).output().map_err(|error| doing(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(doing(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")))
    }
}

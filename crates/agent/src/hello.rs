//! The first answer: the identity of this agent.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process;

use serde_json::json;

use crate::error::{Code, Error, Outcome};
use crate::protocol::{self, Hello};
use crate::sys;

/// Answers `hello`, or reports that the versions do not match.
pub fn answer(hello: &Hello, name: &str) -> Outcome {
    if hello.protocol != protocol::VERSION {
        let (ours, theirs) = (protocol::VERSION, hello.protocol);
        let message = format!(
            "this agent ({}) speaks version {ours} of the protocol, not {theirs} as sixbench {} asks; install the agent of the same release",
            env!("CARGO_PKG_VERSION"),
            hello.version
        );
        return Err(Error::new(Code::ProtocolMismatch, message).with("protocol", ours));
    }
    let (kernel, machine) =
        sys::kernel_and_machine().map_err(|error| Error::system("asking for the kernel's version", "uname", error))?;
    let netns = fs::metadata("/proc/thread-self/ns/net")
        .map_err(|error| Error::system("looking at /proc/thread-self/ns/net", "stat", error))?;
    Ok(json!({
        "protocol": protocol::VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "pid": process::id(),
        "name": name,
        "kernel": kernel,
        "machine": machine,
        "netns_inode": netns.ino(),
    }))
}

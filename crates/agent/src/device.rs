//! `device-start`, `device-counters`, `device-log`: a device under test, which is anyone's program in this node.
//!
//! It runs in mount and process namespaces of its own, whose first process is `init`. That one is killed with the
//! agent, and everything in the namespace with it.

mod hosted;
mod init;
mod listening;
mod log;
mod trial_end;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use self::hosted::Hosted;
use self::listening::Listens;
use crate::error::{Code, Error, Outcome};
use crate::job::Job;

pub use self::init::run as run_init;
pub use self::trial_end::Program;

/// Most characters of a command, and of its output, that messages quote.
const SHOWN_CHARS: usize = 200;

/// Start a program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The program and its arguments. It must stay in the foreground.
    argv: Vec<String>,
    /// The command that ends with 0 once the program is ready.
    ready: Vec<String>,
    /// Time that this may take, in nanoseconds.
    ready_timeout_ns: u64,
    /// Memory limit of each of its processes, in bytes (RLIMIT_DATA).
    memory_bytes: u64,
    /// The content of its private directory, by name.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Files of that directory which only their owner reads.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// The socket by which it is ready, where there is no command for that. With neither it is ready at once.
    #[serde(default)]
    listens: Option<Listens>,
    /// The name of the program in messages. Left out: its command.
    #[serde(default)]
    name: Option<String>,
}

/// A request for the resources that the program has used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCountersRequest {
    /// True if the peak of its memory counts from now on.
    #[serde(default)]
    reset_peak: bool,
}

/// A request for the program's output.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRequest {
    /// Number of bytes of output to skip.
    #[serde(default)]
    after: u64,
}

/// The device of a node, if it has one.
#[derive(Default)]
pub struct Device(Option<Arc<Hosted>>);

impl Device {
    /// Starts a program. The job is done when it is ready.
    pub fn start(&mut self, start: Start) -> Result<Job, Error> {
        let words = || start.argv.iter().chain(&start.ready).chain(start.files.keys());
        if start.argv.is_empty() || start.ready.is_empty() {
            return Err(Error::bad_request("device-start: argv and ready must not be empty"));
        }
        if words().any(|word| word.contains('\0')) || start.files.keys().any(|name| !is_file_name(name)) {
            return Err(Error::bad_request("device-start: a word has a zero byte, or a file name is empty or a path"));
        }
        if self.0.as_ref().is_some_and(|hosted| hosted.ended().is_none()) {
            return Err(Error::new(Code::DeviceExists, "device-start: this node has a device already"));
        }
        let hosted = Hosted::new(start.called());
        self.0 = Some(Arc::clone(&hosted));
        Ok(Box::new(move || hosted.start(start)))
    }

    /// The resources that the program has used, and the sockets on which it listens.
    pub fn counters(&self, request: &DeviceCountersRequest) -> Outcome {
        let hosted = self.present()?;
        let log_bytes = hosted.log_bytes();
        if let Some(text) = hosted.ended() {
            return Ok(json!({ "ended": text, "log_bytes": log_bytes }));
        }
        let doing = "reading what the device uses";
        let used = hosted.used(request.reset_peak).map_err(|e| Error::system(doing, "read", e))?;
        let listening = listening::read().map_err(|error| Error::system(doing, "read", error))?;
        Ok(json!({
            "cpu_ns": used.cpu_ns,
            "peak_memory_bytes": used.peak_memory_bytes,
            "processes": used.processes,
            "listening": listening,
            "log_bytes": log_bytes,
        }))
    }

    /// The program's output, as far as it is kept.
    pub fn log(&self, request: &LogRequest) -> Outcome {
        let (text, omitted_bytes) = self.present()?.log_after(request.after);
        Ok(json!({ "text": text, "omitted_bytes": omitted_bytes }))
    }

    fn present(&self) -> Result<&Hosted, Error> {
        self.0.as_deref().ok_or_else(|| Error::new(Code::NoDevice, "this node has no device"))
    }
}

/// True if a name is that of a file in a directory.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

impl Start {
    /// The name of the program in messages.
    fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("`{}`", shown(&self.argv)))
    }
}

/// A command in one line.
fn shown(argv: &[String]) -> String {
    argv.join(" ").chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn start(files: &[&str]) -> Start {
        Start {
            argv: vec!["true".to_owned()],
            ready: vec!["true".to_owned()],
            ready_timeout_ns: 1,
            memory_bytes: 100 << 20,
            files: files.iter().map(|name| ((*name).to_owned(), String::new())).collect(),
            secrets: BTreeMap::new(),
            listens: None,
            name: None,
        }
    }

    #[test]
    fn files_have_names_and_stay_in_their_directory() {
        for name in ["", ".", "..", "a/b", "/etc/passwd", "a\0b"] {
            let refused = Device::default().start(start(&[name])).err().expect(name);
            assert_eq!(refused.code, Code::BadRequest, "{name:?}");
        }
        assert!(Device::default().start(start(&["tayga.conf", "..x"])).is_ok());
    }

    #[test]
    fn a_device_is_called_by_its_name_or_its_command() {
        assert_eq!(start(&[]).called(), "`true`");
        assert_eq!(Start { name: Some("the guest".to_owned()), ..start(&[]) }.called(), "the guest");
    }

    #[test]
    fn there_is_nothing_to_ask_of_a_node_without_a_device() {
        let refused =
            Device::default().counters(&DeviceCountersRequest { reset_peak: false }).expect_err("there is none");
        assert_eq!(refused.code, Code::NoDevice);
    }
}

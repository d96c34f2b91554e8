//! `device-start`, `device-counters`, `device-log`: a device under test, which is anyone's program in this node.
//!
//! It runs in mount and process namespaces of its own, whose first process is `init`. That one is killed with the
//! agent, and everything in the namespace with it.

mod init;
mod listening;
mod log;
mod usage;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use self::init::{Ended, Status};
use self::log::Log;
use crate::error::{Code, Error, Outcome};
use crate::job::Job;
use crate::sys;

pub use self::init::run as run_init;

/// Time for the first process to report the result of a start, beyond the time that the program has.
const GRACE: Duration = Duration::from_secs(5);
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

/// A program that was started.
struct Hosted {
    /// The name of the program in messages.
    shown: String,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// The process that holds the namespaces' first one.
    holder: Option<u32>,
    log: Log,
}

#[derive(Default)]
enum Phase {
    #[default]
    Starting,
    Ready {
        after_ns: u64,
    },
    Ended(String),
}

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
        if self.0.as_ref().is_some_and(|hosted| !matches!(hosted.lock().phase, Phase::Ended(_))) {
            return Err(Error::new(Code::DeviceExists, "device-start: this node has a device already"));
        }
        let hosted = Arc::new(Hosted { shown: start.called(), state: Mutex::default(), has_changed: Condvar::new() });
        self.0 = Some(Arc::clone(&hosted));
        let limit = Duration::from_nanos(start.ready_timeout_ns) + GRACE;
        Ok(Box::new(move || {
            let watched = Arc::clone(&hosted);
            // The child ends with the thread that starts it, so this one stays.
            let work = move || watched.watch(&start);
            thread::Builder::new()
                .name("device".to_owned())
                .spawn(work)
                .map_err(|error| Error::system("starting a thread for device-start", "clone", error))?;
            hosted.wait_until_ready(limit)
        }))
    }

    /// The resources that the program has used, and the sockets on which it listens.
    pub fn counters(&self, request: &DeviceCountersRequest) -> Outcome {
        let state = self.present()?.lock();
        let log_bytes = state.log.total_bytes();
        if let Phase::Ended(text) = &state.phase {
            return Ok(json!({ "ended": text, "log_bytes": log_bytes }));
        }
        let holder = state.holder;
        drop(state);
        let doing = "reading what the device uses";
        let used = match holder {
            Some(holder) => usage::read(holder, request.reset_peak).map_err(|e| Error::system(doing, "read", e))?,
            None => usage::Usage::default(),
        };
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
        let state = self.present()?.lock();
        let (text, omitted_bytes) = state.log.after(request.after);
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

impl Hosted {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, phase: Phase) {
        self.lock().phase = phase;
        self.has_changed.notify_all();
    }

    fn wait_until_ready(&self, limit: Duration) -> Outcome {
        let (state, timeout) = self
            .has_changed
            .wait_timeout_while(self.lock(), limit, |state| matches!(state.phase, Phase::Starting))
            .unwrap_or_else(PoisonError::into_inner);
        match &state.phase {
            Phase::Ready { after_ns } => Ok(json!({ "ready_after_ns": after_ns })),
            Phase::Ended(text) => Err(Error::new(Code::DeviceFailed, text.clone())),
            Phase::Starting => {
                debug_assert!(timeout.timed_out());
                Err(Error::new(Code::DeviceFailed, format!("{} was neither ready nor ended in time", self.shown)))
            }
        }
    }

    /// Starts the program and watches it to its end.
    fn watch(self: &Arc<Self>, start: &Start) {
        let ended = match self.run(start) {
            Ok(text) => text,
            Err(error) => format!("starting {}: {error}", self.shown),
        };
        self.set(Phase::Ended(ended));
    }

    fn run(self: &Arc<Self>, start: &Start) -> io::Result<String> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]).arg(std::env::current_exe()?).arg(init::COMMAND);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::tie_to_this_thread(&mut command);
        let mut child = command.spawn()?;
        self.lock().holder = Some(child.id());
        let listener = self.listen(&mut child)?;
        let followed = self.follow(&mut child, start);
        // Whatever went wrong, nothing of it stays.
        let _ = child.kill();
        let status = child.wait()?;
        let _ = listener.join();
        let last = self.lock().log.last_line(SHOWN_CHARS);
        Ok(self.words(start, followed?, status, &last))
    }

    /// Lets a thread keep what the program says.
    fn listen(self: &Arc<Self>, child: &mut Child) -> io::Result<thread::JoinHandle<()>> {
        let hosted = Arc::clone(self);
        let mut pipe = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        thread::Builder::new().name("device-log".to_owned()).spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                hosted.lock().log.add(&chunk[..count]);
            }
        })
    }

    /// Sends the first process its orders, and receives its reports until the end.
    fn follow(&self, child: &mut Child, start: &Start) -> io::Result<Option<Ended>> {
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // A process that has gone before it read the start says why.
        let _ = send(input, start);
        let mut ended = None;
        for line in BufReader::new(output).lines() {
            match serde_json::from_str(&line?)? {
                Status::Ready { after_ns } => self.set(Phase::Ready { after_ns }),
                Status::Ended(how) => ended = Some(how),
            }
        }
        Ok(ended)
    }

    /// The message about the program's end, with the last line of its output.
    fn words(&self, start: &Start, ended: Option<Ended>, holder: ExitStatus, last: &str) -> String {
        let shown = &self.shown;
        let (mut text, largest_bytes) = match ended {
            Some(Ended::NotStarted { error }) => return format!("starting {shown}: {error}"),
            Some(Ended::NotReady { attempt, is_too_late }) => {
                let limit_s = start.ready_timeout_ns as f64 / 1e9;
                let after = if is_too_late { format!(" after {limit_s} s") } else { String::new() };
                (format!("{shown} was not ready{after}: `{}` {attempt}", self::shown(&start.ready)), 0)
            }
            Some(Ended::Went { how, was_ready, left_others, largest_bytes }) => {
                let when = if was_ready { "" } else { " before it was ready" };
                let others = if left_others {
                    ", and some of its processes went on in the background: start it in the foreground"
                } else {
                    ""
                };
                (format!("{shown} {how}{when}{others}"), largest_bytes)
            }
            None => (format!("another program ended {shown}, or it could not be started: {}", end_in_words(holder)), 0),
        };
        // A program that does not get memory rarely says so.
        if largest_bytes > start.memory_bytes / 2 {
            let (used, may) = (largest_bytes >> 20, start.memory_bytes >> 20);
            text += &format!("; one of its processes used {used} MiB of memory, of {may} MiB that it may use");
        }
        if !last.is_empty() {
            text += &format!("; its last output: {last}");
        }
        text
    }
}

impl Start {
    /// The name of the program in messages.
    fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("`{}`", shown(&self.argv)))
    }
}

fn send(mut input: ChildStdin, start: &Start) -> io::Result<()> {
    input.write_all(&serde_json::to_vec(start)?)
}

/// A command in one line.
fn shown(argv: &[String]) -> String {
    argv.join(" ").chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(SHOWN_CHARS).collect()
}

/// The end of a process, in words.
fn end_in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(files: &[&str]) -> Start {
        Start {
            argv: vec!["true".to_owned()],
            ready: vec!["true".to_owned()],
            ready_timeout_ns: 1,
            memory_bytes: 100 << 20,
            files: files.iter().map(|name| ((*name).to_owned(), String::new())).collect(),
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

    #[test]
    fn every_end_is_told_with_the_last_words() {
        let hosted = Hosted { shown: "`tayga -d`".to_owned(), state: Mutex::default(), has_changed: Condvar::new() };
        let went = |left_others, largest_mib: u64| {
            let how = "ended with 0".to_owned();
            Some(Ended::Went { how, was_ready: true, left_others, largest_bytes: largest_mib << 20 })
        };
        let words = |ended, last| hosted.words(&start(&[]), ended, ExitStatus::from_raw(9), last);
        assert_eq!(words(went(false, 1), ""), "`tayga -d` ended with 0");
        assert_eq!(
            words(went(true, 1), "bye"),
            "`tayga -d` ended with 0, and some of its processes went on in the background: start it in the foreground; \
             its last output: bye"
        );
        assert_eq!(
            words(went(false, 90), ""),
            "`tayga -d` ended with 0; one of its processes used 90 MiB of memory, of 100 MiB that it may use"
        );
        assert_eq!(
            words(None, ""),
            "another program ended `tayga -d`, or it could not be started: was ended by signal 9"
        );
    }
}

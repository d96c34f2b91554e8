//! `exec`: a command in the node's namespace.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::{Code, Error, Outcome};
use crate::job::Job;
use crate::sys;

/// Most bytes of each output that are kept.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Most commands that run at once.
const MAX_COMMANDS: usize = 16;
/// Bytes that one read takes, before the other outputs get their turn: a pipe's usual size.
const CHUNK_BYTES: usize = 64 << 10;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecRequest {
    argv: Vec<String>,
    #[serde(default)]
    stdin: String,
    #[serde(default = "default_timeout_ns")]
    timeout_ns: u64,
}

fn default_timeout_ns() -> u64 {
    30_000_000_000
}

/// The commands that run now.
#[derive(Default)]
pub struct Commands {
    /// Each leads a process group of its own. An entry goes before its leader is reaped: until then its number is not
    /// used again.
    groups: Mutex<HashSet<Pid>>,
    /// Commands accepted and not yet done.
    accepted: AtomicUsize,
}

impl Commands {
    /// Accepts a command. The job runs it to its end.
    pub fn accept(self: &Arc<Self>, request: ExecRequest) -> Result<Job, Error> {
        if request.argv.is_empty() {
            return Err(Error::bad_request("exec: argv is empty"));
        }
        if request.argv.iter().any(|argument| argument.contains('\0')) {
            return Err(Error::bad_request("exec: argv has a zero byte"));
        }
        let place = Place(Arc::clone(self));
        if self.accepted.fetch_add(1, Ordering::Relaxed) >= MAX_COMMANDS {
            return Err(Error::new(Code::Busy, format!("exec: {MAX_COMMANDS} commands are already running")));
        }
        Ok(Box::new(move || place.0.run(request)))
    }

    /// Kills every command and what it started in its process group.
    pub fn kill_all(&self) {
        for &group in self.groups().iter() {
            // It may have ended already.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    fn run(&self, request: ExecRequest) -> Outcome {
        let doing = format!("running `{:.200}`", request.argv.join(" "));
        let mut command = Command::new(&request.argv[0]);
        command.args(&request.argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        sys::tie_to_this_thread(&mut command);
        let child = command.spawn().map_err(|error| Error::system(&doing, "execve", error))?;
        let mut running = Running::new(child, self);
        let timeout = Duration::from_nanos(request.timeout_ns);
        let (outputs, has_ended) = running
            .communicate(request.stdin.into_bytes(), timeout)
            .map_err(|error| Error::system(&doing, "poll", error))?;
        let status = running.end().map_err(|error| Error::system(&doing, "wait", error))?;
        if !has_ended {
            let message = format!("{doing}: it was not done after {} ms and was killed", timeout.as_millis());
            let mut error = Error::new(Code::Timeout, message);
            error.context = outputs;
            return Err(error);
        }
        let mut answer = Value::Object(outputs);
        answer["exit"] = json!(exit_number(status));
        Ok(answer)
    }

    fn groups(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place for a command, from acceptance to the end.
struct Place(Arc<Commands>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.accepted.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The exit code, or the signal's number below zero.
fn exit_number(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or_else(|| status.into_raw())
}

/// A command at work. Dropped, it is killed and reaped.
struct Running<'a> {
    child: Child,
    group: Pid,
    commands: &'a Commands,
    status: Option<ExitStatus>,
}

impl<'a> Running<'a> {
    fn new(child: Child, commands: &'a Commands) -> Self {
        let group = Pid::from_raw(child.id() as i32);
        commands.groups().insert(group);
        Self { child, group, commands, status: None }
    }

    /// Writes `input` to the command and reads its output, until it ends (`true`) or `timeout` is over (`false`).
    fn communicate(&mut self, input: Vec<u8>, timeout: Duration) -> io::Result<(Map<String, Value>, bool)> {
        let deadline = Instant::now().checked_add(timeout);
        let exit = sys::pidfd(self.child.id())?;
        let mut input = Input::new(self.child.stdin.take(), input)?;
        let mut stdout = Output::new(self.child.stdout.take())?;
        let mut stderr = Output::new(self.child.stderr.take())?;
        let has_ended = loop {
            let descriptors = [
                Some((exit.as_fd(), PollFlags::POLLIN)),
                input.pipe.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::POLLOUT)),
                stdout.pipe.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::POLLIN)),
                stderr.pipe.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::POLLIN)),
            ];
            let mut descriptors: Vec<PollFd> =
                descriptors.into_iter().flatten().map(|(fd, flags)| PollFd::new(fd, flags)).collect();
            match poll(&mut descriptors, remaining(deadline)) {
                Ok(_) | Err(Errno::EINTR) => (),
                Err(errno) => return Err(errno.into()),
            }
            let has_ended = descriptors[0].any().unwrap_or(false);
            input.write()?;
            stdout.read()?;
            stderr.read()?;
            if has_ended || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break has_ended;
            }
        };
        if has_ended {
            // Processes that it left running would otherwise go on writing, and outlive the agent.
            self.kill_group();
        }
        stdout.drain()?;
        stderr.drain()?;
        let mut outputs = Map::new();
        stdout.put_into(&mut outputs, "stdout");
        stderr.put_into(&mut outputs, "stderr");
        Ok((outputs, has_ended))
    }

    /// Kills what is left of the group and reaps the command.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        self.kill_group();
        self.commands.groups().remove(&self.group);
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    fn kill_group(&self) {
        // It may have ended already; until it is reaped, the number is its own.
        let _ = killpg(self.group, Signal::SIGKILL);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Nobody is left to tell an error to.
        let _ = self.end();
    }
}

fn remaining(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else { return PollTimeout::NONE };
    // The time is rounded up, so that the deadline is over when poll returns; a longer wait is done in parts.
    let millis = deadline.saturating_duration_since(Instant::now()).as_nanos().div_ceil(1_000_000);
    PollTimeout::from(u16::try_from(millis).unwrap_or(u16::MAX))
}

/// The command's standard input, closed as soon as everything is written.
struct Input {
    pipe: Option<ChildStdin>,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    fn new(pipe: Option<ChildStdin>, bytes: Vec<u8>) -> io::Result<Self> {
        pipe.as_ref().map(set_nonblocking).transpose()?;
        Ok(Self { pipe: pipe.filter(|_| !bytes.is_empty()), bytes, written: 0 })
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        match pipe.write(&self.bytes[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if is_not_now(&error) => return Ok(()),
            // A command need not read its input.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.written = self.bytes.len(),
            Err(error) => return Err(error),
        }
        if self.written == self.bytes.len() {
            self.pipe = None;
        }
        Ok(())
    }
}

/// An output of the command.
struct Output<P> {
    pipe: Option<P>,
    kept: Vec<u8>,
    omitted_bytes: u64,
}

impl<P: Read + AsFd> Output<P> {
    fn new(pipe: Option<P>) -> io::Result<Self> {
        pipe.as_ref().map(set_nonblocking).transpose()?;
        Ok(Self { pipe, kept: Vec::new(), omitted_bytes: 0 })
    }

    /// Reads once; `false` when there is nothing to read now, or ever.
    fn read(&mut self) -> io::Result<bool> {
        let Some(pipe) = &mut self.pipe else { return Ok(false) };
        let mut chunk = [0; CHUNK_BYTES];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let kept_bytes = count.min(MAX_OUTPUT_BYTES - self.kept.len());
                self.kept.extend_from_slice(&chunk[..kept_bytes]);
                self.omitted_bytes += (count - kept_bytes) as u64;
            }
            Err(error) if is_not_now(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(self.pipe.is_some())
    }

    /// Reads the output that a command left in the pipe when it ended. Other holders of the pipe may write on, but are
    /// not heard for long.
    fn drain(&mut self) -> io::Result<()> {
        for _ in 0..MAX_OUTPUT_BYTES / CHUNK_BYTES {
            if !self.read()? {
                break;
            }
        }
        Ok(())
    }

    fn put_into(self, answer: &mut Map<String, Value>, name: &str) {
        answer.insert(name.to_owned(), Value::String(String::from_utf8_lossy(&self.kept).into_owned()));
        if self.omitted_bytes > 0 {
            answer.insert(format!("{name}_omitted_bytes"), json!(self.omitted_bytes));
        }
    }
}

fn set_nonblocking(pipe: &impl AsFd) -> io::Result<()> {
    fcntl(pipe.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(())
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

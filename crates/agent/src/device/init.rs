//! The first process in a device's namespaces: makes its private directory, starts the program, and reports when it is
//! ready and how it ended.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::resource::{Resource, Usage, UsageWho, getrusage, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::Start;
use super::listening::{self, Listens};

/// The command that the agent starts itself with as this process.
pub const COMMAND: &str = "device-init";

/// Gets a file system of its own: many programs have files there of which the machine has only one.
const RUN: &str = "/run";
/// The program's private directory.
pub const DIRECTORY: &str = "/run/device";
/// The output of the last attempt to find the program ready.
const READY_OUTPUT: &str = "/run/ready-said";
/// Mount options of the private file system, with its size.
const RUN_OPTIONS: &str = "size=64m,mode=755";
/// The search path of Debian's root.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Time between two looks whether a child has ended, and between two attempts to find the program ready.
const POLL: Duration = Duration::from_millis(2);
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);
/// The kernel's out-of-memory killer takes the device before anything else (proc_pid_oom_score_adj(5)).
const FIRST_TO_GO: &str = "1000";

/// A message on standard output, one a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The program is ready.
    Ready { after_ns: u64 },
    /// The program and all others have ended.
    Ended(Ended),
}

/// The end of the program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It never began.
    NotStarted { error: String },
    /// It was not ready in time.
    NotReady {
        /// The result of the last attempt to find it ready.
        attempt: String,
        /// True if all its time was over.
        is_too_late: bool,
    },
    /// It ended by itself.
    Went {
        how: String,
        /// Its exit code; absent where a signal ended it.
        exit: Option<i32>,
        was_ready: bool,
        /// True if other processes were left in the namespace.
        left_others: bool,
        /// Time from its start to its end.
        ran_ns: u64,
        /// CPU time of its processes that have ended.
        cpu_ns: u64,
        /// The most that one of its processes had resident.
        largest_bytes: u64,
    },
}

/// Runs as that process, until the program ends. When this one ends, the kernel ends all others of the namespace.
pub fn run() -> ExitCode {
    if std::process::id() != 1 {
        return crate::complain(&format!("{COMMAND} is for the agent itself, in a namespace of processes"), 2);
    }
    let ended = begin().unwrap_or_else(|error| Ended::NotStarted { error });
    tell(&Status::Ended(ended));
    ExitCode::SUCCESS
}

fn tell(status: &Status) {
    let mut line = serde_json::to_string(status).unwrap_or_default();
    line.push('\n');
    // The agent is gone: so is this, at once.
    let _ = io::stdout().write_all(line.as_bytes());
}

fn begin() -> Result<Ended, String> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(|error| format!("reading what to start: {error}"))?;
    let start: Start = serde_json::from_slice(&text).map_err(|error| format!("reading what to start: {error}"))?;
    prepare(&start)?;
    let started = Instant::now();
    let program = spawn(&start.argv, Output::Log).map_err(|error| error.to_string())?;
    if let Some(ended) = until_ready(&start, program, started) {
        return Ok(ended);
    }
    tell(&Status::Ready { after_ns: started.elapsed().as_nanos() as u64 });
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == Some(program) => return Ok(went(status, true, started)),
            // Orphans end here too.
            Ok(_) | Err(Errno::EINTR) => (),
            Err(errno) => return Err(format!("waiting for it: {errno}")),
        }
    }
}

/// Makes the directory, and sets the limits that the program inherits.
fn prepare(start: &Start) -> Result<(), String> {
    let failed = |doing: &str, error: &dyn std::fmt::Display| format!("{doing}: {error}");
    mount(Some("none"), RUN, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(RUN_OPTIONS))
        .map_err(|errno| failed("mounting a private /run", &errno))?;
    DirBuilder::new().mode(0o755).create(DIRECTORY).map_err(|error| failed("making {dir}", &error))?;
    for (files, mode) in [(&start.files, 0o755), (&start.secrets, 0o600)] {
        for (name, content) in files {
            write(&Path::new(DIRECTORY).join(name), content, mode)
                .map_err(|error| failed(&format!("writing {{dir}}/{name}"), &error))?;
        }
    }
    std::env::set_current_dir(DIRECTORY).map_err(|error| failed("going to {dir}", &error))?;
    setrlimit(Resource::RLIMIT_DATA, start.memory_bytes, start.memory_bytes)
        .map_err(|errno| failed("limiting its memory", &errno))?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(|errno| failed("forbidding core dumps", &errno))?;
    fs::write("/proc/self/oom_score_adj", FIRST_TO_GO).map_err(|error| failed("offering it to the OOM killer", &error))
}

/// Writes a file that nobody can read before it has this mode.
fn write(place: &Path, content: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(place)?;
    file.write_all(content.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))
}

enum Output {
    /// Standard error of this process.
    Log,
    File(File),
}

fn spawn(argv: &[String], output: Output) -> io::Result<Pid> {
    let file = match output {
        Output::Log => File::from(io::stderr().as_fd().try_clone_to_owned()?),
        Output::File(file) => file,
    };
    let child = Command::new(&argv[0])
        .args(&argv[1..])
        .env_clear()
        .envs([("PATH", PATH), ("HOME", DIRECTORY), ("LC_ALL", "C.UTF-8")])
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()?;
    Ok(Pid::from_raw(child.id() as i32))
}

/// Waits until the program is ready. Else gives how it ended.
fn until_ready(start: &Start, program: Pid, started: Instant) -> Option<Ended> {
    if let Some(socket) = start.listens {
        return until_it_listens(socket, start, program, started);
    }
    if start.ready.is_empty() {
        return None;
    }
    let command = super::shown(&start.ready);
    let limit = Duration::from_nanos(start.ready_timeout_ns);
    let mut last = format!("`{command}` did not end");
    while started.elapsed() < limit {
        let attempt = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(READY_OUTPUT)
            .and_then(|file| spawn(&start.ready, Output::File(file)));
        let attempt = match attempt {
            Ok(attempt) => attempt,
            Err(error) => {
                let attempt = format!("`{command}` could not be run: {error}");
                return Some(Ended::NotReady { attempt, is_too_late: false });
            }
        };
        match wait_for(attempt, program, started + limit) {
            Waited::Attempt(WaitStatus::Exited(_, 0)) => return None,
            Waited::Attempt(status) => last = format!("`{command}` {}", with_words(how(status))),
            Waited::Program(status) => {
                end(attempt);
                return Some(went(status, false, started));
            }
            Waited::TooLong => end(attempt),
        }
        thread::sleep(BETWEEN_ATTEMPTS);
    }
    Some(Ended::NotReady { attempt: last, is_too_late: true })
}

/// Waits until it listens. Else gives how it ended.
fn until_it_listens(socket: Listens, start: &Start, program: Pid, started: Instant) -> Option<Ended> {
    let limit = Duration::from_nanos(start.ready_timeout_ns);
    while started.elapsed() < limit {
        match listening::has(socket) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(error) => {
                let attempt = format!("its sockets could not be read: {error}");
                return Some(Ended::NotReady { attempt, is_too_late: false });
            }
        }
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            match status.pid() {
                Some(pid) if pid == program => return Some(went(status, false, started)),
                // Orphans end here too.
                Some(_) => {}
                None => break,
            }
        }
        thread::sleep(POLL);
    }
    Some(Ended::NotReady { attempt: format!("it does not listen at {socket}"), is_too_late: true })
}

fn end(attempt: Pid) {
    // It may have ended already.
    let _ = kill(attempt, Signal::SIGKILL);
    let _ = waitpid(attempt, None);
}

enum Waited {
    Attempt(WaitStatus),
    Program(WaitStatus),
    TooLong,
}

fn wait_for(attempt: Pid, program: Pid, deadline: Instant) -> Waited {
    while Instant::now() < deadline {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(status) if status.pid() == Some(attempt) => return Waited::Attempt(status),
            Ok(status) if status.pid() == Some(program) => return Waited::Program(status),
            _ => thread::sleep(POLL),
        }
    }
    Waited::TooLong
}

/// Adds the last line of the attempt's output.
fn with_words(how: String) -> String {
    let output = fs::read_to_string(READY_OUTPUT).unwrap_or_default();
    match output.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("{how} ({line:.200})"),
        None => how,
    }
}

fn went(status: WaitStatus, was_ready: bool, started: Instant) -> Ended {
    let ran_ns = started.elapsed().as_nanos() as u64;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
    let largest_kib = usage.as_ref().map_or(0, Usage::max_rss);
    let cpu_us = usage.map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds());
    Ended::Went {
        how: how(status),
        exit: if let WaitStatus::Exited(_, code) = status { Some(code) } else { None },
        was_ready,
        ran_ns,
        cpu_ns: u64::try_from(cpu_us).unwrap_or(0) * 1_000,
        // This signals every process of the namespace but this one (kill(2)).
        left_others: kill(Pid::from_raw(-1), None).is_ok(),
        largest_bytes: u64::try_from(largest_kib).unwrap_or(0) << 10,
    }
}

fn how(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("ended with {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("was ended by signal {} ({signal})", signal as i32),
        other => format!("ended ({other:?})"),
    }
}

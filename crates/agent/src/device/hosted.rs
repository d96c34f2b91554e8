//! A program in namespaces of its own, from its start to its end.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::init::{self, Ended, Status};
use super::log::Log;
use super::usage::{self, Usage};
use super::{SHOWN_CHARS, Start};
use crate::error::{Code, Error, Outcome};
use crate::sys;

/// Time for the first process to report the result of a start, beyond the time that the program has.
const GRACE: Duration = Duration::from_secs(5);

/// A program that was started.
pub struct Hosted {
    /// The name of the program in messages.
    shown: String,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// The process that holds the namespaces' first one, until it has ended.
    holder: Option<u32>,
    /// True if it was to end.
    is_stopped: bool,
    log: Log,
}

#[derive(Default)]
enum Phase {
    #[default]
    Starting,
    Ready {
        after_ns: u64,
    },
    Ended {
        words: String,
        account: Account,
    },
}

/// The account of a program that has ended by itself. Empty: it was ended.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Its exit code; absent where a signal ended it.
    pub exit: Option<i32>,
    /// Time from its start to its end.
    pub ran_ns: Option<u64>,
    /// CPU time of all its processes.
    pub cpu_ns: Option<u64>,
    /// The most that one of its processes had resident.
    pub peak_memory_bytes: Option<u64>,
}

impl Hosted {
    /// A program that has not begun.
    pub fn new(shown: String) -> Arc<Self> {
        Arc::new(Self { shown, state: Mutex::default(), has_changed: Condvar::new() })
    }

    /// Starts it, and waits until it is ready.
    pub fn start(self: &Arc<Self>, start: Start) -> Outcome {
        let watched = Arc::clone(self);
        let limit = Duration::from_nanos(start.ready_timeout_ns) + GRACE;
        // The child ends with the thread that starts it, so this one stays.
        let work = move || watched.watch(&start);
        thread::Builder::new()
            .name("device".to_owned())
            .spawn(work)
            .map_err(|error| Error::system(format!("starting a thread for {}", self.shown), "clone", error))?;
        self.wait_until_ready(limit)
    }

    /// The message about its end; absent: it has not ended.
    pub fn ended(&self) -> Option<String> {
        match &self.lock().phase {
            Phase::Ended { words, .. } => Some(words.clone()),
            _ => None,
        }
    }

    /// The account of its end; absent: it has not ended.
    pub fn account(&self) -> Option<Account> {
        match &self.lock().phase {
            Phase::Ended { account, .. } => Some(account.clone()),
            _ => None,
        }
    }

    /// The resources that it has used so far.
    pub fn used(&self, reset_peak: bool) -> io::Result<Usage> {
        let holder = self.lock().holder;
        holder.map_or_else(|| Ok(Usage::default()), |holder| usage::read(holder, reset_peak))
    }

    /// Number of bytes of its output.
    pub fn log_bytes(&self) -> u64 {
        self.lock().log.total_bytes()
    }

    /// Its output after this many bytes, as far as it is kept, and the number of bytes of it that are not.
    pub fn log_after(&self, bytes: u64) -> (String, u64) {
        self.lock().log.after(bytes)
    }

    /// Waits for its end, for this time at most. True: it has ended.
    pub fn wait_for_end(&self, longest: Duration) -> bool {
        let (state, _) = self
            .has_changed
            .wait_timeout_while(self.lock(), longest, |state| !matches!(state.phase, Phase::Ended { .. }))
            .unwrap_or_else(PoisonError::into_inner);
        matches!(state.phase, Phase::Ended { .. })
    }

    /// Ends it and all its processes, and waits until they are gone.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        if let Some(holder) = state.holder {
            usage::end_namespace(holder);
        }
        // One that never began has no end.
        let goes_on = |state: &mut State| match state.phase {
            Phase::Starting => state.holder.is_some(),
            Phase::Ready { .. } => true,
            Phase::Ended { .. } => false,
        };
        drop(self.has_changed.wait_while(state, goes_on));
    }

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
            Phase::Ended { words, .. } => Err(Error::new(Code::DeviceFailed, words.clone())),
            Phase::Starting => {
                debug_assert!(timeout.timed_out());
                Err(Error::new(Code::DeviceFailed, format!("{} was neither ready nor ended in time", self.shown)))
            }
        }
    }

    /// Starts the program and watches it to its end.
    fn watch(self: &Arc<Self>, start: &Start) {
        let (words, account) =
            self.run(start).unwrap_or_else(|error| (format!("starting {}: {error}", self.shown), Account::default()));
        self.set(Phase::Ended { words, account });
    }

    fn run(self: &Arc<Self>, start: &Start) -> io::Result<(String, Account)> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]).arg(std::env::current_exe()?).arg(init::COMMAND);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::tie_to_this_thread(&mut command);
        let mut child = command.spawn()?;
        self.lock().holder = Some(child.id());
        let listener = self.listen(&mut child)?;
        let followed = self.follow(&mut child, start);
        // From here on its number may be another's.
        self.lock().holder = None;
        // Whatever went wrong, nothing of it stays.
        let _ = child.kill();
        let status = child.wait()?;
        let _ = listener.join();
        let last = self.lock().log.last_line(SHOWN_CHARS);
        let ended = followed?;
        let account = ended.as_ref().map(Ended::account).unwrap_or_default();
        Ok((self.words(start, ended, status, &last), account))
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
                (format!("{shown} was not ready{after}: {attempt}"), 0)
            }
            Some(Ended::Went { how, was_ready, left_others, largest_bytes, .. }) => {
                let when = if was_ready { "" } else { " before it was ready" };
                let others = if left_others {
                    ", and some of its processes went on in the background: start it in the foreground"
                } else {
                    ""
                };
                (format!("{shown} {how}{when}{others}"), largest_bytes)
            }
            None if self.lock().is_stopped => return format!("{shown} was ended with its trial"),
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

impl Ended {
    /// The account of a program that went by itself.
    fn account(&self) -> Account {
        match self {
            Ended::Went { exit, ran_ns, cpu_ns, largest_bytes, .. } => Account {
                exit: *exit,
                ran_ns: Some(*ran_ns),
                cpu_ns: Some(*cpu_ns),
                peak_memory_bytes: Some(*largest_bytes),
            },
            Ended::NotStarted { .. } | Ended::NotReady { .. } => Account::default(),
        }
    }
}

fn send(mut input: ChildStdin, start: &Start) -> io::Result<()> {
    input.write_all(&serde_json::to_vec(start)?)
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
    use super::super::tests::start;
    use super::*;

    #[test]
    fn every_end_is_told_with_the_last_words() {
        let hosted = Hosted::new("`tayga -d`".to_owned());
        let went = |left_others, largest_mib: u64| {
            Some(Ended::Went {
                how: "ended with 0".to_owned(),
                exit: Some(0),
                was_ready: true,
                left_others,
                ran_ns: 1,
                cpu_ns: 1,
                largest_bytes: largest_mib << 20,
            })
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
        hosted.lock().is_stopped = true;
        assert_eq!(words(None, ""), "`tayga -d` was ended with its trial");
    }
}

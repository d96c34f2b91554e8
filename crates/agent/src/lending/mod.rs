//! Interfaces of the machine that a node borrows, and that are returned whatever happens.
//!
//! Besides the node, a second process ([`keeper`]) stays in the machine's own namespace. It examines and records the
//! interfaces, moves them into the node's namespace, and brings them back when its input ends. Its input ends when the
//! node ends, however that ends. If the keeper is killed, the node starts another one that brings them back, and ends.
//! If both are killed at once, the kernel returns real interfaces by itself. The record ([`record`]) has their other
//! settings, which the next keeper on the machine restores.

mod ask;
mod examine;
mod hardware_clock;
mod keeper;
mod objections;
mod record;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::sched::{CloneFlags, setns};

pub use keeper::{COMMAND, run as run_keeper};
use keeper::{EVEN_IN_USE, RETURN};
use record::mend_all;

/// Lines that a keeper prints when the interfaces were found and recorded, and when they are in the node.
const READY: &str = "ready";
const TAKEN: &str = "taken";
/// Beginning of the line that it prints, with a reason, where it cannot.
const REFUSED: &str = "no ";
/// Line that it reads when the node's namespace is there.
const TAKE: &str = "take";

/// The interfaces to borrow.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Wanted {
    /// Names of interfaces.
    pub interfaces: Vec<String>,
    /// True if those that are in use are borrowed too.
    pub even_in_use: bool,
}

/// A keeper that is at work, seen from the node.
pub struct Keeper {
    child: Child,
    stdin: ChildStdin,
    output: BufReader<ChildStdout>,
    home: File,
    wanted: Wanted,
}

impl Keeper {
    /// Starts it, in the machine's namespace. The error is for the user; nothing was touched then.
    pub fn start(wanted: &Wanted) -> Result<Self, String> {
        let home = File::open("/proc/thread-self/ns/net")
            .map_err(|error| format!("opening the machine's network namespace: {error}"))?;
        let (child, stdin, output) = spawn(wanted, wanted.even_in_use.then_some(EVEN_IN_USE))?;
        let mut keeper = Self { child, stdin, output, home, wanted: wanted.clone() };
        keeper.hear(READY)?;
        Ok(keeper)
    }

    /// Makes the keeper move the interfaces into this process's namespace.
    pub fn take(&mut self) -> Result<(), String> {
        // A keeper that has ended has said why.
        let _ = writeln!(self.stdin, "{TAKE}");
        self.hear(TAKEN)
    }

    /// Leaves it at work. From now on, this process ends where the keeper does.
    pub fn watched(self) -> Lent {
        let Self { child, stdin, mut output, home, wanted } = self;
        let held = Arc::new(Mutex::new(Some((child, stdin))));
        let watched = Arc::clone(&held);
        thread::spawn(move || {
            // It says nothing more: this waits for its end.
            let _ = output.read_line(&mut String::new());
            let mut held = watched.lock().unwrap_or_else(PoisonError::into_inner);
            if held.take().is_some() {
                let returned = return_again(&home, &wanted);
                let what = returned.err().unwrap_or_else(|| "they were given back".to_owned());
                crate::complain(&format!("the process that keeps borrowed interfaces has ended: {what}"), 1);
                std::process::exit(1);
            }
        });
        Lent { held }
    }

    fn hear(&mut self, wanted: &str) -> Result<(), String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        match line.trim_end() {
            line if line == wanted => Ok(()),
            line => Err(match line.strip_prefix(REFUSED) {
                Some(reason) => reason.to_owned(),
                None => format!("the process that keeps borrowed interfaces ended early ({read:?})"),
            }),
        }
    }
}

/// Interfaces that the node has. They go home when this process ends, too.
pub struct Lent {
    held: Arc<Mutex<Option<(Child, ChildStdin)>>>,
}

impl Lent {
    /// Gives them back, and waits until they are home. Returns whether they are.
    pub fn give_back(&self) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((mut child, stdin)) = held.take() else { return true };
        drop(stdin);
        child.wait().is_ok_and(|status| status.success())
    }
}

/// Starts a new keeper that brings the interfaces home.
fn return_again(home: &File, wanted: &Wanted) -> Result<(), String> {
    setns(home, CloneFlags::CLONE_NEWNET)
        .map_err(|errno| format!("entering the machine's network namespace: {errno}"))?;
    let (_child, _stdin, mut output) = spawn(wanted, Some(RETURN))?;
    let mut line = String::new();
    // It says only what went wrong.
    output.read_line(&mut line).map_err(|error| format!("giving them back: {error}"))?;
    line.strip_prefix(REFUSED).map_or(Ok(()), |reason| Err(reason.trim_end().to_owned()))
}

fn spawn(wanted: &Wanted, option: Option<&str>) -> Result<(Child, ChildStdin, BufReader<ChildStdout>), String> {
    let doing = |error: std::io::Error| format!("starting the process that keeps borrowed interfaces: {error}");
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).args(option).args(&wanted.interfaces);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(doing)?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (stdin, stdout) = pipes.ok_or("starting the process that keeps borrowed interfaces: it has no pipes")?;
    Ok((child, stdin, BufReader::new(stdout)))
}

/// `lendable`: prints the interfaces that can be borrowed, as JSON, after restoring those that were left behind.
pub fn run_look() -> ExitCode {
    // A user who may not restore anything may still look.
    let _ = mend_all();
    match examine::look().map(|interfaces| serde_json::to_string(&interfaces)) {
        Ok(Ok(text)) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => crate::complain(&error.to_string(), 1),
        Err(error) => crate::complain(&error, 1),
    }
}

/// `mend-lent`: restores interfaces that were left behind, and prints them, one a line.
pub fn run_mend() -> ExitCode {
    match mend_all() {
        Ok(mended) => {
            for interface in mended {
                println!("{interface}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => crate::complain(&error, 1),
    }
}

//! `awake-start` and `awake`: processors that do not sleep, and how long each of them was busy.
//!
//! A processor of a virtual machine that sleeps is woken when its host has time, which takes up to milliseconds. A
//! thread of the idle class that spins keeps it awake, and yields to any other work ([`spinner`]). These threads are a
//! process of their own, in a session of its own with the least share of the processors. Inside the agent's process,
//! they would give the agent the least share as well. The threads write their observations to memory that both
//! processes share.

mod spinner;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sixbench_measure::clock;

use crate::error::{Code, Error, Outcome};
use crate::sys::{self, SharedCounters};
pub use spinner::{COMMAND, run as run_spinners};
use spinner::{READY, Seen};

/// The device that, while it is open, makes processors wake within the microseconds that were written to it
/// (Documentation/power/pm_qos_interface of Linux).
const LATENCY_DEVICE: &str = "/dev/cpu_dma_latency";

/// The work that errors name.
const DOING: &str = "starting the process that keeps processors awake";

/// A request to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    processors: Vec<usize>,
}

/// The processors that are kept awake, until this is dropped.
#[derive(Default)]
pub struct Awake {
    spinners: Option<Spinners>,
    latency: Option<File>,
}

impl Awake {
    /// Keeps these processors awake from now on, and no others any more.
    pub fn start(&mut self, request: &Start) -> Outcome {
        self.spinners = None;
        self.latency = without_latency();
        if !request.processors.is_empty() {
            self.spinners = Some(Spinners::start(&request.processors)?);
        }
        Ok(if self.latency.is_some() { json!({"latency_ns": 0}) } else { json!({}) })
    }

    /// Time that each processor was busy with something else since then, in nanoseconds. The agent ends where nobody
    /// watches them any more.
    pub fn read(&mut self) -> Outcome {
        let processors = self.spinners.as_mut().map_or_else(Vec::new, Spinners::read);
        Ok(json!({"clock_ns": clock::monotonic_ns(), "processors": processors}))
    }
}

/// Keeps the processors of a real machine out of deep sleep, where this may be asked for.
fn without_latency() -> Option<File> {
    let mut device = OpenOptions::new().write(true).open(LATENCY_DEVICE).ok()?;
    device.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(device)
}

/// The process whose threads spin.
struct Spinners {
    processors: Vec<usize>,
    counters: SharedCounters,
    child: Child,
}

impl Spinners {
    fn start(processors: &[usize]) -> Result<Self, Error> {
        let (memory, counters) = SharedCounters::shared(Seen::COUNTERS * processors.len())
            .map_err(|error| Error::system(DOING, "memfd_create", error))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).args(processors.iter().map(usize::to_string));
        command.stdin(Stdio::from(memory)).stdout(Stdio::piped()).stderr(Stdio::null());
        sys::tie_to_this_thread(&mut command);
        let mut child = command.spawn().map_err(|error| Error::system(DOING, "clone", error))?;
        let output = child.stdout.take();
        // The process is ended by `drop` from here on.
        let spinners = Self { processors: processors.to_vec(), counters, child };
        let mut output =
            BufReader::new(output.ok_or_else(|| Error::new(Code::Internal, format!("{DOING}: it has no output")))?);
        let mut line = String::new();
        let heard = output.read_line(&mut line);
        if line.trim_end() != READY {
            return Err(
                refusal(&line).unwrap_or_else(|| Error::new(Code::Internal, format!("{DOING}: it ended ({heard:?})")))
            );
        }
        Ok(spinners)
    }

    fn read(&mut self) -> Vec<Value> {
        if let Ok(Some(status)) = self.child.try_wait() {
            crate::complain(&format!("the process that keeps processors awake has ended ({status})"), 1);
            std::process::exit(1);
        }
        let seen = self.processors.iter().zip(Seen::each(&self.counters));
        seen.map(|(processor, seen)| json!({"processor": processor, "busy_ns": seen.busy_ns()})).collect()
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        // A process that has ended already need not be ended.
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// The refusal that the process printed, if it did.
fn refusal(line: &str) -> Option<Error> {
    let mut output: Map<String, Value> = serde_json::from_str(line).ok()?;
    let message = output.remove("message")?.as_str()?.to_owned();
    let mut failure = Error::new(Code::System, message);
    failure.context = output.remove("context")?.as_object()?.clone();
    Some(failure)
}

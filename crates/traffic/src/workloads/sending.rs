//! The skeleton of a side that sends on a schedule: a warm-up, the measured part, the wait for what belongs to it, and
//! the account.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};

use super::pacing::{Flow, FlowTally, Next, SendFailures};
use crate::Result;
use crate::datagram::Phase;

/// A side that sends the datagrams of flows when they are due.
pub trait Sender {
    /// Sends this many datagrams now, which are the next of the flow. Those that go out, and those that never will, are
    /// entered in the flow.
    fn send(&mut self, phase: Phase, flow: &mut Flow, count: u64) -> Result<()>;

    /// Waits until this time of the monotonic clock, or returns earlier.
    fn wait_until(&mut self, due_ns: u64);

    /// `Err(Cancelled)` once the session is to end.
    fn check(&self) -> Result<()>;

    /// Takes answers that have come meanwhile. It is called after each step.
    #[inline]
    fn take_answers(&mut self, _flow: &Flow) -> Result<()> {
        Ok(())
    }

    /// Starts all counts again, before the measured part. This many datagrams were the warm-up.
    fn forget(&mut self, warmup_sent: u64);

    /// Waits for the answers that are missing after the measured part.
    fn drain(&mut self, _flow: &Flow) -> Result<()> {
        Ok(())
    }
}

/// The measured part, once it is over.
pub struct Sent {
    /// The measured flow.
    pub flow: Flow,
    /// Datagrams of the warm-up, if there was one.
    warmup_sent: Option<u64>,
    /// From the beginning of the measured part to the end of its drain.
    pub cpu: cpu::Span,
}

/// Sends the warm-up, if there is one, then the measured flow.
pub fn send_phases(sender: &mut impl Sender, warm_up: Option<Flow>, mut flow: Flow) -> Result<Sent> {
    let warmup_sent = match warm_up {
        Some(mut warm_up) => {
            send_all(sender, Phase::WarmUp, &mut warm_up)?;
            Some(warm_up.sent())
        }
        None => None,
    };
    sender.forget(warmup_sent.unwrap_or_default());
    let from = cpu::sample();
    send_all(sender, Phase::Measured, &mut flow)?;
    sender.drain(&flow)?;
    Ok(Sent { flow, warmup_sent, cpu: cpu::Span { from, to: cpu::sample() } })
}

fn send_all(sender: &mut impl Sender, phase: Phase, flow: &mut Flow) -> Result<()> {
    flow.start(clock::monotonic_ns());
    loop {
        sender.check()?;
        match flow.next(clock::monotonic_ns()) {
            Next::Send(count) => sender.send(phase, flow, count)?,
            Next::WaitUntil(due_ns) => sender.wait_until(due_ns),
            Next::End => return Ok(()),
        }
        sender.take_answers(flow)?;
    }
}

impl Sent {
    /// The account of the measured part, with the failures of sending in it.
    pub fn tally(&mut self, failures: &SendFailures) -> SentTally {
        SentTally {
            flow: self.flow.tally(),
            warmup_sent: self.warmup_sent,
            send_errors: failures.counts().clone(),
            cpu: self.cpu.clone(),
        }
    }
}

/// The account of a sender, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentTally {
    /// The measured flow.
    #[serde(flatten)]
    pub flow: FlowTally,
    /// Absent without a warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    warmup_sent: Option<u64>,
    /// Numbers of failures by the name of the error.
    send_errors: BTreeMap<String, u64>,
    cpu: cpu::Span,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::cancelled;
    use crate::workloads::pacing::Pace;

    /// Notes the calls that it gets.
    #[derive(Default)]
    struct Noting {
        calls: Vec<String>,
        fails: bool,
    }

    impl Sender for Noting {
        fn send(&mut self, phase: Phase, flow: &mut Flow, count: u64) -> Result<()> {
            if self.fails {
                return Err(cancelled());
            }
            self.calls.push(format!("{phase:?} {count} from {}", flow.sent()));
            flow.note_sent(count as usize, clock::monotonic_ns());
            Ok(())
        }

        fn wait_until(&mut self, _: u64) {}

        fn check(&self) -> Result<()> {
            Ok(())
        }

        fn forget(&mut self, warmup_sent: u64) {
            self.calls.push(format!("forget {warmup_sent}"));
        }

        fn drain(&mut self, flow: &Flow) -> Result<()> {
            self.calls.push(format!("drain {}", flow.sent()));
            Ok(())
        }
    }

    fn flow(count: u64) -> Flow {
        Flow::new(Pace::Unpaced(100), 2, Some(count), None)
    }

    #[test]
    fn the_warm_up_is_forgotten_before_the_measured_part_which_is_drained() {
        let mut sender = Noting::default();
        let mut sent = send_phases(&mut sender, Some(flow(1)), flow(3)).unwrap();
        let expected = ["WarmUp 1 from 0", "forget 1", "Measured 2 from 0", "Measured 1 from 2", "drain 3"];
        assert_eq!(sender.calls, expected);
        let tally = sent.tally(&SendFailures::default());
        assert_eq!((tally.flow.sent, tally.warmup_sent), (3, Some(1)));
    }

    #[test]
    fn without_a_warm_up_nothing_is_said_of_one() {
        let mut sender = Noting::default();
        let mut sent = send_phases(&mut sender, None, flow(1)).unwrap();
        assert_eq!(sender.calls, ["forget 0", "Measured 1 from 0", "drain 1"]);
        assert_eq!(sent.tally(&SendFailures::default()).warmup_sent, None);
    }

    #[test]
    fn a_failure_ends_it() {
        let mut sender = Noting { fails: true, ..Noting::default() };
        assert!(send_phases(&mut sender, None, flow(1)).is_err());
    }
}

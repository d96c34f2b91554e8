//! The sender of `frames`: sends each frame when it is due on an absolute schedule. Frames of one call carry the time
//! before it.

use std::net::IpAddr;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_measure::histogram::{Times, TimesTally};

use super::engine::{EngineTally, Outlet};
use super::forms::{Forms, NativeShare};
use super::layout::Mark;
use super::stamps::{Stamper, Stamps, Wanted};
use super::steps::Steps;
use super::{NAME, Settings};
use crate::Result;
use crate::cancel::{PATIENCE, Stop};
use crate::datagram::Phase;
use crate::sys::xsk;
use crate::workloads::pacing::{Flow, Pace, SendFailures, WaitTally, Waits};
use crate::workloads::sending::{Sender, SentTally, send_phases};

/// Pause where the kernel has no room.
const PAUSE_NS: u64 = 20_000;
/// Longest wait for the interface to report when it has sent a frame.
const STAMPS_NS: u64 = 100_000_000;

/// The flow that one side sends.
pub struct Outgoing<'a> {
    /// The frames by their numbers.
    pub forms: Forms,
    /// The share of frames that go natively, and their family.
    pub native: Option<(NativeShare, u8)>,
    /// The interface.
    pub ifindex: u32,
    /// The address that they go to, for messages.
    pub destination: IpAddr,
    /// Length of UDP's payload.
    pub payload_bytes: usize,
    /// Frames a second.
    pub rate_pps: u64,
    /// Settings of both directions.
    pub settings: &'a Settings,
}

/// The means of sending.
pub struct SendingEngine {
    /// An AF_XDP socket, if there is one.
    pub xdp: Option<xsk::Sender>,
    /// The reason why there is no AF_XDP socket, where one was wanted.
    pub refused: Option<String>,
    /// The interface that stamps frames by hardware.
    pub stamper: Wanted<Stamper>,
}

impl Outgoing<'_> {
    /// Sends the whole flow, by XDP if there is a sender for it, and returns the sender's result.
    pub fn send(&self, engine: SendingEngine, stop: &Stop) -> Result<SenderResult> {
        let settings = self.settings;
        let stamping = engine.stamper.map(|stamper| Ok(Stamps::new(stamper?, settings, self.rate_pps)));
        let mut sender = FrameSender {
            outgoing: self,
            outlet: Outlet::open(engine.xdp, engine.refused, stamping, &self.forms, self.ifindex)?,
            stop,
            steps: settings.steps(self.rate_pps),
            lengths: Vec::new(),
            waits: Waits::at_normal_priority(settings.spin_ns),
            warmup_spun_ns: 0,
            failures: SendFailures::default(),
            skipped: 0,
            last_lateness_ns: None,
            gap_error: Times::default(),
            calls: 0,
        };
        let at_once = sender.outlet.at_once() as u64;
        let flow = |steps: Steps, count, duration_ns| {
            let pace = Pace::Scheduled(Box::new(steps.of_payload_bytes(self.payload_bytes)));
            Flow::new(pace, at_once, count, duration_ns)
        };
        let warm_up =
            (settings.warmup_ns > 0).then(|| flow(Steps::new(self.rate_pps, None), None, Some(settings.warmup_ns)));
        let duration_ns = settings.limit.duration_ns();
        let count = if duration_ns.is_none() { Some(settings.due(self.rate_pps)) } else { None };
        let measured = flow(sender.steps, count, duration_ns);
        let mut sent = send_phases(&mut sender, warm_up, measured)?;
        sender.wait_for_stamps(sent.flow.sent());

        let native = |(share, family): (NativeShare, u8)| NativeTally { family, sent: share.among(sent.flow.sent()) };
        Ok(SenderResult {
            sent_bytes: sent.flow.sent_bytes(),
            native: self.native.map(native),
            sent: sent.tally(&sender.failures),
            waits: sender.waits.tally(sender.warmup_spun_ns),
            sending: Calls { batch: at_once, calls: sender.calls },
            engine: sender.outlet.tally(),
            inter_frame_error: sender.gap_error.tally(),
            due: settings.due(self.rate_pps),
        })
    }
}

/// The sender's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SenderResult {
    sent_bytes: u64,
    /// The frames that went natively, if some were to.
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<NativeTally>,
    #[serde(flatten)]
    pub sent: SentTally,
    waits: WaitTally,
    sending: Calls,
    #[serde(flatten)]
    engine: EngineTally,
    /// Differences between the distances of frames and those of the schedule.
    inter_frame_error: TimesTally,
    due: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NativeTally {
    family: u8,
    sent: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Calls {
    /// Frames that go together at most.
    batch: u64,
    /// Calls that sent something.
    calls: u64,
}

struct FrameSender<'a> {
    outgoing: &'a Outgoing<'a>,
    outlet: Outlet,
    stop: &'a Stop,
    steps: Steps,
    lengths: Vec<usize>,
    waits: Waits,
    /// Time that was spun in the warm-up.
    warmup_spun_ns: u64,
    failures: SendFailures,
    /// Frames of the phase that could not be sent.
    skipped: u64,
    /// Lateness of the frame before.
    last_lateness_ns: Option<u64>,
    /// Differences between the distances of frames and those of the schedule.
    gap_error: Times,
    calls: u64,
}

impl Sender for FrameSender<'_> {
    fn send(&mut self, phase: Phase, flow: &mut Flow, count: u64) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let sent_realtime_ns = clock::realtime_ns();
        self.lengths.clear();
        for (index, sequence) in (flow.sent()..).take(count as usize).enumerate() {
            let mark = Mark { sequence: sequence as u32, sent_realtime_ns, phase };
            self.lengths.push(self.outgoing.forms.write(sequence, &mark, self.outlet.place(index)));
        }
        let first = (phase == Phase::Measured).then(|| flow.sent());
        match self.outlet.send(&self.lengths, first) {
            Ok(sent) => {
                self.failures.end();
                self.calls += 1;
                self.note_gaps(flow, sent as u64, now_ns);
                flow.note_sent(sent, now_ns);
                if phase == Phase::Measured {
                    self.outlet.note_stamps(&self.outgoing.forms, flow.sent());
                }
                Ok(())
            }
            Err(errno) => self.note_failure(flow, errno),
        }
    }

    fn wait_until(&mut self, due_ns: u64) {
        self.waits.until(due_ns, PATIENCE.as_nanos() as u64);
    }

    fn check(&self) -> Result<()> {
        self.stop.check()
    }

    fn forget(&mut self, _: u64) {
        self.failures.forget();
        self.gap_error = Times::default();
        (self.calls, self.skipped, self.last_lateness_ns) = (0, 0, None);
        self.warmup_spun_ns = self.waits.take_spun_ns();
    }
}

impl FrameSender<'_> {
    /// Waits a little for the stamps of the frames that were sent last.
    fn wait_for_stamps(&mut self, sent: u64) {
        let until_ns = clock::monotonic_ns() + STAMPS_NS;
        while self.outlet.note_stamps(&self.outgoing.forms, sent) && clock::monotonic_ns() < until_ns {
            clock::sleep_until(clock::monotonic_ns() + PAUSE_NS);
        }
    }

    /// A gap is off by as much as the lateness of its two frames differs.
    fn note_gaps(&mut self, flow: &Flow, frames: u64, moment_ns: u64) {
        let first = flow.sent() + self.skipped;
        for index in first..first + frames {
            let due_ns = flow.start_ns().saturating_add(self.steps.due_ns(index));
            let lateness_ns = moment_ns.saturating_sub(due_ns);
            if let Some(last_ns) = self.last_lateness_ns.replace(lateness_ns) {
                self.gap_error.record(lateness_ns.abs_diff(last_ns));
            }
        }
    }

    /// A frame that could not be sent is not counted as sent: the next one has its number.
    fn note_failure(&mut self, flow: &mut Flow, errno: Errno) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let doing = format!("sending frames of {NAME} to {}", self.outgoing.destination);
        if self.failures.note(errno, now_ns, &doing)? {
            flow.skip();
            self.skipped += 1;
        } else {
            clock::sleep_until(now_ns + PAUSE_NS);
        }
        Ok(())
    }
}

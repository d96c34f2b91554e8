//! The sender of `frames`: each frame when it is due on an absolute schedule, by a packet socket.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use serde_json::{Map, Value, json};
use sixbench_measure::histogram::Times;
use sixbench_measure::{clock, cpu};

use super::layout::{FILL, HEAD_BYTES_V4, HEAD_BYTES_V6, MARK_BYTES, Mark, Template, Way, headers_bytes};
use super::ports::Ports;
use super::steps::Steps;
use super::{NAME, Settings};
use crate::datagram::Phase;
use crate::datagram_socket::PATIENCE;
use crate::sys::mmsg::{Manner, SendBatch};
use crate::workloads::pacing::{Flow, Next, Pace, SendFailures, Waits};
use crate::workloads::tcp::Stop;
use crate::{Error, Result, sys};

/// Frames that go by one call, of those that are due. They carry the time before the call.
const AT_ONCE: u64 = 32;
/// What the kernel may keep of what is on its way out.
const SEND_BUFFER_BYTES: i32 = 32 << 20;
/// Pause where the kernel has no room.
const PAUSE_NS: u64 = 20_000;

/// What one direction sends.
pub struct Outgoing<'a> {
    /// Between which addresses.
    pub way: Way,
    /// The interface.
    pub ifindex: u32,
    /// By sequence number.
    pub ports: Ports,
    /// Of the trial.
    pub token: u64,
    /// UDP's.
    pub payload_bytes: usize,
    /// Frames a second.
    pub rate_pps: u64,
    /// Of both directions.
    pub settings: &'a Settings,
}

impl Outgoing<'_> {
    /// Sends it all, and gives the sender's result.
    pub fn send(&self, stop: &Stop) -> Result<Value> {
        if self.way.source.is_ipv4() {
            self.send_of::<HEAD_BYTES_V4>(stop)
        } else {
            self.send_of::<HEAD_BYTES_V6>(stop)
        }
    }

    fn send_of<const N: usize>(&self, stop: &Stop) -> Result<Value> {
        let settings = self.settings;
        let mut sender = Sender::<N> {
            outgoing: self,
            socket: open(self.ifindex)?,
            stop,
            template: Template::new(&self.way, self.token, self.payload_bytes),
            fill: vec![FILL; self.payload_bytes - MARK_BYTES],
            steps: settings.steps(self.rate_pps),
            batch: SendBatch::default(),
            heads: Vec::new(),
            waits: Waits::at_normal_priority(settings.spin_ns),
            failures: SendFailures::default(),
            skipped: 0,
            start_ns: 0,
            last_lateness_ns: None,
            gap_error: Times::default(),
            calls: 0,
        };
        let pace = |steps: Steps| Pace::Scheduled(Box::new(steps.of_payload_bytes(self.payload_bytes)));
        let mut warm_up = Flow::new(pace(Steps::new(self.rate_pps, None)), AT_ONCE, None, Some(settings.warmup_ns));
        let duration_ns = settings.limit.duration_ns();
        let count = if duration_ns.is_none() { Some(settings.due(self.rate_pps)) } else { None };
        let mut flow = Flow::new(pace(sender.steps), AT_ONCE, count, duration_ns);
        if settings.warmup_ns > 0 {
            sender.send_all(Phase::WarmUp, &mut warm_up)?;
        }
        sender.failures.forget();
        sender.gap_error = Times::default();
        sender.calls = 0;
        let warmup_spun_ns = sender.waits.take_spun_ns();
        let from = cpu::sample();
        sender.send_all(Phase::Measured, &mut flow)?;
        let to = cpu::sample();

        let mut result = Map::new();
        result.insert("sent_bytes".into(), flow.sent_bytes().into());
        flow.write_to(&mut result);
        if settings.warmup_ns > 0 {
            result.insert("warmup_sent".into(), warm_up.sent().into());
        }
        let mut waits = sender.waits.to_json();
        waits["warmup_spun_ns"] = warmup_spun_ns.into();
        result.insert("waits".into(), waits);
        result.insert("sending".into(), json!({"batch": AT_ONCE, "calls": sender.calls}));
        result.insert("send_errors".into(), sender.failures.to_json());
        result.insert("inter_frame_error".into(), sender.gap_error.to_json());
        result.insert("due".into(), settings.due(self.rate_pps).into());
        result.insert("cpu".into(), json!(cpu::Span { from, to }));
        Ok(Value::Object(result))
    }
}

/// A packet socket that sends by the queue of the interface, so that its rate holds, and receives nothing.
fn open(ifindex: u32) -> Result<OwnedFd> {
    let doing = "opening a packet socket for frames, which needs CAP_NET_RAW";
    let socket = sixbench_packet::open().map_err(|e| Error::system(doing, "socket", e))?;
    sys::set_socket_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER_BYTES)
        .or_else(|_| sys::set_socket_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER_BYTES))
        .map_err(|e| Error::system(doing, "setsockopt(SO_SNDBUF)", e))?;
    sixbench_packet::bind(&socket, ifindex, sixbench_packet::NO_PROTOCOL)
        .map_err(|e| Error::system(doing, "bind", e))?;
    Ok(socket)
}

struct Sender<'a, const N: usize> {
    outgoing: &'a Outgoing<'a>,
    socket: OwnedFd,
    stop: &'a Stop,
    template: Template<N>,
    fill: Vec<u8>,
    steps: Steps,
    batch: SendBatch,
    heads: Vec<[u8; N]>,
    waits: Waits,
    failures: SendFailures,
    /// Frames of the phase that could not be sent.
    skipped: u64,
    /// Of the phase, on the monotonic clock.
    start_ns: u64,
    /// How late the frame before was.
    last_lateness_ns: Option<u64>,
    /// How far the distances of frames are from those of the schedule.
    gap_error: Times,
    calls: u64,
}

impl<const N: usize> Sender<'_, N> {
    fn send_all(&mut self, phase: Phase, flow: &mut Flow) -> Result<()> {
        (self.start_ns, self.skipped, self.last_lateness_ns) = (clock::monotonic_ns(), 0, None);
        flow.start(self.start_ns);
        loop {
            self.stop.check()?;
            match flow.next(clock::monotonic_ns()) {
                Next::Send(count) => self.send(phase, flow, count)?,
                Next::WaitUntil(due_ns) => self.waits.until(due_ns, PATIENCE.as_nanos() as u64),
                Next::End => return Ok(()),
            }
        }
    }

    fn send(&mut self, phase: Phase, flow: &mut Flow, count: u64) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let sent_realtime_ns = clock::realtime_ns();
        let (template, ports) = (&self.template, &self.outgoing.ports);
        self.heads.clear();
        self.heads.extend((flow.sent()..).take(count as usize).map(|sequence| {
            template.frame(ports.of(sequence), &Mark { sequence: sequence as u32, sent_realtime_ns, phase })
        }));
        let frame_bytes = headers_bytes(self.outgoing.way.source.is_ipv4()) + self.outgoing.payload_bytes;
        let lengths = std::iter::repeat(frame_bytes);
        let manner = Manner { segments: 1, is_timed: false };
        match self.batch.send(self.socket.as_fd(), &self.heads, lengths, &self.fill, manner) {
            Ok(sent) => {
                self.failures.end();
                self.calls += 1;
                self.note_gaps(flow.sent() + self.skipped, sent as u64, now_ns);
                flow.note_sent(sent, now_ns);
                Ok(())
            }
            Err(errno) => self.note_failure(flow, errno),
        }
    }

    /// A gap is off by as much as the lateness of its two frames differs.
    fn note_gaps(&mut self, first: u64, frames: u64, moment_ns: u64) {
        for index in first..first + frames {
            let due_ns = self.start_ns.saturating_add(self.steps.due_ns(index));
            let lateness_ns = moment_ns.saturating_sub(due_ns);
            if let Some(last_ns) = self.last_lateness_ns.replace(lateness_ns) {
                self.gap_error.record(lateness_ns.abs_diff(last_ns));
            }
        }
    }

    /// A frame that could not be sent is not counted as sent: the next one has its number.
    fn note_failure(&mut self, flow: &mut Flow, errno: Errno) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let doing = format!("sending frames of {NAME} to {}", self.outgoing.way.destination);
        if self.failures.note(errno, now_ns, &doing)? {
            flow.skip();
            self.skipped += 1;
        } else {
            clock::sleep_until(now_ns + PAUSE_NS);
        }
        Ok(())
    }
}

//! The sender of `udp-stream`, which is the client unless `direction` says otherwise: sends each datagram when it is
//! due, and notes which went out and how late.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use socket2::Socket;

use super::send_times::{SendTimeTally, SendTimes};
use super::together::Sending;
use super::{NAME, Settings};
use crate::Result;
use crate::atomic_fragments::AtomicFragments;
use crate::cancel::{Cancel, PATIENCE, Stop};
use crate::datagram::{HEADER_BYTES, Header, Phase};
use crate::datagram_batch::{DatagramBatch, Manner};
use crate::df::Df;
use crate::error_queue::ErrorCounts;
use crate::models::Round;
use crate::packet_log::{SentLog, SentLogTally};
use crate::session::Endpoint;
use crate::socket::GrantedBuffers;
use crate::workloads::opening;
use crate::workloads::pacing::{Flow, SendFailures, WaitTally, Waits};
use crate::workloads::sending::{Sender, SentTally, send_phases};
use crate::workloads::tcp::io::pattern;

/// Pause after an error where no schedule makes one.
const PAUSE_AFTER_ERROR_NS: u64 = 1_000_000;

pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<SenderResult> {
    let socket = opening::connected(endpoint, settings.buffers, settings.df, cancel)?;
    send(&socket, endpoint, settings, &Stop::new(cancel))
}

/// Sends on a connected socket, and gives the sender's result.
pub fn send(socket: &Socket, endpoint: &Endpoint, settings: &Settings, stop: &Stop) -> Result<SenderResult> {
    let sending = settings.together.decide(socket, endpoint, settings)?;
    let rest = pattern(settings.payloads().end() - HEADER_BYTES);
    let atomic = if settings.df == Df::Atomic {
        Some(AtomicFragments::open(socket, endpoint, settings.buffers, &rest)?)
    } else {
        None
    };
    let mut sender = DatagramSender {
        socket,
        atomic,
        endpoint,
        stop,
        batch: DatagramBatch::default(),
        heads: Vec::new(),
        sending,
        calls: 0,
        waits: (!settings.is_unpaced()).then(|| Waits::new(settings.spin_ns)),
        warmup_spun_ns: 0,
        times: SendTimes::new(socket, !settings.is_unpaced() && settings.df == Df::Clear),
        rest,
        failures: SendFailures::default(),
        df: settings.df,
        errors: ErrorCounts::default(),
        log: None,
        keeps_log: settings.packet_log,
        doing: format!("sending datagrams of {NAME} to {} port {}", endpoint.peer, endpoint.port),
    };
    let flow = |round, count, duration_ns| Flow::new(settings.pace(round), sending.at_once, count, duration_ns);
    let warm_up = (settings.warmup_ns > 0).then(|| flow(Round::WarmUp, None, Some(settings.warmup_ns)));
    let count = if settings.limit.duration_ns().is_none() { settings.planned() } else { None };
    let mut sent = send_phases(&mut sender, warm_up, flow(Round::Measured, count, settings.limit.duration_ns()))?;
    sender.errors.drain(socket);

    let is_noted = settings.df != Df::Clear;
    Ok(SenderResult {
        sent_bytes: sent.flow.sent_bytes(),
        refused: is_noted.then(|| sent.flow.refused()),
        sent: sent.tally(&sender.failures),
        sending: Calls { manner: sending, calls: sender.calls },
        waits: sender.waits.as_ref().map(|waits| waits.tally(sender.warmup_spun_ns)),
        timestamping: sender.times.tally(),
        errors: is_noted.then(|| sender.errors.counts().clone()),
        packet_log: sender.log.as_ref().map(SentLog::tally),
        socket: GrantedBuffers::of(socket),
    })
}

/// The sender's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SenderResult {
    sent_bytes: u64,
    #[serde(flatten)]
    pub sent: SentTally,
    sending: Calls,
    /// Waits of a paced flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<WaitTally>,
    timestamping: SendTimeTally,
    /// Datagrams that the kernel refused for their size; absent where DF is clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    /// ICMP errors; absent where DF is clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_log: Option<SentLogTally>,
    socket: GrantedBuffers,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Calls {
    #[serde(flatten)]
    manner: Sending,
    /// Calls that sent something.
    calls: u64,
}

struct DatagramSender<'a> {
    socket: &'a Socket,
    /// The sender of atomic fragments, in place of the socket.
    atomic: Option<AtomicFragments>,
    endpoint: &'a Endpoint,
    stop: &'a Stop,
    batch: DatagramBatch,
    heads: Vec<[u8; HEADER_BYTES]>,
    sending: Sending,
    /// Calls that sent something.
    calls: u64,
    /// Waits of a paced flow.
    waits: Option<Waits>,
    /// Time that was spun in the warm-up.
    warmup_spun_ns: u64,
    times: SendTimes,
    rest: Vec<u8>,
    failures: SendFailures,
    df: Df,
    /// ICMP errors; none are asked for where DF is clear.
    errors: ErrorCounts,
    /// Log of the measured flow, where it is asked for.
    log: Option<SentLog>,
    /// True if the measured datagrams are to be noted.
    keeps_log: bool,
    doing: String,
}

impl Sender for DatagramSender<'_> {
    fn send(&mut self, phase: Phase, flow: &mut Flow, count: u64) -> Result<()> {
        self.heads.resize(count as usize, [0; HEADER_BYTES]);
        let mut header = Header { token: self.endpoint.token.short(), sequence: 0, sent_realtime_ns: 0, phase };
        let now_ns = clock::monotonic_ns();
        let manner = Manner { segments: self.sending.segments, is_timed: self.times.is_due(now_ns) };
        header.sent_realtime_ns = clock::realtime_ns();
        for (sequence, head) in (flow.sent()..).zip(&mut self.heads) {
            header.sequence = sequence;
            *head = header.encode();
        }
        let sent = match &mut self.atomic {
            None => self.batch.send(self.socket.as_fd(), &self.heads, flow.payloads(), &self.rest, manner),
            Some(atomic) => {
                // Errors come to the UDP socket, and fail no call of the other.
                self.errors.drain(self.socket);
                atomic.send(self.socket, &mut self.batch, &self.heads, flow.payloads(), &self.rest)
            }
        };
        match sent {
            Ok(sent) => {
                self.failures.end();
                if let Some(log) = &mut self.log {
                    for payload_bytes in flow.payloads().take(sent) {
                        log.note(header.sent_realtime_ns, payload_bytes);
                    }
                }
                self.calls += 1;
                flow.note_sent(sent, now_ns);
                self.times.collect(self.socket);
                if manner.is_timed {
                    self.times.note_asked(now_ns, header.sent_realtime_ns);
                }
                Ok(())
            }
            Err(errno) => self.note_failure(flow, errno),
        }
    }

    fn wait_until(&mut self, due_ns: u64) {
        if let Some(waits) = &mut self.waits {
            waits.until(due_ns, PATIENCE.as_nanos() as u64);
        }
    }

    fn check(&self) -> Result<()> {
        self.stop.check()
    }

    fn forget(&mut self, _: u64) {
        self.failures.forget();
        self.errors = ErrorCounts::default();
        self.calls = 0;
        self.warmup_spun_ns = self.waits.as_mut().map_or(0, Waits::take_spun_ns);
        self.times.forget();
        self.log = self.keeps_log.then(SentLog::default);
    }
}

impl DatagramSender<'_> {
    /// A datagram that could not be sent is not counted as sent: the next one has its number.
    fn note_failure(&mut self, flow: &mut Flow, errno: Errno) -> Result<()> {
        if self.df != Df::Clear {
            let drained = self.errors.drain(self.socket);
            if errno == Errno::EMSGSIZE && (drained.is_refused || drained.icmp == 0) {
                flow.refuse();
                return Ok(());
            }
            if drained.icmp > 0 {
                // The call failed for what was sent before: this datagram is still due.
                return Ok(());
            }
        }
        let now_ns = clock::monotonic_ns();
        if self.failures.note(errno, now_ns, &self.doing)? {
            flow.skip();
            if flow.is_unpaced() {
                clock::sleep_until(now_ns + PAUSE_AFTER_ERROR_NS);
            }
        }
        Ok(())
    }
}

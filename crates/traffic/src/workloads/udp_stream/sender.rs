//! The sender of `udp-stream`, which is the client unless `direction` says otherwise: sends each datagram when it is due, and knows which went out and how late.

use std::os::fd::AsFd;

use nix::errno::Errno;
use serde_json::{Map, Value, json};
use socket2::Socket;

use super::{NAME, Settings};
use crate::clock::{self, PreciseTimers};
use crate::datagram::{HEADER_BYTES, Header, Phase};
use crate::datagram_socket::{self, PATIENCE};
use crate::df::Df;
use crate::error_queue::{self, ErrorCounts};
use crate::models::Round;
use crate::packet_log::SentLog;
use crate::session::{Cancel, Endpoint};
use crate::sys::mmsg::SendBatch;
use crate::workloads::opening;
use crate::workloads::pacing::{Flow, Next, SendFailures};
use crate::workloads::tcp::Stop;
use crate::workloads::tcp::io::pattern;
use crate::{Result, cpu};

/// Pause after an error where no schedule makes one.
const PAUSE_AFTER_ERROR_NS: u64 = 1_000_000;

pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Value> {
    let socket = datagram_socket::udp(endpoint.address, settings.buffers, settings.df)?;
    if settings.df != Df::Clear {
        error_queue::ask_for_errors(&socket, endpoint.address)?;
    }
    datagram_socket::connect(&socket, endpoint.peer, endpoint.port)?;
    if endpoint.cookie {
        opening::ask(&socket, endpoint, || cancel.check())?;
    }
    send(&socket, endpoint, settings, &Stop::new(cancel))
}

/// Sends on a connected socket, and gives the sender's result.
pub fn send(socket: &Socket, endpoint: &Endpoint, settings: &Settings, stop: &Stop) -> Result<Value> {
    let _timers = PreciseTimers::new();
    let mut sender = Sender {
        socket,
        endpoint,
        stop,
        batch: SendBatch::default(),
        heads: Vec::new(),
        moments_ns: Vec::new(),
        rest: pattern(settings.payloads().end() - HEADER_BYTES),
        failures: SendFailures::default(),
        df: settings.df,
        errors: ErrorCounts::default(),
        log: None,
        doing: format!("sending datagrams of {NAME} to {} port {}", endpoint.peer, endpoint.port),
    };
    let mut warm_up = Flow::new(settings.pace(Round::WarmUp), None, Some(settings.warmup_ns));
    if settings.warmup_ns > 0 {
        sender.send_all(Phase::WarmUp, &mut warm_up)?;
    }
    sender.failures.forget();
    sender.errors = ErrorCounts::default();
    sender.log = settings.packet_log.then(SentLog::default);
    let from = cpu::sample();
    let count = if settings.limit.duration_ns().is_none() { settings.planned() } else { None };
    let mut flow = Flow::new(settings.pace(Round::Measured), count, settings.limit.duration_ns());
    sender.send_all(Phase::Measured, &mut flow)?;
    let to = cpu::sample();
    sender.errors.drain(socket);

    let mut result = Map::new();
    result.insert("sent_bytes".into(), flow.sent_bytes().into());
    flow.write_to(&mut result);
    if settings.warmup_ns > 0 {
        result.insert("warmup_sent".into(), warm_up.sent().into());
    }
    result.insert("send_errors".into(), sender.failures.to_json());
    if settings.df != Df::Clear {
        result.insert("refused".into(), flow.refused().into());
        result.insert("errors".into(), sender.errors.to_json());
    }
    if let Some(log) = &sender.log {
        result.insert("packet_log".into(), log.to_json());
    }
    result.insert("socket".into(), datagram_socket::granted(socket));
    result.insert("cpu".into(), json!(cpu::Span { from, to }));
    Ok(Value::Object(result))
}

struct Sender<'a> {
    socket: &'a Socket,
    endpoint: &'a Endpoint,
    stop: &'a Stop,
    batch: SendBatch,
    heads: Vec<[u8; HEADER_BYTES]>,
    /// When each of `heads` was stamped, on the monotonic clock.
    moments_ns: Vec<u64>,
    rest: Vec<u8>,
    failures: SendFailures,
    df: Df,
    /// ICMP errors; none are asked for where DF is clear.
    errors: ErrorCounts,
    /// Of the measured flow, where it is asked for.
    log: Option<SentLog>,
    doing: String,
}

impl Sender<'_> {
    fn send_all(&mut self, phase: Phase, flow: &mut Flow) -> Result<()> {
        flow.start(clock::monotonic_ns());
        loop {
            self.stop.check()?;
            match flow.next(clock::monotonic_ns()) {
                Next::Send(count) => self.send(phase, flow, count)?,
                Next::WaitUntil(due_ns) => {
                    clock::sleep_until(due_ns.min(clock::monotonic_ns() + PATIENCE.as_nanos() as u64));
                }
                Next::End => return Ok(()),
            }
        }
    }

    fn send(&mut self, phase: Phase, flow: &mut Flow, count: u64) -> Result<()> {
        self.heads.clear();
        self.moments_ns.clear();
        let mut header = Header { token: self.endpoint.token.short(), sequence: 0, sent_realtime_ns: 0, phase };
        for sequence in flow.sent()..flow.sent() + count {
            self.moments_ns.push(clock::monotonic_ns());
            (header.sequence, header.sent_realtime_ns) = (sequence, clock::realtime_ns());
            self.heads.push(header.encode());
        }
        match self.batch.send(self.socket.as_fd(), &self.heads, flow.payloads(), &self.rest) {
            Ok(sent) => {
                self.failures.end();
                if let Some(log) = &mut self.log {
                    let heads = self.heads.iter().take(sent).filter_map(|head| Header::decode(head));
                    for (header, payload_bytes) in heads.zip(flow.payloads()) {
                        log.note(header.sent_realtime_ns, payload_bytes);
                    }
                }
                flow.note_sent(&self.moments_ns[..sent.min(self.moments_ns.len())]);
                Ok(())
            }
            Err(errno) => self.note_failure(flow, errno),
        }
    }

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

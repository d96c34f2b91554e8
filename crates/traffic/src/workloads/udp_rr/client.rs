//! The asking side of `udp-rr`.

use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::Settings;
use crate::Result;
use crate::cancel::{Cancel, Stop};
use crate::datagram::{HEADER_BYTES, Header, Phase};
use crate::datagram_socket::{self, is_momentary};
use crate::df::Df;
use crate::error_queue::{Drained, ErrorCounts};
use crate::session::Endpoint;
use crate::socket::GrantedBuffers;
use crate::strays::Strays;
use crate::workloads::asking::{Asked, Asker, Lengths, Outcome, ask_phases};
use crate::workloads::guard::Guard;
use crate::workloads::opening;
use crate::workloads::round_trips::RoundTripTally;
use crate::workloads::tcp::io::pattern;

/// Pause after a request that could not be sent, before it is tried again.
const PAUSE_AFTER_ERROR_NS: u64 = 1_000_000;

pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let socket = opening::connected(endpoint, settings.buffers, settings.df, cancel)?;
    datagram_socket::remove_receive_patience(&socket)?;
    if settings.busy_poll {
        datagram_socket::never_wait(&socket)?;
    }
    let mut asking = Asking {
        settings,
        cancel,
        guard: Guard::of_timeout(settings.timeout_ns, &Stop::new(cancel))?,
        socket: socket.into(),
        token: endpoint.token.short(),
        request: pattern(settings.message_bytes),
        answer: vec![0; settings.response_bytes + 1],
        counts: Counts::default(),
    };
    let lengths = Lengths { warmup_ns: settings.warmup_ns, limit: settings.limit, interval_ns: settings.interval_ns };
    let Asked { trips, lost, refused, warmup_transactions, cpu } = ask_phases(&mut asking, lengths)?;
    let is_noted = asking.drain().is_some();
    Ok(ClientResult {
        trips,
        refused: is_noted.then_some(refused),
        lost,
        late: asking.counts.late,
        errors: asking.counts.errors_by_name(),
        strays: Strays::of_datagrams(asking.counts.strays),
        warmup_transactions,
        socket: GrantedBuffers::of(&SockRef::from(&asking.socket)),
        cpu,
    })
}

struct Asking<'a> {
    settings: &'a Settings,
    cancel: &'a Cancel,
    guard: Guard,
    socket: UdpSocket,
    token: u64,
    request: Vec<u8>,
    /// A byte longer than an answer may be, so that a longer one is seen as such.
    answer: Vec<u8>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    /// Answers to requests that were given up, or answered already.
    late: u64,
    /// Datagrams that answer nothing.
    strays: u64,
    /// Failures of sending or receiving, such as ICMP errors, by name.
    errors: BTreeMap<String, u64>,
    /// ICMP errors; none are asked for where DF is clear.
    icmp: ErrorCounts,
}

impl Counts {
    fn note_error(&mut self, errno: Errno) {
        *self.errors.entry(format!("{errno:?}")).or_default() += 1;
    }

    fn errors_by_name(&self) -> BTreeMap<String, u64> {
        let icmp = self.icmp.iter().map(|(name, count)| (name.to_owned(), count));
        self.errors.clone().into_iter().chain(icmp).collect()
    }
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    trips: RoundTripTally,
    /// Requests that the kernel refused for their size; absent where DF is clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    lost: u64,
    late: u64,
    errors: BTreeMap<String, u64>,
    strays: Strays,
    warmup_transactions: u64,
    socket: GrantedBuffers,
    cpu: cpu::Span,
}

/// The result of an attempt to send a request.
enum Sending {
    Done,
    Late,
    Refused,
}

impl Asker for Asking<'_> {
    #[inline]
    fn ask(&mut self, phase: Phase, sequence: u64) -> Result<Outcome> {
        self.cancel.check()?;
        let asked = Header { token: self.token, sequence, sent_realtime_ns: clock::realtime_ns(), phase };
        if let Some(head) = self.request.first_chunk_mut::<HEADER_BYTES>() {
            *head = asked.encode();
        }
        let asked_ns = clock::monotonic_ns();
        match self.socket.send(&self.request) {
            Ok(_) => {}
            Err(e) => {
                let sending = self.send_again(&e, asked_ns)?;
                let ended_ns = clock::monotonic_ns();
                match sending {
                    Sending::Done => {}
                    Sending::Late => return Ok(Outcome::Lost { ended_ns }),
                    Sending::Refused => return Ok(Outcome::Refused { ended_ns }),
                }
            }
        }
        loop {
            match self.socket.recv(&mut self.answer) {
                Ok(bytes) => {
                    let answered_ns = clock::monotonic_ns();
                    if self.is_answer(bytes, &asked) {
                        self.guard.note_progress();
                        return Ok(Outcome::Answered { asked_ns, answered_ns });
                    }
                    // A datagram that is no answer must not keep this from seeing the end.
                    if answered_ns - asked_ns >= self.settings.timeout_ns {
                        return Ok(Outcome::Lost { ended_ns: answered_ns });
                    }
                }
                Err(e) if self.settings.busy_poll && is_momentary(errno_of(&e)) => {
                    self.cancel.check()?;
                    let now_ns = clock::monotonic_ns();
                    if now_ns - asked_ns >= self.settings.timeout_ns {
                        return Ok(Outcome::Lost { ended_ns: now_ns });
                    }
                    super::pause(now_ns - asked_ns);
                }
                Err(e) => {
                    if !self.wait_on(&e, asked_ns)? {
                        return Ok(Outcome::Lost { ended_ns: clock::monotonic_ns() });
                    }
                }
            }
        }
    }

    fn forget(&mut self) {
        self.counts = Counts::default();
    }
}

impl Asking<'_> {
    #[inline]
    fn is_answer(&mut self, bytes: usize, asked: &Header) -> bool {
        let header = Header::decode(&self.answer[..bytes.min(self.answer.len())]);
        match header.filter(|header| header.token == self.token && bytes == self.settings.response_bytes) {
            Some(header) if header == *asked => return true,
            // Warm-up comes before the measured phase.
            Some(header) if (header.phase as u8, header.sequence) < (asked.phase as u8, asked.sequence) => {
                self.counts.late += 1;
            }
            _ => self.counts.strays += 1,
        }
        false
    }

    /// Tries to send the request for as long as an answer is waited for.
    #[cold]
    fn send_again(&mut self, error: &io::Error, asked_ns: u64) -> Result<Sending> {
        let mut errno = errno_of(error);
        loop {
            self.cancel.check()?;
            let drained = self.drain();
            if drained.is_some_and(|drained| errno == Errno::EMSGSIZE && (drained.is_refused || drained.icmp == 0)) {
                return Ok(Sending::Refused);
            }
            // A call that failed for what was asked before is made again at once.
            if !is_momentary(errno) && drained.is_none_or(|drained| drained.icmp == 0) {
                self.counts.note_error(errno);
                clock::sleep_until(clock::monotonic_ns() + PAUSE_AFTER_ERROR_NS);
            }
            if clock::monotonic_ns() - asked_ns >= self.settings.timeout_ns {
                return Ok(Sending::Late);
            }
            match self.socket.send(&self.request) {
                Ok(_) => return Ok(Sending::Done),
                Err(e) => errno = errno_of(&e),
            }
        }
    }

    /// Reads the errors about what was sent, where they were asked for.
    fn drain(&mut self) -> Option<Drained> {
        (self.settings.df != Df::Clear).then(|| self.counts.icmp.drain(&self.socket))
    }

    /// Waits on, for as long as is left: `false` where that is over, `true` where there is something to receive.
    #[cold]
    fn wait_on(&mut self, error: &io::Error, asked_ns: u64) -> Result<bool> {
        let errno = errno_of(error);
        if !is_momentary(errno) && self.drain().is_none_or(|drained| drained.icmp == 0) {
            self.counts.note_error(errno);
        }
        loop {
            self.cancel.check()?;
            let ends_ns = asked_ns.saturating_add(self.settings.timeout_ns);
            if clock::monotonic_ns() >= ends_ns {
                return Ok(false);
            }
            // The guard looks only now and then; this ends with the time that is left.
            if datagram_socket::wait_until(&self.socket, ends_ns) {
                return Ok(true);
            }
        }
    }
}

fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)
}

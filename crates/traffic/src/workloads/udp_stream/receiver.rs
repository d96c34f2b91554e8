//! The receiver of `udp-stream`, which is the server unless `direction` says otherwise: takes datagrams with the
//! kernel's notes on them and keeps the account.

use std::os::fd::AsFd;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};
use sixbench_measure::sys::scheduling;
use sixbench_measure::{clock, cpu};
use socket2::Socket;

use super::account::{Account, AccountTally, Incoming};
use super::{NAME, Settings, end};
use crate::arrivals::Entry;
use crate::datagram_socket::{self, is_momentary};
use crate::session::Endpoint;
use crate::socket::{Buffers, GrantedBuffers};
use crate::sys::mmsg::ReceiveBatch;
use crate::workloads::server_span::{QUIET, ServerSpan};
use crate::workloads::tcp::Stop;
use crate::workloads::thread_server::{Control, Order};
use crate::{Error, Progress, Result};

/// The receive buffer where none is asked for, at least: what comes while this thread waits for a core is no loss on
/// the path.
const MIN_DEFAULT_RCVBUF_BYTES: usize = 16 << 20;
/// Least number of datagrams that the receive buffer has room for.
const DEFAULT_RCVBUF_DATAGRAMS: usize = 512;
/// Messages taken by one system call ...
const AT_ONCE: usize = 128;
/// ... as far as they have room here.
const BUFFERS_BYTES: usize = 4 << 20;
/// The most that a super-packet carries.
const SUPER_PACKET_BYTES: usize = 65_535;
/// `finish` takes a silence of this length for the end ...
const SILENCE_NS: u64 = 250_000_000;
/// ... and one of this length while nothing has come at all, since the path may be slow, unless the request gives
/// another.
const FIRST_SILENCE_NS: u64 = 2_000_000_000;
/// A client that receives takes a silence of this length for the end if the server did not announce the end: after the
/// planned end of a flow that has one, ...
const LAST_SILENCE_NS: u64 = 2_000_000_000;
/// ... of a flow that may be as slow as its rate, ...
const SLOW_SILENCE_NS: u64 = 60_000_000_000;
/// ... and before the first datagram.
const UNHEARD_NS: u64 = 5_000_000_000;

/// A socket that datagrams are received by with the kernel's notes on them.
pub fn open(endpoint: &Endpoint, settings: &Settings) -> Result<Socket> {
    let default_bytes = MIN_DEFAULT_RCVBUF_BYTES.max(DEFAULT_RCVBUF_DATAGRAMS * settings.payloads().end());
    let rcvbuf_bytes = settings.buffers.rcvbuf_bytes.or(Some(default_bytes));
    let socket = datagram_socket::udp(endpoint.address, Buffers { rcvbuf_bytes, ..settings.buffers }, settings.df)?;
    datagram_socket::note_receive_times(&socket)?;
    datagram_socket::note_drops(&socket)?;
    datagram_socket::set_receive_patience(&socket, QUIET)?;
    if settings.together.takes_super_packets() {
        datagram_socket::take_super_packets(&socket)?;
    }
    Ok(socket)
}

/// Takes what comes of one flow.
pub struct Receiver<'a> {
    socket: &'a Socket,
    batch: ReceiveBatch,
    account: Account,
    receiving: Receiving,
    /// Times that reading the clock takes.
    reading: Times,
    /// Time at which a datagram of this trial was last taken.
    last_ns: u64,
    first: Option<First>,
    /// The kernel's count of drops, as the last datagram carried it.
    drops: Option<u32>,
    span: ServerSpan,
    progress: Progress,
    token: u64,
    /// Number of datagrams that were sent, at a client, once the server has reported it.
    announced: Option<u64>,
}

/// Calls and super-packets by which the measured flow was received.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Receiving {
    calls: u64,
    super_packets: u64,
    /// Datagrams that came in super-packets.
    joined_datagrams: u64,
}

/// The first arrival of the measured flow.
#[derive(Clone, Copy)]
struct First {
    /// Time of the arrival on the monotonic clock.
    started_ns: u64,
    /// Number of datagrams that had been dropped before.
    drops: u32,
}

impl<'a> Receiver<'a> {
    /// Takes what comes from the endpoint's peer. It is made in the thread that uses it.
    pub fn new(socket: &'a Socket, endpoint: &Endpoint, strays: u64, settings: &Settings) -> Result<Self> {
        if settings.is_unpaced() && settings.limit.duration_ns().is_some() {
            // When they came, the kernel has noted.
            scheduling::run_in_turn();
        }
        let takes_super_packets = settings.together.takes_super_packets();
        let message_bytes = if takes_super_packets { SUPER_PACKET_BYTES } else { *settings.payloads().end() };
        Ok(Self {
            batch: ReceiveBatch::new(AT_ONCE.min(BUFFERS_BYTES / message_bytes), message_bytes + 1),
            receiving: Receiving::default(),
            reading: clock::reading_times(),
            socket,
            account: Account::new(endpoint, strays, settings),
            last_ns: 0,
            first: None,
            drops: None,
            span: ServerSpan::start()?,
            progress: endpoint.progress.clone(),
            token: endpoint.token.short(),
            announced: None,
        })
    }

    /// Works as the client: until the server has announced the end, or nothing comes for too long.
    pub fn work_to_end(mut self, settings: &Settings, stop: &Stop) -> Result<ReceiverResult> {
        let started_ns = clock::monotonic_ns();
        let planned_ns = settings.limit.duration_ns().map_or(0, |ns| ns.saturating_add(settings.warmup_ns));
        let patience_ns = if settings.may_be_slow() { SLOW_SILENCE_NS } else { LAST_SILENCE_NS };
        loop {
            stop.check()?;
            let received = self.batch.receive(self.socket.as_fd());
            if self.take(received)? {
                continue;
            }
            self.span.note_quiet();
            let now_ns = clock::monotonic_ns();
            let silence_ns = now_ns - self.last_ns.max(started_ns);
            let is_over = match self.announced {
                Some(sent) => self.account.arrivals.has_all(sent) || silence_ns >= SILENCE_NS,
                None if self.account.is_empty() => silence_ns >= UNHEARD_NS,
                None => now_ns - started_ns >= planned_ns && silence_ns >= patience_ns,
            };
            if is_over {
                let announced = self.announced;
                return Ok(self.result(announced));
            }
        }
    }

    /// Works as the server: until it has to finish.
    pub fn work(mut self, control: &Control) -> Result<ReceiverResult> {
        loop {
            control.check()?;
            if let Some(order) = control.order() {
                return self.finish(order, control);
            }
            let received = self.batch.receive(self.socket.as_fd());
            if !self.take(received)? {
                self.span.note_quiet();
            }
        }
    }

    /// Takes all that had come before the order, then waits for what is still missing.
    fn finish(mut self, order: &Order, control: &Control) -> Result<ReceiverResult> {
        loop {
            control.check()?;
            let received = self.batch.receive_ready(self.socket.as_fd());
            let is_empty = !self.take(received)?;
            if self.is_over(order, is_empty) {
                self.span.note_quiet();
                return Ok(self.result(order.finish.sent));
            }
            if is_empty && !datagram_socket::wait_for_datagram(self.socket, QUIET) {
                self.span.note_quiet();
            }
        }
    }

    /// Enters what was received; `false` where nothing was.
    fn take(&mut self, received: nix::Result<usize>) -> Result<bool> {
        match received {
            Ok(_) => {
                self.enter();
                Ok(true)
            }
            Err(errno) if is_momentary(errno) || is_about_what_was_sent(errno) => Ok(false),
            Err(e) => Err(Error::system(format!("receiving datagrams of {NAME}"), "recvmmsg", e)),
        }
    }

    fn enter(&mut self) {
        let before_bytes = self.account.arrivals.unique_bytes();
        for message in self.batch.datagrams() {
            let mut datagrams = 0;
            for bytes in message.datagrams() {
                if let Some(sent) = end::decode(bytes, self.token) {
                    self.announced = Some(sent);
                    continue;
                }
                let kernel_realtime_ns = message.notes.realtime_ns;
                let incoming = Incoming { bytes, source: message.source, kernel_realtime_ns };
                let entry = self.account.enter(&incoming, clock::realtime_ns);
                if entry == Entry::Stray {
                    continue;
                }
                self.last_ns = 0;
                if let Entry::First(realtime_ns) = entry {
                    let age_ns = clock::realtime_ns().saturating_sub(realtime_ns);
                    let started_ns = clock::monotonic_ns().saturating_sub(age_ns);
                    self.first = Some(First { started_ns, drops: message.notes.drops.unwrap_or(0) });
                    self.receiving = Receiving::default();
                    self.span.begin();
                }
                datagrams += 1;
            }
            self.drops = message.notes.drops.or(self.drops);
            if message.notes.segment_bytes.is_some() {
                self.receiving.super_packets += 1;
                self.receiving.joined_datagrams += datagrams;
            }
        }
        self.receiving.calls += 1;
        let new_bytes = self.account.arrivals.unique_bytes() - before_bytes;
        if new_bytes > 0 {
            self.progress.add(clock::monotonic_ns(), new_bytes);
            self.progress.note_datagrams(self.account.arrivals.datagrams());
        }
        if self.last_ns == 0 {
            self.last_ns = clock::monotonic_ns();
            self.span.go_on();
        }
    }

    /// True if the flow is over. With all `sent` there it is over once the socket is empty: duplicates and strays count
    /// as well.
    fn is_over(&self, order: &Order, is_empty: bool) -> bool {
        let now_ns = clock::monotonic_ns();
        let silence_ns = now_ns.saturating_sub(self.last_ns.max(order.given_ns));
        let first_ns = order.finish.first_silence_ns.unwrap_or(FIRST_SILENCE_NS);
        let enough_ns = if self.account.is_empty() { first_ns.max(SILENCE_NS) } else { SILENCE_NS };
        is_empty && order.finish.sent.is_some_and(|sent| self.account.arrivals.has_all(sent))
            || silence_ns >= enough_ns
            || order.is_overdue(now_ns)
    }

    fn result(self, sent: Option<u64>) -> ReceiverResult {
        let account = self.account.tally(sent);
        let started_ns = self.first.map(|first| first.started_ns);
        let measured_ns = account.arrivals.measured_ns;
        // Datagrams that are dropped after the last one are in no datagram's notes, but in the socket's own count.
        let drops = datagram_socket::drops(self.socket).or(self.drops);
        let before = self.first.map_or(0, |first| first.drops);
        ReceiverResult {
            account,
            socket_drops: drops.map(|drops| drops.wrapping_sub(before)),
            started_ns,
            ended_ns: started_ns.zip(measured_ns).map(|(from_ns, ns)| from_ns.saturating_add(ns)),
            cpu: self.span.end(),
            receiving: self.receiving,
            timestamping: Timestamping { clock_reading: self.reading.tally() },
            socket: GrantedBuffers::of(self.socket),
        }
    }
}

/// The receiver's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReceiverResult {
    #[serde(flatten)]
    account: AccountTally,
    /// Datagrams that the socket had no room for since the first; absent where the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    socket_drops: Option<u32>,
    /// Time of the first arrival on the monotonic clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
    receiving: Receiving,
    timestamping: Timestamping,
    socket: GrantedBuffers,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Timestamping {
    /// Times that reading the clock takes.
    clock_reading: TimesTally,
}

/// True if an error is of a datagram that went the other way on the same socket: a client that has gone, a path that is
/// too narrow.
fn is_about_what_was_sent(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::EMSGSIZE
            | Errno::EACCES
            | Errno::EPROTO
    )
}

//! The receiver of `udp-stream`, which is the server unless `direction` says otherwise: takes datagrams with the
//! kernel's notes on them and keeps the account.

use std::os::fd::AsFd;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_measure::histogram::{Times, TimesTally};
use sixbench_measure::sys::scheduling;
use sixbench_packet::ReceiveBatch;
use socket2::Socket;

use super::account::{Account, AccountTally, Incoming};
use super::{NAME, Settings, end};
use crate::arrivals::Entry;
use crate::datagram_socket::{self, is_momentary};
use crate::session::Endpoint;
use crate::socket::{Buffers, GrantedBuffers};
use crate::workloads::receiving::{Receiver, ReceiverResult, ReceiverSpan};
use crate::workloads::server_span::QUIET;
use crate::workloads::thread_server::Order;
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
pub struct DatagramReceiver<'a> {
    socket: &'a Socket,
    batch: ReceiveBatch,
    account: Account,
    receiving: Receiving,
    /// Times that reading the clock takes.
    reading: Times,
    /// Time at which a datagram of this trial was last taken.
    last_ns: u64,
    /// Number of datagrams that had been dropped before the first of the measured flow.
    drops_before: u32,
    /// The kernel's count of drops, as the last datagram carried it.
    drops: Option<u32>,
    span: ReceiverSpan,
    progress: Progress,
    token: u64,
    /// The order to finish, at a server.
    order: Option<Order>,
    /// Number of datagrams that were sent, at a client, once the server has reported it.
    announced: Option<u64>,
    /// Time at which this was made.
    opened_ns: u64,
    /// Planned duration of the flow; 0 where it is not known.
    planned_ns: u64,
    /// Longest silence after it, at a client.
    patience_ns: u64,
}

/// Calls and super-packets by which the measured flow was received.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Receiving {
    calls: u64,
    super_packets: u64,
    /// Datagrams that came in super-packets.
    joined_datagrams: u64,
}

impl<'a> DatagramReceiver<'a> {
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
            drops_before: 0,
            drops: None,
            span: ReceiverSpan::start()?,
            progress: endpoint.progress.clone(),
            token: endpoint.token.short(),
            order: None,
            announced: None,
            opened_ns: clock::monotonic_ns(),
            planned_ns: settings.limit.duration_ns().map_or(0, |ns| ns.saturating_add(settings.warmup_ns)),
            patience_ns: if settings.may_be_slow() { SLOW_SILENCE_NS } else { LAST_SILENCE_NS },
        })
    }

    /// Enters what was received. Returns false if nothing was.
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
                    // The kernel notes no drops before the first one.
                    self.drops_before = message.notes.drops.unwrap_or_default();
                    self.receiving = Receiving::default();
                    self.span.begin(realtime_ns);
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

    /// True if the flow is over at a server. With all `sent` there it is over once the socket is empty: duplicates and
    /// strays count as well.
    fn is_over_by(&self, order: &Order, is_empty: bool) -> bool {
        let now_ns = clock::monotonic_ns();
        let silence_ns = now_ns.saturating_sub(self.last_ns.max(order.given_ns));
        let first_ns = order.finish.first_silence_ns.unwrap_or(FIRST_SILENCE_NS);
        let enough_ns = if self.account.is_empty() { first_ns.max(SILENCE_NS) } else { SILENCE_NS };
        is_empty && order.finish.sent.is_some_and(|sent| self.account.arrivals.has_all(sent))
            || silence_ns >= enough_ns
            || order.is_overdue(now_ns)
    }

    /// True if the flow is over at a client, where nothing was there: the server has announced the end, or nothing
    /// comes for too long.
    fn is_over_unasked(&self) -> bool {
        let now_ns = clock::monotonic_ns();
        let silence_ns = now_ns - self.last_ns.max(self.opened_ns);
        match self.announced {
            Some(sent) => self.account.arrivals.has_all(sent) || silence_ns >= SILENCE_NS,
            None if self.account.is_empty() => silence_ns >= UNHEARD_NS,
            None => now_ns - self.opened_ns >= self.planned_ns && silence_ns >= self.patience_ns,
        }
    }
}

impl Receiver for DatagramReceiver<'_> {
    type Tally = ReceiverResult<DatagramTally>;

    fn receive(&mut self) -> Result<bool> {
        let received = self.batch.receive(self.socket.as_fd());
        self.take(received)
    }

    fn receive_ready(&mut self) -> Result<bool> {
        let received = self.batch.receive_ready(self.socket.as_fd());
        self.take(received)
    }

    fn wait(&mut self) -> bool {
        datagram_socket::wait_for_datagram(self.socket, QUIET)
    }

    fn note_silence(&mut self) {
        self.span.note_silence();
    }

    fn note_order(&mut self, order: &Order) -> Result<()> {
        self.order = Some(*order);
        Ok(())
    }

    fn is_over(&mut self, is_empty: bool) -> bool {
        match &self.order {
            Some(order) => self.is_over_by(order, is_empty),
            None => is_empty && self.is_over_unasked(),
        }
    }

    fn tally(self) -> Result<Self::Tally> {
        let account = self.account.tally(self.order.map_or(self.announced, |order| order.finish.sent));
        let measured_ns = account.arrivals.measured_ns;
        // Datagrams that are dropped after the last one are in no datagram's notes, but in the socket's own count.
        let drops = datagram_socket::drops(self.socket).or(self.drops);
        let tally = DatagramTally {
            account,
            socket_drops: drops.map(|drops| drops.wrapping_sub(self.drops_before)),
            receiving: self.receiving,
            timestamping: Timestamping { clock_reading: self.reading.tally() },
            socket: GrantedBuffers::of(self.socket),
        };
        Ok(self.span.result(tally, measured_ns))
    }
}

/// The account of a flow and of its socket, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DatagramTally {
    #[serde(flatten)]
    account: AccountTally,
    /// Datagrams that the socket had no room for since the first; absent where the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    socket_drops: Option<u32>,
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

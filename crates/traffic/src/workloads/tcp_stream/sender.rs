//! The sending side of a direction.

use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use socket2::SockRef;

use super::beginning::{Beginning, End};
use super::moving::{Connections, Mover};
use super::output::{Completions, Output};
use super::params::{SendMode, StreamParams};
use super::watch::{Watch, WatchTally};
use crate::cancel::Stop;
use crate::error::{peer_lost, timeout};
use crate::moving::{Move, Places};
use crate::pages::Placed;
use crate::workloads::cpu_watch::Edges;
use crate::workloads::tcp::drive::{Advance, Driven, Driver, driver};
use crate::workloads::tcp::info::TcpInfo;
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Preamble, Role, STALL_NS, Starter, Worker, connect, io as tcp_io};
use crate::{Endpoint, Error, Result};

/// The clock is read once in this many bytes: often enough for a deadline, too seldom to be felt with small messages.
const BYTES_BETWEEN_CLOCKS: usize = 64 * 1_024;

/// The senders of all streams of a direction.
pub struct Senders {
    shared: Arc<Shared>,
    streams: Vec<Arc<Connections>>,
    /// Absent where the client stays where it is.
    mover: Option<Arc<Mover>>,
    watch: Watch,
    workers: Vec<Worker<Vec<Sent>>>,
}

/// State that the senders of a direction share. No lock: one atomic, which changes once.
struct Shared {
    params: StreamParams,
    message: Message,
    /// Names the peer in errors.
    doing: String,
    /// Time of the first write of any stream; 0 before.
    first_write_ns: AtomicU64,
    /// The beginning of the window.
    beginning: Arc<Beginning>,
}

/// The outcome of one stream.
struct Sent {
    bytes: u64,
    /// Time at which the receiver's end was seen.
    ended_ns: u64,
    completions: Option<Completions>,
}

impl Senders {
    /// Starts to send on all streams.
    ///
    /// # Arguments
    /// - `places`: those of a client that moves, with the stop that ends its connecting.
    pub fn start(
        starter: &Starter,
        params: &StreamParams,
        endpoint: &Endpoint,
        role: Role,
        streams: Vec<TcpStream>,
        places: Option<(Places, &Stop)>,
    ) -> Result<Self> {
        let streams: Vec<_> = streams.into_iter().map(|stream| Arc::new(Connections::new(stream))).collect();
        let mover = match (places, streams.first()) {
            (Some((places, stop)), Some(first)) => Some(Mover::start(places, first, stop)?),
            _ => None,
        };
        let (watch, edges) =
            Watch::start(streams.clone(), params.warmup_ns, params.interval_ns, endpoint.progress.clone())
                .map_err(|e| Error::system("starting to watch a sender", "clone", e))?;
        let edges = Arc::new(edges);
        let shared = Arc::new(Shared {
            params: params.clone(),
            message: Message::new(params.message_bytes, params.send),
            doing: format!("sending to {}", endpoint.peer),
            first_write_ns: AtomicU64::new(0),
            beginning: Beginning::of(params, endpoint, End { role, is_sending: true }, &edges)?,
        });
        let threads = params.threads();
        let mut workers = Vec::new();
        for thread in 0..threads {
            let of_thread = params.streams_of_thread(thread);
            let (mut joiner, driver) = driver(of_thread)
                .map_err(|e| Error::system("starting to send on several streams", "epoll_create1", e))?;
            for (index, stream) in (0..).zip(&streams).skip(thread).step_by(threads) {
                joiner
                    .join(Sender::new(&shared, &edges, stream.present(), mover.clone(), params.bytes_of_stream(index))?)
                    .map_err(|e| Error::system("starting to send a stream", "epoll_ctl", e))?;
            }
            let worker = starter
                .start("tcp-send", of_thread, move |stop| send(driver, stop))
                .map_err(|e| Error::system("starting to send streams", "clone", e))?;
            workers.push(worker);
        }
        Ok(Self { shared, streams, mover, watch, workers })
    }

    /// The result of the direction, once all streams have ended.
    pub fn finish(self) -> SenderResult {
        let Self { shared, streams, mover, watch, workers } = self;
        let sent: Vec<_> = workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).flatten().collect();
        let ended_ns = sent.iter().map(|stream| stream.ended_ns).max();
        let first_write_ns = shared.first_write_ns.load(Ordering::Relaxed);
        let is_zerocopy = shared.params.send == SendMode::Zerocopy;
        SenderResult {
            sent_bytes: sent.iter().map(|stream| stream.bytes).sum(),
            transfer_ns: ended_ns
                .filter(|_| shared.params.limit.duration_ns().is_none())
                .map(|ended_ns| ended_ns.saturating_sub(first_write_ns)),
            zerocopy: is_zerocopy.then(|| {
                let mut all = Completions::default();
                sent.iter().filter_map(|stream| stream.completions.as_ref()).for_each(|each| all.add(each));
                all
            }),
            socket: streams.first().map(|stream| shared.params.options.granted(SockRef::from(&*stream.present()))),
            moves: mover.map_or_else(Vec::new, |mover| mover.moves()),
            watched: watch.end(),
        }
    }
}

/// The senders' result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SenderResult {
    sent_bytes: u64,
    /// Time from the first write until the receivers had it all; absent where time is the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer_ns: Option<u64>,
    /// Absent where the kernel copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    zerocopy: Option<Completions>,
    /// Options of the first stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<GrantedOptions>,
    /// Absent where the client did not move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<Move>,
    #[serde(flatten)]
    watched: Option<WatchTally>,
}

/// A thread's work.
fn send(driver: Driver<Sender>, stop: &Stop) -> Result<Vec<Sent>> {
    let (senders, outcome) = driver.run(&mut (), stop);
    if outcome.is_err() {
        // Queued data must not trickle on into the next trial.
        senders.iter().for_each(|sender| tcp_io::reset_on_close(&sender.stream));
    }
    outcome.map(|()| senders.into_iter().map(Sender::end).collect())
}

/// The bytes of a message.
struct Message(Placed);

impl Message {
    fn new(length: usize, send: SendMode) -> Self {
        let mut bytes = match send {
            SendMode::Copy => Placed::to_be_copied(length),
            SendMode::Zerocopy | SendMode::Splice => Placed::to_be_sent(length),
        };
        tcp_io::fill_pattern(&mut bytes);
        Self(bytes)
    }

    /// The bytes of the message from there to its end, and no more than this many.
    #[inline]
    fn rest(&self, at: usize, most: u64) -> &[u8] {
        let length = self.0.len();
        let end = usize::try_from(most).map_or(length, |most| length.min(at.saturating_add(most)));
        &self.0[at..end]
    }
}

/// The sender of one stream.
struct Sender {
    shared: Arc<Shared>,
    /// Keeps the watch at work as long as there are streams.
    _edges: Arc<Edges>,
    stream: Arc<TcpStream>,
    /// Absent where the client stays where it is.
    mover: Option<Arc<Mover>>,
    output: Output,
    /// True if bytes are the limit.
    is_limited: bool,
    left_bytes: u64,
    sent_bytes: u64,
    /// Place in the message where the next write begins.
    at: usize,
    bytes_since_clock: usize,
    /// The deadline, which counts from the first write of any stream.
    deadline: Option<Deadline>,
    stall: Stall,
    ended_ns: u64,
}

impl Driven for Sender {
    type Shared = ();

    fn socket(&self) -> &TcpStream {
        &self.stream
    }

    fn is_reading(&self) -> bool {
        self.left_bytes == 0
    }

    fn advance(&mut self, (): &mut ()) -> Result<Advance> {
        if self.left_bytes == 0 { self.wait_for_receiver() } else { self.send() }
    }

    fn look(&mut self) -> Result<bool> {
        if self.left_bytes > 0 {
            self.check_deadline()?;
        }
        self.stall.check(&self.stream, self.sent_bytes, &self.shared.doing)?;
        Ok(false)
    }
}

impl Sender {
    fn new(
        shared: &Arc<Shared>,
        edges: &Arc<Edges>,
        stream: Arc<TcpStream>,
        mover: Option<Arc<Mover>>,
        bytes: Option<u64>,
    ) -> Result<Self> {
        let StreamParams { send, message_bytes, .. } = shared.params;
        Ok(Self {
            shared: Arc::clone(shared),
            _edges: Arc::clone(edges),
            output: Output::new(send, &stream, message_bytes)?,
            stream,
            mover,
            is_limited: bytes.is_some(),
            left_bytes: bytes.unwrap_or(u64::MAX),
            sent_bytes: 0,
            at: 0,
            bytes_since_clock: 0,
            deadline: None,
            stall: Stall::default(),
            ended_ns: 0,
        })
    }

    #[inline]
    fn send(&mut self) -> Result<Advance> {
        if self.deadline.is_none() {
            self.deadline = Some(Deadline::new(&self.shared.params, self.first_write_ns(clock::monotonic_ns())));
        }
        match self.output.send(&self.stream, self.shared.message.rest(self.at, self.left_bytes)) {
            Ok(bytes) => {
                self.sent_bytes += bytes as u64;
                self.left_bytes -= bytes as u64;
                self.at += bytes;
                if self.at >= self.shared.message.0.len() {
                    self.at = 0;
                }
                self.bytes_since_clock += bytes;
                if self.bytes_since_clock >= BYTES_BETWEEN_CLOCKS {
                    self.bytes_since_clock = 0;
                    self.check_deadline()?;
                }
                if self.left_bytes > 0 {
                    return Ok(Advance::Moved);
                }
                self.stream.shutdown(Shutdown::Write).map_err(|e| tcp_io::lost(&self.shared.doing, &e))?;
                Ok(Advance::Turned)
            }
            Err(e) if tcp_io::is_pause(&e) => Ok(Advance::Waiting),
            Err(_) if self.reconnect()? => Ok(Advance::Moved),
            Err(e) => self.ended(&e),
        }
    }

    /// The time of the first write of any stream; the first report counts.
    fn first_write_ns(&self, now_ns: u64) -> u64 {
        match self.shared.first_write_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.shared.beginning.begin(self.shared.params.streams.into(), now_ns);
                now_ns
            }
            Err(first_write_ns) => first_write_ns,
        }
    }

    fn check_deadline(&self) -> Result<()> {
        self.deadline.as_ref().map_or(Ok(()), |deadline| deadline.check(&self.shared))
    }

    /// Goes on over another connection, if the client has lost its address. Data that the old one still had are lost.
    fn reconnect(&mut self) -> Result<bool> {
        let (Some(mover), Some(deadline)) = (&self.mover, &self.deadline) else { return Ok(false) };
        // Nothing of it shall be sent again from an address that is gone.
        tcp_io::reset_on_close(&self.stream);
        let StreamParams { options, connect_timeout_ns, .. } = &self.shared.params;
        let preamble = Preamble { role: Role::Forward, index: 0 };
        let stream = mover.reconnect(deadline.started_ns, |place, stop| {
            let (stream, _) = connect::connect_with_preamble(place, options, preamble, *connect_timeout_ns, stop)?;
            Ok(stream)
        })?;
        let Some(stream) = stream else { return Ok(false) };
        self.stream = stream;
        self.stall = Stall::default();
        Ok(true)
    }

    /// The connection is gone: the receiver's way to end its window, unless that cannot be over yet.
    fn ended(&mut self, error: &io::Error) -> Result<Advance> {
        self.ended_ns = clock::monotonic_ns();
        let is_reset = matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
        let started_ns = self.deadline.as_ref().map_or(self.ended_ns, |deadline| deadline.started_ns);
        let lasted_ns = self.ended_ns.saturating_sub(started_ns);
        if is_reset && !self.is_limited && lasted_ns >= self.shared.params.least_time_ns() {
            return Ok(Advance::Over);
        }
        Err(tcp_io::lost(&format!("{}, {} ms after the first write", self.shared.doing, lasted_ns / 1_000_000), error))
    }

    /// Waits, when all is written, until the receiver has read it all and closes too.
    fn wait_for_receiver(&mut self) -> Result<Advance> {
        let doing = &self.shared.doing;
        match (&*self.stream).read(&mut [0]) {
            Ok(0) => {
                self.ended_ns = clock::monotonic_ns();
                Ok(Advance::Over)
            }
            Ok(_) => {
                let what = "sent data on a connection that it should only receive on".to_owned();
                Err(peer_lost(doing, what))
            }
            Err(e) if tcp_io::is_pause(&e) => Ok(Advance::Waiting),
            Err(e) => Err(tcp_io::lost(doing, &e)),
        }
    }

    fn end(mut self) -> Sent {
        let completions = self.output.completions(&self.stream);
        Sent { bytes: self.sent_bytes, ended_ns: self.ended_ns, completions }
    }
}

/// The deadline of a transfer limited by time.
struct Deadline {
    started_ns: u64,
    limit_ns: Option<u64>,
}

impl Deadline {
    fn new(params: &StreamParams, started_ns: u64) -> Self {
        Self { started_ns, limit_ns: params.time_limit_ns() }
    }

    fn check(&self, shared: &Shared) -> Result<()> {
        let lasted_ns = clock::monotonic_ns().saturating_sub(self.started_ns);
        match self.limit_ns {
            Some(after_ns) if lasted_ns > after_ns => {
                let doing = format!("{} until the receiver ends{}", shared.doing, shared.params.also_awaited());
                Err(timeout(doing, after_ns))
            }
            _ => Ok(()),
        }
    }
}

/// Distinguishes a stall from a slow link: acknowledgements may still come while nothing can be written, with a large
/// buffer on a slow link for a long time.
#[derive(Default)]
struct Stall {
    /// The time when the present numbers of sent and acknowledged bytes were first seen, and these numbers.
    since: Option<(u64, (u64, Option<u64>))>,
}

impl Stall {
    fn check(&mut self, stream: &TcpStream, sent_bytes: u64, doing: &str) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let progress = (sent_bytes, TcpInfo::of(stream).ok().and_then(|info| info.bytes_acked));
        match self.since {
            Some((since_ns, before)) if before == progress => {
                if now_ns.saturating_sub(since_ns) > STALL_NS {
                    return Err(timeout(format!("{doing} and waiting for progress"), STALL_NS));
                }
            }
            _ => self.since = Some((now_ns, progress)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::PAGE_BYTES;

    #[test]
    fn a_message_begins_where_its_way_out_wants_it() {
        for (send, into_page) in [(SendMode::Copy, 2_048), (SendMode::Zerocopy, 0), (SendMode::Splice, 0)] {
            for length in [1, 5_000, 131_072] {
                let message = Message::new(length, send);
                let whole = message.rest(0, u64::MAX);
                assert_eq!(whole.len(), length);
                assert_eq!(whole.as_ptr().addr() % PAGE_BYTES, into_page);
            }
        }
    }
}

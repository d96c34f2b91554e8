//! The receiving side of a direction. It keeps the time.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::sys::scheduling;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::beginning::{Beginning, End};
use super::moving::Renewal;
use super::params::{ReceiveMode, StreamParams};
use super::tally::{self, StreamsTally, Tally};
use crate::cancel::Stop;
use crate::error::{peer_lost, timeout};
use crate::moving::SeenMove;
use crate::series::Series;
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::workloads::tcp::drive::{Advance, Driven, Driver, Joiner, driver};
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Role, STALL_NS, Starter, Worker, io as tcp_io};
use crate::{Endpoint, Error, Progress, Result};

/// A read takes at least this much where it is there.
const MIN_BUFFER_BYTES: usize = 64 * 1_024;

/// The receivers of all streams of a direction.
pub struct Receivers {
    window: Arc<Window>,
    /// Keeps the CPU watch at work until the streams have ended.
    edges: Arc<Edges>,
    cpu: CpuWatch,
    threads: Vec<ReceiverThread>,
    /// Absent where the client stays where it is.
    renewal: Option<Arc<Renewal>>,
}

struct ReceiverThread {
    joiner: Joiner<Receiver>,
    worker: Worker<Received>,
}

/// State that the receivers of a direction share.
struct Window {
    params: StreamParams,
    /// Names the peer in errors.
    doing: String,
    progress: Progress,
    /// Time of the first byte, of any stream or of the last of those that share the window.
    beginning: Arc<Beginning>,
}

/// The outcomes of the streams of one thread.
struct Received {
    /// Tallies by the streams' indices.
    tallies: Vec<(u16, Tally)>,
    series: Series<u64>,
    /// Socket options of the first stream.
    socket: Option<GrantedOptions>,
    moves: Vec<SeenMove>,
}

impl Receivers {
    /// Starts the threads, without a stream so far.
    pub fn start(starter: &Starter, params: &StreamParams, endpoint: &Endpoint, role: Role) -> Result<Self> {
        let (cpu, edges) = CpuWatch::start(params.warmup_ns)
            .map_err(|e| Error::system("starting to watch the CPU of a receiver", "clone", e))?;
        let edges = Arc::new(edges);
        let window = Arc::new(Window {
            params: params.clone(),
            doing: format!("receiving from {}", endpoint.peer),
            progress: endpoint.progress.clone(),
            beginning: Beginning::of(params, endpoint, End { role, is_sending: false }, &edges)?,
        });
        let mut threads = Vec::new();
        for thread in 0..params.threads() {
            let streams = params.streams_of_thread(thread);
            let (joiner, driver) = driver(streams)
                .map_err(|e| Error::system("starting to receive on several streams", "epoll_create1", e))?;
            let window = Arc::clone(&window);
            let worker = starter
                .start("tcp-receive", streams, move |stop| receive(driver, &window.params, stop))
                .map_err(|e| Error::system("starting to receive streams", "clone", e))?;
            threads.push(ReceiverThread { joiner, worker });
        }
        let renewal = params.reconnect.then(Arc::default);
        Ok(Self { window, edges, cpu, threads, renewal })
    }

    /// Starts to receive on one more stream.
    pub fn add(&mut self, index: u16, stream: TcpStream) -> Result<()> {
        let stream = Arc::new(stream);
        let client = self.renewal.as_ref().and_then(|renewal| {
            renewal.hold(&stream);
            peer_of(&stream)
        });
        let receiver = Receiver {
            renewal: self.renewal.clone(),
            client,
            left: None,
            moves: Vec::new(),
            window: Arc::clone(&self.window),
            index,
            expected_bytes: self.window.params.bytes_of_stream(index),
            stream,
            tally: Tally::default(),
            edges_ns: None,
            progress_ns: clock::monotonic_ns(),
            reads: 0,
        };
        let thread = usize::from(index) % self.threads.len();
        self.threads[thread]
            .joiner
            .join(receiver)
            .map_err(|e| Error::system("starting to receive a stream", "epoll_ctl", e))
    }

    /// Has a stream go on over another connection, which its client has made from another address.
    pub fn renew(&self, stream: TcpStream) {
        if let Some(renewal) = &self.renewal {
            renewal.offer(stream);
        }
    }

    /// The result of the direction, once all streams have ended.
    pub fn finish(self) -> ReceiverResult {
        let Self { window, edges, cpu, threads, .. } = self;
        let (mut tallies, mut moves) = (Vec::new(), Vec::new());
        let mut series = Series::new(window.params.interval_ns);
        let mut socket = None;
        for ReceiverThread { joiner, worker } in threads {
            drop(joiner);
            let Some(received) = worker.join().ok().flatten() else { continue };
            tallies.extend(received.tallies);
            series.merge(&received.series, |sum, bytes| *sum += bytes);
            socket = socket.or(received.socket);
            moves.extend(received.moves);
        }
        drop(edges);
        tallies.sort_unstable_by_key(|(index, _)| *index);
        let tallies: Vec<_> = tallies.iter().map(|(_, tally)| tally).collect();
        let is_timed = window.params.limit.duration_ns().is_some();
        let streams = tally::merge(&tallies, series, window.edges_ns(), is_timed);
        ReceiverResult { streams, socket, moves, cpu: cpu.end() }
    }
}

/// The receivers' result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReceiverResult {
    #[serde(flatten)]
    streams: StreamsTally,
    /// Options of the first stream; absent where it did not begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<GrantedOptions>,
    /// Absent where the client did not move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<SeenMove>,
    /// Absent where the window did not open.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
}

fn peer_of(stream: &TcpStream) -> Option<IpAddr> {
    stream.peer_addr().ok().map(|address| address.ip())
}

/// A thread's work.
fn receive(driver: Driver<Receiver>, params: &StreamParams, stop: &Stop) -> Result<Received> {
    if params.limit.duration_ns().is_some() {
        // Where bytes are the limit, the time of the last one counts, however few there are.
        scheduling::run_in_turn();
    }
    let buffer_bytes = params.message_bytes.clamp(MIN_BUFFER_BYTES, tcp_io::MAX_BUFFER_BYTES);
    let (buffer_bytes, flags) = match params.receive {
        ReceiveMode::Copy => (buffer_bytes, MsgFlags::empty()),
        ReceiveMode::Truncate => (tcp_io::MAX_BUFFER_BYTES, MsgFlags::MSG_TRUNC),
    };
    // Memory that is never written takes none.
    let mut shared = Shared { buffer: vec![0; buffer_bytes], flags, series: Series::new(params.interval_ns) };
    let (receivers, outcome) = driver.run(&mut shared, stop);
    let first = receivers.iter().find(|receiver| receiver.index == 0);
    let socket = first.map(|receiver| params.options.granted(SockRef::from(&*receiver.stream)));
    let (mut tallies, mut moves) = (Vec::new(), Vec::new());
    for receiver in receivers {
        // Limited by bytes, all came and an orderly close tells the sender so.
        if outcome.is_err() || receiver.expected_bytes.is_none() {
            tcp_io::reset_on_close(&receiver.stream);
        }
        tallies.push((receiver.index, receiver.tally));
        moves.extend(receiver.moves);
    }
    outcome.map(|()| Received { tallies, series: shared.series, socket, moves })
}

impl Window {
    /// Times at which the window opens and closes, where they are known.
    fn edges_ns(&self) -> Option<(u64, u64)> {
        self.beginning.ns().map(|first_byte_ns| self.edges_after(first_byte_ns))
    }

    fn edges_after(&self, first_byte_ns: u64) -> (u64, u64) {
        let opens_ns = first_byte_ns.saturating_add(self.params.warmup_ns);
        (opens_ns, self.params.limit.duration_ns().map_or(u64::MAX, |ns| opens_ns.saturating_add(ns)))
    }
}

/// State that the streams of a thread share.
struct Shared {
    buffer: Vec<u8>,
    flags: MsgFlags,
    series: Series<u64>,
}

/// The receiver of one stream.
struct Receiver {
    window: Arc<Window>,
    index: u16,
    /// Number of bytes to come, where bytes are the limit.
    expected_bytes: Option<u64>,
    stream: Arc<TcpStream>,
    /// Absent where the client stays where it is.
    renewal: Option<Arc<Renewal>>,
    /// The address of a client that may move.
    client: Option<IpAddr>,
    /// Its address of the connection before, until a byte has come over the present one.
    left: Option<IpAddr>,
    moves: Vec<SeenMove>,
    tally: Tally,
    /// Edges of the window, unknown until the first byte came that the window counts from.
    edges_ns: Option<(u64, u64)>,
    progress_ns: u64,
    reads: u64,
}

impl Driven for Receiver {
    type Shared = Shared;

    fn socket(&self) -> &TcpStream {
        &self.stream
    }

    fn is_reading(&self) -> bool {
        true
    }

    fn advance(&mut self, shared: &mut Shared) -> Result<Advance> {
        match recv(self.stream.as_raw_fd(), &mut shared.buffer, shared.flags) {
            Ok(bytes @ 1..) => Ok(self.received(bytes as u64, &mut shared.series)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(Advance::Waiting),
            _ if self.renewal.is_some() && !self.is_over() => Ok(self.renew()),
            Ok(_) => self.closed().map(|()| Advance::Over),
            Err(_) if self.is_over() => Ok(Advance::Over),
            Err(e) => Err(tcp_io::lost(&self.window.doing, &e.into())),
        }
    }

    fn look(&mut self) -> Result<bool> {
        let now_ns = clock::monotonic_ns();
        self.edges_ns = self.edges_ns.or_else(|| self.window.edges_ns());
        if self.edges_ns.is_some_and(|(_, closes_ns)| now_ns > closes_ns) {
            return Ok(true);
        }
        if self.expected_bytes.is_some() && now_ns.saturating_sub(self.progress_ns) > STALL_NS {
            return Err(timeout(&self.window.doing, STALL_NS));
        }
        Ok(false)
    }
}

impl Receiver {
    #[inline]
    fn received(&mut self, bytes: u64, series: &mut Series<u64>) -> Advance {
        let now_ns = clock::monotonic_ns();
        let (opens_ns, closes_ns) = match self.edges_ns {
            Some(edges_ns) => edges_ns,
            None => self.look_for_edges(now_ns),
        };
        if let Some(from) = self.left.take() {
            self.note_move(from, now_ns);
        }
        self.progress_ns = now_ns;
        self.tally.received_bytes += bytes;
        self.reads += 1;
        if self.reads.is_power_of_two() {
            // The kernel forgets a clamp when it learns the size of the segments that come.
            self.window.params.options.renew_window(&self.stream);
        }
        if now_ns > closes_ns {
            return Advance::Over;
        }
        if now_ns >= opens_ns {
            self.tally.read(now_ns, now_ns - opens_ns, bytes, series);
            self.window.progress.add(now_ns, bytes);
        } else {
            self.tally.read_before(now_ns, bytes);
        }
        Advance::Moved
    }

    /// Goes on over another connection of the client, which has lost the present one: it is waited for.
    fn renew(&mut self) -> Advance {
        let Some((renewal, next)) = self.renewal.as_ref().and_then(|renewal| Some((renewal, renewal.wait()?))) else {
            return Advance::Waiting;
        };
        // Nobody is there any more to whom the rest could be sent.
        tcp_io::reset_on_close(&self.stream);
        self.stream = Arc::new(next);
        renewal.hold(&self.stream);
        self.left = self.left.or(self.client);
        self.client = peer_of(&self.stream);
        Advance::Moved
    }

    /// Notes a move at the first read after it.
    #[cold]
    fn note_move(&mut self, from: IpAddr, now_ns: u64) {
        let Some(to) = self.client else { return };
        let t_ns = now_ns.saturating_sub(self.window.beginning.ns().unwrap_or(now_ns));
        self.moves.push(SeenMove { t_ns, from, to, outage_ns: now_ns.saturating_sub(self.progress_ns) });
    }

    /// Looks for the edges at a read, until they are known: until then those of a window that has not opened.
    #[cold]
    fn look_for_edges(&mut self, now_ns: u64) -> (u64, u64) {
        let is_first = self.tally.received_bytes == 0;
        let beginning = &self.window.beginning;
        let first_byte_ns = if is_first { beginning.begin(1, now_ns) } else { beginning.ns() };
        self.edges_ns = first_byte_ns.map(|ns| self.window.edges_after(ns));
        self.edges_ns.unwrap_or((u64::MAX, u64::MAX))
    }

    /// The sender closed: the end of all its bytes, or too early.
    fn closed(&self) -> Result<()> {
        let received_bytes = self.tally.received_bytes;
        let lost = |what: String| Err(peer_lost(&self.window.doing, what));
        match self.expected_bytes {
            Some(expected) if received_bytes == expected => {
                // It waits for this, and others of this thread may still be at work.
                self.stream.shutdown(Shutdown::Write).map_err(|e| tcp_io::lost(&self.window.doing, &e))
            }
            Some(expected) => lost(format!("closed the connection after {received_bytes} of {expected} bytes")),
            None if self.is_over() => Ok(()),
            None => lost(format!("closed the connection after {received_bytes} bytes, before the end")),
        }
    }

    fn is_over(&self) -> bool {
        self.edges_ns.is_some_and(|(_, closes_ns)| clock::monotonic_ns() > closes_ns)
    }
}

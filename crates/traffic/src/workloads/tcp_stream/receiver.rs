//! The receiving side of a direction. It keeps the time.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use socket2::SockRef;

use super::params::StreamParams;
use super::tally::{self, Tally};
use crate::workloads::cpu_watch::{CpuWatch, Edges};
use crate::workloads::tcp::{STALL_NS, Starter, Stop, Worker, io as tcp_io};
use crate::{Endpoint, Error, Result, clock};

/// A read takes at least this much where it is there.
const MIN_BUFFER_BYTES: usize = 64 * 1_024;

/// The receivers of all streams of a direction.
pub struct Receivers {
    window: Arc<Window>,
    edges: Edges,
    cpu: CpuWatch,
    /// By the stream's index: on the serving side they need not come in order.
    workers: BTreeMap<u16, Worker<Received>>,
}

/// What the receivers of a direction share. No lock: one atomic, which changes once.
struct Window {
    params: StreamParams,
    /// Names the peer in errors.
    doing: String,
    /// When the first byte of any stream came; 0 before.
    first_byte_ns: AtomicU64,
}

/// What became of one stream.
struct Received {
    tally: Tally,
    socket: Value,
}

impl Receivers {
    /// No stream yet.
    pub fn new(params: &StreamParams, endpoint: &Endpoint) -> Result<Self> {
        let (cpu, edges) = CpuWatch::start(params.warmup_ns)
            .map_err(|e| Error::system("starting to watch the CPU of a receiver", "clone", e))?;
        let window = Window {
            params: params.clone(),
            doing: format!("receiving from {}", endpoint.peer),
            first_byte_ns: AtomicU64::new(0),
        };
        Ok(Self { window: Arc::new(window), edges, cpu, workers: BTreeMap::new() })
    }

    /// Starts to receive on one more stream.
    pub fn add(&mut self, starter: &Starter, index: u16, stream: TcpStream) -> Result<()> {
        let receiver = Receiver {
            window: Arc::clone(&self.window),
            edges: self.edges.clone(),
            expected_bytes: self.window.params.bytes_of_stream(index),
        };
        let worker = starter
            .start("tcp-receive", move |stop| receiver.run(stream, stop))
            .map_err(|e| Error::system("starting to receive a stream", "clone", e))?;
        self.workers.insert(index, worker);
        Ok(())
    }

    /// The result of the direction, once all streams have ended.
    pub fn finish(self) -> Value {
        let Self { window, edges, cpu, workers } = self;
        let streams: Vec<_> = workers.into_values().filter_map(|worker| worker.join().ok().flatten()).collect();
        drop(edges);
        let params = &window.params;
        let tallies: Vec<_> = streams.iter().map(|stream| &stream.tally).collect();
        let mut result = tally::merge(&tallies, window.edges_ns(), params.interval_ns);
        if let Some(stream) = streams.first() {
            result.insert("socket".into(), stream.socket.clone());
        }
        if let Some(span) = cpu.end() {
            result.insert("cpu".into(), json!(span));
        }
        Value::Object(result)
    }
}

impl Window {
    /// The time of the first byte of any stream; the first to tell is right.
    fn first_byte_ns(&self, now_ns: u64, edges: &Edges) -> u64 {
        match self.first_byte_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                let _ = edges.send(now_ns);
                now_ns
            }
            Err(first_byte_ns) => first_byte_ns,
        }
    }

    /// When the window opens and closes, where a first byte came.
    fn edges_ns(&self) -> Option<(u64, u64)> {
        match self.first_byte_ns.load(Ordering::Relaxed) {
            0 => None,
            first_byte_ns => Some(self.edges_after(first_byte_ns)),
        }
    }

    fn edges_after(&self, first_byte_ns: u64) -> (u64, u64) {
        let opens_ns = first_byte_ns.saturating_add(self.params.warmup_ns);
        (opens_ns, self.params.limit.duration_ns().map_or(u64::MAX, |ns| opens_ns.saturating_add(ns)))
    }
}

struct Receiver {
    window: Arc<Window>,
    edges: Edges,
    /// Where bytes are the limit.
    expected_bytes: Option<u64>,
}

impl Receiver {
    fn run(self, stream: TcpStream, stop: &Stop) -> Result<Received> {
        let mut tally = Tally::new(self.window.params.interval_ns);
        let received = self.receive(&stream, &mut tally, stop);
        let socket = self.window.params.options.granted(SockRef::from(&stream));
        // Limited by bytes, all came and an orderly close tells the sender so.
        if received.is_err() || self.expected_bytes.is_none() {
            tcp_io::reset(stream);
        }
        received.map(|()| Received { tally, socket })
    }

    fn receive(&self, mut stream: &TcpStream, tally: &mut Tally, stop: &Stop) -> Result<()> {
        let buffer_bytes = self.window.params.message_bytes.clamp(MIN_BUFFER_BYTES, tcp_io::MAX_BUFFER_BYTES);
        let mut buffer = vec![0; buffer_bytes];
        // Unknown until a first byte came on any stream.
        let mut edges_ns = None;
        let mut progress_ns = clock::monotonic_ns();
        let mut reads = 0_u64;
        while !stop.is_raised() {
            match stream.read(&mut buffer) {
                Ok(0) => return self.closed(tally, edges_ns),
                Ok(bytes) => {
                    let now_ns = clock::monotonic_ns();
                    let (opens_ns, closes_ns) = *edges_ns
                        .get_or_insert_with(|| self.window.edges_after(self.window.first_byte_ns(now_ns, &self.edges)));
                    progress_ns = now_ns;
                    tally.received_bytes += bytes as u64;
                    reads += 1;
                    if reads.is_power_of_two() {
                        // The kernel forgets a clamp when it learns the size of the segments that come.
                        self.window.params.options.renew_window(stream);
                    }
                    if now_ns > closes_ns {
                        return Ok(());
                    }
                    if now_ns >= opens_ns {
                        tally.read(now_ns, now_ns - opens_ns, bytes as u64);
                    }
                }
                Err(e) if tcp_io::is_pause(&e) => {
                    let now_ns = clock::monotonic_ns();
                    edges_ns = edges_ns.or_else(|| self.window.edges_ns());
                    if edges_ns.is_some_and(|(_, closes_ns)| now_ns > closes_ns) {
                        return Ok(());
                    }
                    if self.expected_bytes.is_some() && now_ns.saturating_sub(progress_ns) > STALL_NS {
                        return Err(Error::Timeout { doing: self.window.doing.clone(), after_ns: STALL_NS });
                    }
                }
                Err(e) if self.is_over(edges_ns) => {
                    drop(e);
                    return Ok(());
                }
                Err(e) => return Err(tcp_io::lost(&self.window.doing, &e)),
            }
        }
        Err(Error::Cancelled)
    }

    /// The sender closed: the end of all its bytes, or too early.
    fn closed(&self, tally: &Tally, edges_ns: Option<(u64, u64)>) -> Result<()> {
        let lost = |what: String| Err(Error::PeerLost { doing: self.window.doing.clone(), what });
        match self.expected_bytes {
            Some(expected) if tally.received_bytes == expected => Ok(()),
            Some(expected) => lost(format!("closed the connection after {} of {expected} bytes", tally.received_bytes)),
            None if self.is_over(edges_ns) => Ok(()),
            None => lost(format!("closed the connection after {} bytes, before the end", tally.received_bytes)),
        }
    }

    fn is_over(&self, edges_ns: Option<(u64, u64)>) -> bool {
        edges_ns.is_some_and(|(_, closes_ns)| clock::monotonic_ns() > closes_ns)
    }
}

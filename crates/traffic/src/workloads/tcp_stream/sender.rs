//! The sending side of a direction.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use socket2::SockRef;

use super::params::StreamParams;
use super::watch::Watch;
use crate::workloads::cpu_watch::Edges;
use crate::workloads::tcp::info::TcpInfo;
use crate::workloads::tcp::{STALL_NS, Starter, Stop, Worker, io as tcp_io};
use crate::{Endpoint, Error, Result, clock};

/// The clock is read once in so many bytes: often enough for a deadline, too seldom to be felt with small messages.
const BYTES_BETWEEN_CLOCKS: usize = 64 * 1_024;

/// The senders of all streams of a direction.
pub struct Senders {
    shared: Arc<Shared>,
    sockets: Vec<Arc<TcpStream>>,
    watch: Watch,
    workers: Vec<Worker<Sent>>,
}

/// What the senders of a direction share. No lock: one atomic, which changes once.
struct Shared {
    params: StreamParams,
    message: Vec<u8>,
    /// Names the peer in errors.
    doing: String,
    /// When the first write of any stream began; 0 before.
    first_write_ns: AtomicU64,
}

/// What became of one stream.
struct Sent {
    bytes: u64,
    /// When the receiver's end was seen.
    ended_ns: u64,
}

impl Senders {
    /// Starts to send on all streams.
    pub fn start(
        starter: &Starter,
        params: &StreamParams,
        endpoint: &Endpoint,
        streams: Vec<TcpStream>,
    ) -> Result<Self> {
        let sockets: Vec<_> = streams.into_iter().map(Arc::new).collect();
        let (watch, edges) = Watch::start(sockets.clone(), params.warmup_ns, params.interval_ns)
            .map_err(|e| Error::system("starting to watch a sender", "clone", e))?;
        let shared = Arc::new(Shared {
            params: params.clone(),
            message: tcp_io::pattern(params.message_bytes),
            doing: format!("sending to {}", endpoint.peer),
            first_write_ns: AtomicU64::new(0),
        });
        let mut workers = Vec::new();
        for (index, stream) in (0..).zip(&sockets) {
            let sender = Sender {
                shared: Arc::clone(&shared),
                edges: edges.clone(),
                stream: Arc::clone(stream),
                bytes: params.bytes_of_stream(index),
            };
            let worker = starter
                .start("tcp-send", move |stop| sender.run(stop))
                .map_err(|e| Error::system("starting to send a stream", "clone", e))?;
            workers.push(worker);
        }
        Ok(Self { shared, sockets, watch, workers })
    }

    /// The result of the direction, once all streams have ended.
    pub fn finish(self) -> Value {
        let Self { shared, sockets, watch, workers } = self;
        let streams: Vec<_> = workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect();
        let mut result = Map::new();
        result.insert("sent_bytes".into(), json!(streams.iter().map(|stream| stream.bytes).sum::<u64>()));
        let ended_ns = streams.iter().map(|stream| stream.ended_ns).max();
        if let (Some(ended_ns), None) = (ended_ns, shared.params.limit.duration_ns()) {
            let first_write_ns = shared.first_write_ns.load(Ordering::Relaxed);
            result.insert("transfer_ns".into(), json!(ended_ns.saturating_sub(first_write_ns)));
        }
        if let Some(socket) = sockets.first() {
            result.insert("socket".into(), shared.params.options.granted(SockRef::from(&**socket)));
        }
        result.extend(watch.end());
        Value::Object(result)
    }
}

struct Sender {
    shared: Arc<Shared>,
    edges: Edges,
    stream: Arc<TcpStream>,
    /// Where bytes are the limit.
    bytes: Option<u64>,
}

impl Sender {
    fn run(self, stop: &Stop) -> Result<Sent> {
        let sent = self.send(stop);
        if sent.is_err() {
            // What is queued must not trickle on into the next trial.
            tcp_io::reset_on_close(&self.stream);
        }
        sent
    }

    fn send(&self, stop: &Stop) -> Result<Sent> {
        let started_ns = self.first_write_ns(clock::monotonic_ns());
        let deadline = Deadline::new(&self.shared.params, started_ns);
        let mut stream = &*self.stream;
        let message = &self.shared.message[..];
        let mut rest = message;
        let mut left = self.bytes.unwrap_or(u64::MAX);
        let mut sent_bytes = 0;
        let mut stall = Stall::default();
        let mut bytes_since_clock = 0;
        while left > 0 {
            stop.check()?;
            let piece = usize::try_from(left).ok().and_then(|left| rest.get(..left)).unwrap_or(rest);
            match stream.write(piece) {
                Ok(bytes) => {
                    sent_bytes += bytes as u64;
                    left -= bytes as u64;
                    rest = rest.get(bytes..).filter(|rest| !rest.is_empty()).unwrap_or(message);
                    stall = Stall::default();
                    bytes_since_clock += bytes;
                    if bytes_since_clock >= BYTES_BETWEEN_CLOCKS {
                        bytes_since_clock = 0;
                        deadline.check(&self.shared.doing)?;
                    }
                }
                Err(e) if tcp_io::is_pause(&e) => {
                    deadline.check(&self.shared.doing)?;
                    stall.check(&self.stream, &self.shared.doing)?;
                }
                Err(e) => return self.ended(&e, sent_bytes, started_ns),
            }
        }
        self.wait_for_receiver(stop)?;
        Ok(Sent { bytes: sent_bytes, ended_ns: clock::monotonic_ns() })
    }

    /// The time of the first write of any stream; the first to tell is right.
    fn first_write_ns(&self, now_ns: u64) -> u64 {
        match self.shared.first_write_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                let _ = self.edges.send(now_ns);
                now_ns
            }
            Err(first_write_ns) => first_write_ns,
        }
    }

    /// The connection is gone: the receiver's way to end its window, unless that cannot be over yet.
    fn ended(&self, error: &io::Error, bytes: u64, started_ns: u64) -> Result<Sent> {
        let ended_ns = clock::monotonic_ns();
        let is_reset = matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
        let lasted_ns = ended_ns.saturating_sub(started_ns);
        if is_reset && self.bytes.is_none() && lasted_ns >= self.shared.params.least_time_ns() {
            return Ok(Sent { bytes, ended_ns });
        }
        Err(tcp_io::lost(&format!("{}, {} ms after the first write", self.shared.doing, lasted_ns / 1_000_000), error))
    }

    /// All is written: says so, and waits until the receiver has read it all and closes too.
    fn wait_for_receiver(&self, stop: &Stop) -> Result<()> {
        let doing = &self.shared.doing;
        self.stream.shutdown(Shutdown::Write).map_err(|e| tcp_io::lost(doing, &e))?;
        let mut stall = Stall::default();
        loop {
            stop.check()?;
            match (&*self.stream).read(&mut [0]) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    let what = "sent data on a connection that it should only receive on".to_owned();
                    return Err(Error::PeerLost { doing: doing.clone(), what });
                }
                Err(e) if tcp_io::is_pause(&e) => stall.check(&self.stream, doing)?,
                Err(e) => return Err(tcp_io::lost(doing, &e)),
            }
        }
    }
}

/// When a transfer limited by time is overdue.
struct Deadline {
    started_ns: u64,
    limit_ns: Option<u64>,
}

impl Deadline {
    fn new(params: &StreamParams, started_ns: u64) -> Self {
        Self { started_ns, limit_ns: params.time_limit_ns() }
    }

    fn check(&self, doing: &str) -> Result<()> {
        let lasted_ns = clock::monotonic_ns().saturating_sub(self.started_ns);
        match self.limit_ns {
            Some(after_ns) if lasted_ns > after_ns => {
                Err(Error::Timeout { doing: format!("{doing} until the receiver ends"), after_ns })
            }
            _ => Ok(()),
        }
    }
}

/// Whether acknowledgements still come while nothing can be written: with a large buffer on a slow link that may take
/// long.
#[derive(Default)]
struct Stall {
    since: Option<(u64, Option<u64>)>,
}

impl Stall {
    fn check(&mut self, stream: &TcpStream, doing: &str) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let acked = TcpInfo::of(stream).ok().and_then(|info| info.bytes_acked);
        match self.since {
            Some((since_ns, before)) if before == acked => {
                if now_ns.saturating_sub(since_ns) > STALL_NS {
                    return Err(Error::Timeout {
                        doing: format!("{doing} and waiting for progress"),
                        after_ns: STALL_NS,
                    });
                }
            }
            _ => self.since = Some((now_ns, acked)),
        }
        Ok(())
    }
}

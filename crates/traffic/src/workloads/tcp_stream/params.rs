//! The parameters of `tcp-stream`.

use std::num::NonZero;
use std::thread;

use serde_json::Value;

use crate::Result;
use crate::params::{self, Limit, MAX_TIME_NS, Params, SECOND_NS};
use crate::workloads::tcp::{STALL_NS, TcpOptions};

/// The largest single write: each sending agent holds one message in memory.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// Each stream is a descriptor at both ends, or three with `splice`.
const MAX_STREAMS: u64 = 1_024;
const MAX_THREADS: u64 = 64;
/// Most streams of all sessions that share a window: as many sessions as an agent holds, of as many streams as one can
/// have.
const MAX_SHARED_STREAMS: u64 = 64 * MAX_STREAMS;
/// Streams for each of which there is another thread without `threads`, as far as there are cores.
const STREAMS_A_THREAD: usize = 8;

/// The senders' way of handing data to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// `write`: the kernel copies it.
    Copy,
    /// `MSG_ZEROCOPY`: the kernel sends the pages of the application, where nothing on the way has to have a copy.
    Zerocopy,
    /// `vmsplice` and `splice`: the pages of the application go through a pipe to the socket.
    Splice,
}

/// The receivers' way of taking data from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveMode {
    /// `read`: the kernel copies it.
    Copy,
    /// `MSG_TRUNC`: the kernel drops it (tcp(7)).
    Truncate,
}

/// The directions in which data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// Client to server.
    pub forward: bool,
    /// Server to client.
    pub reverse: bool,
}

/// The window that sessions of the same trial and agent measure in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedWindow {
    /// Its name, the same for all of them.
    pub name: String,
    /// Number of streams of all of them, a direction: the window opens when this many have begun.
    pub streams: u32,
}

/// `params`, read and checked.
#[derive(Debug, Clone)]
pub struct StreamParams {
    /// Bytes that one write is given.
    pub message_bytes: usize,
    /// Time, or bytes a direction over all its streams.
    pub limit: Limit,
    /// Time before the window.
    pub warmup_ns: u64,
    /// Number of streams a direction.
    pub streams: u16,
    /// Number of threads a direction and side; absent: by the number of streams and cores.
    threads: Option<u64>,
    /// The directions in which data goes.
    pub direction: Direction,
    /// The senders' way of sending.
    pub send: SendMode,
    /// The receivers' way of receiving.
    pub receive: ReceiveMode,
    /// Options of every connection.
    pub options: TcpOptions,
    /// True if the client makes its connection anew from its next address where it loses the present one.
    pub reconnect: bool,
    /// Absent: the session has a window of its own.
    pub shared_window: Option<SharedWindow>,
    /// Interval of the series.
    pub interval_ns: u64,
    /// Time limit for each connection, preamble included.
    pub connect_timeout_ns: u64,
}

impl StreamParams {
    /// Reads them; refuses what is unknown or out of range.
    pub fn parse(workload: &'static str, params: &Value) -> Result<Self> {
        params::read(workload, params, Self::read)
    }

    /// Asks for each of them.
    pub fn read(params: &mut Params<'_>) -> Result<Self> {
        let message_bytes = params.size_or("message_bytes", 1..=MAX_MESSAGE_BYTES, 131_072)?;
        let limit = params.limit(&["duration_ns", "bytes"])?;
        let warmup_ns = params.time_ns("warmup_ns", 0, 0)?;
        let streams = params.integer_or("streams", 1..=MAX_STREAMS, 1)? as u16;
        let direction = params.choice(
            "direction",
            &[
                ("forward", Direction { forward: true, reverse: false }),
                ("reverse", Direction { forward: false, reverse: true }),
                ("both", Direction { forward: true, reverse: true }),
            ],
        )?;
        let threads = params.integer("threads", 1..=MAX_THREADS)?;
        let send = params.choice(
            "send",
            &[("copy", SendMode::Copy), ("zerocopy", SendMode::Zerocopy), ("splice", SendMode::Splice)],
        )?;
        let receive = params.choice("receive", &[("copy", ReceiveMode::Copy), ("truncate", ReceiveMode::Truncate)])?;
        // From half of the least receive buffer, below which the kernel raises it, to what window scaling can express.
        let window_bytes = params.integer("window_bytes", 1..=1 << 29)?;
        let options = TcpOptions { window_bytes, ..TcpOptions::read_long(params, false)? };
        let interval_ns = params.interval_ns()?;
        let connect_timeout_ns = params.time_ns("connect_timeout_ns", 1, 5 * SECOND_NS)?;
        let shared_window = read_shared_window(params, streams, limit)?;
        let reconnect = params.flag("reconnect", false)?;
        if reconnect {
            let is_plain = streams == 1 && !direction.reverse && send == SendMode::Copy && shared_window.is_none();
            if !is_plain || limit.duration_ns().is_none() {
                return Err(params.refuse(
                    "`reconnect` needs one stream that goes forward for a `duration_ns`, with `send` \"copy\" and \
                     without a `shared_window`",
                ));
            }
        }
        if let Limit::Bytes(bytes) = limit {
            if warmup_ns > 0 {
                return Err(params.refuse("`warmup_ns` must be 0 with `bytes`: the window is the whole transfer"));
            }
            if bytes < u64::from(streams) {
                return Err(params.refuse(format!("`bytes` must be at least 1 for each of {streams} streams")));
            }
        }
        Ok(Self {
            message_bytes,
            limit,
            warmup_ns,
            streams,
            threads,
            direction,
            send,
            receive,
            options,
            reconnect,
            shared_window,
            interval_ns,
            connect_timeout_ns,
        })
    }

    /// Number of threads of a direction on each side: never more than streams.
    pub fn threads(&self) -> usize {
        let streams = usize::from(self.streams);
        let threads = self.threads.map_or_else(
            || {
                let cores = thread::available_parallelism().map_or(1, NonZero::get);
                streams.div_ceil(STREAMS_A_THREAD).min(cores)
            },
            |threads| threads as usize,
        );
        threads.min(streams)
    }

    /// Number of streams of a thread. Streams are dealt out to the threads in turn.
    pub fn streams_of_thread(&self, thread: usize) -> usize {
        usize::from(self.streams).saturating_sub(thread).div_ceil(self.threads())
    }

    /// Number of connections of the session.
    pub fn connections(&self) -> usize {
        usize::from(self.streams) * (usize::from(self.direction.forward) + usize::from(self.direction.reverse))
    }

    /// The part of `bytes` that a stream carries; absent where time is the limit.
    pub fn bytes_of_stream(&self, index: u16) -> Option<u64> {
        let Limit::Bytes(bytes) = self.limit else { return None };
        let streams = u64::from(self.streams);
        Some(bytes / streams + u64::from(u64::from(index) < bytes % streams))
    }

    /// Time since its first write after which a transfer limited by time has to be over: some more than the window, for
    /// queues, losses and the receiver's reset.
    pub fn time_limit_ns(&self) -> Option<u64> {
        Some(self.limit.duration_ns()?.saturating_add(self.warmup_ns).saturating_add(STALL_NS).min(3 * MAX_TIME_NS))
    }

    /// Text for errors about a wait: the other sessions that it may be waiting for; empty where there are none.
    pub fn also_awaited(&self) -> String {
        self.shared_window.as_ref().map_or_else(String::new, |shared| {
            format!(" (the window opens when all {} streams that share it have begun)", shared.streams)
        })
    }

    /// The end of the window, since the sender's first write, at the earliest; 0 where bytes are the limit. A part in a
    /// thousand is left for clocks of two machines that do not run at the same rate.
    pub fn least_time_ns(&self) -> u64 {
        let window_ns = self.limit.duration_ns().map_or(0, |ns| ns.saturating_add(self.warmup_ns));
        window_ns - window_ns / 1_000
    }
}

fn read_shared_window(params: &mut Params<'_>, streams: u16, limit: Limit) -> Result<Option<SharedWindow>> {
    let name = params.text("shared_window")?;
    let shared_streams = params.integer("shared_streams", 1..=MAX_SHARED_STREAMS)?;
    let (name, shared_streams) = match (name, shared_streams) {
        (None, None) => return Ok(None),
        (Some(name), Some(shared_streams)) => (name, shared_streams),
        _ => return Err(params.refuse("`shared_window` and `shared_streams` must be given together, or neither")),
    };
    if limit.duration_ns().is_none() {
        return Err(params.refuse("`shared_window` needs `duration_ns`: with `bytes` the window is the whole transfer"));
    }
    if shared_streams < u64::from(streams) {
        return Err(params.refuse(format!("`shared_streams` must be at least the {streams} streams of this session")));
    }
    Ok(Some(SharedWindow { name: name.to_owned(), streams: shared_streams as u32 }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Code;

    fn read(params: Value) -> Result<StreamParams> {
        StreamParams::parse("tcp-stream", &params)
    }

    #[test]
    fn defaults_are_those_of_the_document() {
        let params = read(json!({"duration_ns": 5})).unwrap();
        assert_eq!((params.message_bytes, params.streams, params.warmup_ns), (131_072, 1, 0));
        assert_eq!((params.interval_ns, params.connect_timeout_ns), (100_000_000, 5_000_000_000));
        assert_eq!((params.options.congestion.as_str(), params.options.nodelay), ("cubic", false));
        assert_eq!((params.connections(), params.threads()), (1, 1));
        assert_eq!((params.send, params.receive), (SendMode::Copy, ReceiveMode::Copy));
    }

    #[test]
    fn streams_are_dealt_out_to_threads() {
        let threads = |params: Value| {
            let params = read(params).unwrap();
            (0..params.threads()).map(|thread| params.streams_of_thread(thread)).collect::<Vec<_>>()
        };
        assert_eq!(threads(json!({"bytes": 99, "streams": 8})), [8]);
        assert_eq!(threads(json!({"bytes": 99, "streams": 5, "threads": 3})), [2, 2, 1]);
        assert_eq!(threads(json!({"bytes": 99, "streams": 2, "threads": 64})), [1, 1]);
        assert_eq!(threads(json!({"bytes": 2000, "streams": 1024})).iter().sum::<usize>(), 1024);
    }

    #[test]
    fn streams_share_the_bytes_without_a_rest() {
        let params = read(json!({"bytes": 10, "streams": 4, "direction": "both"})).unwrap();
        let shares: Vec<_> = (0..4).map(|index| params.bytes_of_stream(index).unwrap()).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
        assert_eq!(params.connections(), 8);
    }

    #[test]
    fn who_waits_for_a_shared_window_says_so() {
        assert_eq!(read(json!({"duration_ns": 5})).unwrap().also_awaited(), "");
        let shared = read(json!({"duration_ns": 5, "shared_window": "w", "shared_streams": 3})).unwrap();
        assert_eq!(shared.also_awaited(), " (the window opens when all 3 streams that share it have begun)");
    }

    #[test]
    fn what_is_refused() {
        for params in [
            json!({}),
            json!({"duration_ns": 1, "bytes": 1}),
            json!({"bytes": 1, "warmup_ns": 1}),
            json!({"bytes": 1, "streams": 2}),
            json!({"duration_ns": 1, "message_bytes": 0}),
            json!({"duration_ns": 1, "streams": 0}),
            json!({"duration_ns": 1, "direction": "up"}),
            json!({"duration_ns": 1, "threads": 0}),
            json!({"duration_ns": 1, "send": "sendfile"}),
            json!({"duration_ns": 1, "receive": "zerocopy"}),
            json!({"duration_ns": 1, "congestion": ""}),
            json!({"duration_ns": 1, "mss": 1460}),
            json!({"duration_ns": 1, "shared_window": "w"}),
            json!({"duration_ns": 1, "shared_streams": 1}),
            json!({"bytes": 9, "shared_window": "w", "shared_streams": 1}),
            json!({"duration_ns": 1, "streams": 3, "shared_window": "w", "shared_streams": 2}),
            json!({"bytes": 1, "reconnect": true}),
            json!({"duration_ns": 1, "reconnect": true, "streams": 2}),
            json!({"duration_ns": 1, "reconnect": true, "direction": "both"}),
            json!({"duration_ns": 1, "reconnect": true, "send": "zerocopy"}),
            json!({"duration_ns": 1, "reconnect": true, "shared_window": "w", "shared_streams": 1}),
        ] {
            assert_eq!(read(params.clone()).unwrap_err().code, Code::BadParams, "{params}");
        }
    }
}

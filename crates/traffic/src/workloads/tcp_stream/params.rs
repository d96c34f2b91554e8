//! The parameters of `tcp-stream`.

use serde_json::Value;

use crate::Result;
use crate::params::{Limit, MAX_TIME_NS, Params, SECOND_NS};
use crate::workloads::tcp::{STALL_NS, TcpOptions};

/// The largest single write: each sending agent holds one message in memory.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// Each stream is a thread at both ends.
const MAX_STREAMS: u64 = 1_024;

/// Which ways data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// Client to server.
    pub forward: bool,
    /// Server to client.
    pub reverse: bool,
}

/// `params`, read and checked.
#[derive(Debug, Clone)]
pub struct StreamParams {
    /// What one write is given.
    pub message_bytes: usize,
    /// Time, or bytes a direction over all its streams.
    pub limit: Limit,
    /// Before the window.
    pub warmup_ns: u64,
    /// A direction.
    pub streams: u16,
    /// Which ways data goes.
    pub direction: Direction,
    /// Of every connection.
    pub options: TcpOptions,
    /// Of the series.
    pub interval_ns: u64,
    /// For each connection, preamble included.
    pub connect_timeout_ns: u64,
}

impl StreamParams {
    /// Reads them; refuses what is unknown or out of range.
    pub fn read(workload: &'static str, params: &Value) -> Result<Self> {
        let mut params = Params::new(workload, params)?;
        let message_bytes = params.size("message_bytes", 1..=MAX_MESSAGE_BYTES)?.unwrap_or(131_072);
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
        // From half of the least receive buffer, below which the kernel raises it, to what window scaling can express.
        let window_bytes = params.integer("window_bytes", 1..=1 << 29)?;
        let options = TcpOptions { window_bytes, ..TcpOptions::read_long(&mut params, false)? };
        let interval_ns = params.interval_ns()?;
        let connect_timeout_ns = params.time_ns("connect_timeout_ns", 1, 5 * SECOND_NS)?;
        if let Limit::Bytes(bytes) = limit {
            if warmup_ns > 0 {
                return Err(params.refuse("`warmup_ns` must be 0 with `bytes`: the window is the whole transfer"));
            }
            if bytes < u64::from(streams) {
                return Err(params.refuse(format!("`bytes` must be at least 1 for each of {streams} streams")));
            }
        }
        params.finish()?;
        Ok(Self { message_bytes, limit, warmup_ns, streams, direction, options, interval_ns, connect_timeout_ns })
    }

    /// How many connections the session has.
    pub fn connections(&self) -> usize {
        usize::from(self.streams) * (usize::from(self.direction.forward) + usize::from(self.direction.reverse))
    }

    /// What of `bytes` a stream carries; absent where time is the limit.
    pub fn bytes_of_stream(&self, index: u16) -> Option<u64> {
        let Limit::Bytes(bytes) = self.limit else { return None };
        let streams = u64::from(self.streams);
        Some(bytes / streams + u64::from(u64::from(index) < bytes % streams))
    }

    /// When a transfer limited by time has to be over, since its first write: some more than the window, for queues,
    /// losses and the receiver's reset.
    pub fn time_limit_ns(&self) -> Option<u64> {
        Some(self.limit.duration_ns()?.saturating_add(self.warmup_ns).saturating_add(STALL_NS).min(3 * MAX_TIME_NS))
    }

    /// The end of the window, since the sender's first write, at the earliest; 0 where bytes are the limit. A part in a
    /// thousand is left for clocks of two machines that do not run at the same rate.
    pub fn least_time_ns(&self) -> u64 {
        let window_ns = self.limit.duration_ns().map_or(0, |ns| ns.saturating_add(self.warmup_ns));
        window_ns - window_ns / 1_000
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(params: Value) -> Result<StreamParams> {
        StreamParams::read("tcp-stream", &params)
    }

    #[test]
    fn defaults_are_those_of_the_document() {
        let params = read(json!({"duration_ns": 5})).unwrap();
        assert_eq!((params.message_bytes, params.streams, params.warmup_ns), (131_072, 1, 0));
        assert_eq!((params.interval_ns, params.connect_timeout_ns), (100_000_000, 5_000_000_000));
        assert_eq!((params.options.congestion.as_str(), params.options.nodelay), ("cubic", false));
        assert_eq!(params.connections(), 1);
    }

    #[test]
    fn streams_share_the_bytes_without_a_rest() {
        let params = read(json!({"bytes": 10, "streams": 4, "direction": "both"})).unwrap();
        let shares: Vec<_> = (0..4).map(|index| params.bytes_of_stream(index).unwrap()).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
        assert_eq!(params.connections(), 8);
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
            json!({"duration_ns": 1, "congestion": ""}),
            json!({"duration_ns": 1, "mss": 1460}),
        ] {
            assert_eq!(read(params.clone()).unwrap_err().code(), "bad-params", "{params}");
        }
    }
}

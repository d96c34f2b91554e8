//! The asking side of `tcp-rr`.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::RrParams;
use super::link::Link;
use crate::workloads::guard::Guard;
use crate::workloads::round_trips::{RoundTripTally, RoundTrips};
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Preamble, Role, Stop, connect, io as tcp_io};
use crate::{Endpoint, Result};

/// Connects, warms up, measures.
pub fn run(endpoint: &Endpoint, params: &RrParams, stop: &Stop) -> Result<ClientResult> {
    let preamble = Preamble { role: Role::RequestResponse, index: 0 };
    let (stream, _) = connect::connect_with_preamble(endpoint, &params.options, preamble, params.timeout_ns, stop)?;
    let mut asking = Asking {
        params,
        stop,
        guard: Guard::of_timeout(params.timeout_ns, stop)?,
        link: Link::new(stream, params.busy_poll)?,
        chunk: tcp_io::pattern(params.message_bytes.min(tcp_io::MAX_BUFFER_BYTES)),
        buffer: vec![0; params.response_bytes.min(tcp_io::MAX_BUFFER_BYTES)],
        doing: format!("exchanging messages with {}", endpoint.peer),
    };
    let result = asking.run();
    if result.is_err() {
        tcp_io::reset_on_close(asking.link.stream());
    }
    result
}

struct Asking<'a> {
    params: &'a RrParams,
    stop: &'a Stop,
    guard: Guard,
    link: Link,
    chunk: Vec<u8>,
    buffer: Vec<u8>,
    doing: String,
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    trips: RoundTripTally,
    warmup_transactions: u64,
    socket: GrantedOptions,
    cpu: cpu::Span,
}

impl Asking<'_> {
    fn run(&mut self) -> Result<ClientResult> {
        let warmup_transactions = self.warm_up()?;
        let from = cpu::sample();
        let mut trips = RoundTrips::new(self.params.interval_ns, self.params.limit.duration_ns());
        let started_ns = clock::monotonic_ns();
        let mut ended_ns = started_ns;
        while !self.params.limit.is_reached(trips.count(), ended_ns - started_ns) {
            self.stop.check()?;
            let asked_ns = clock::monotonic_ns();
            self.transaction()?;
            ended_ns = clock::monotonic_ns();
            trips.record(ended_ns - asked_ns, ended_ns - started_ns);
        }
        let cpu = cpu::Span { from, to: cpu::sample() };
        Ok(ClientResult {
            trips: trips.tally(started_ns, ended_ns),
            warmup_transactions,
            socket: self.params.options.granted(SockRef::from(self.link.stream())),
            cpu,
        })
    }

    fn warm_up(&mut self) -> Result<u64> {
        let ends_ns = clock::monotonic_ns().saturating_add(self.params.warmup_ns);
        let mut transactions = 0;
        while clock::monotonic_ns() < ends_ns {
            self.stop.check()?;
            self.transaction()?;
            transactions += 1;
        }
        Ok(transactions)
    }

    #[inline]
    fn transaction(&mut self) -> Result<()> {
        let RrParams { message_bytes, response_bytes, timeout_ns, .. } = *self.params;
        tcp_io::send_message(&mut self.link, &self.chunk, message_bytes, timeout_ns, self.stop)
            .and_then(|()| {
                tcp_io::read_message(&mut self.link, &mut self.buffer, response_bytes, timeout_ns, self.stop)
            })
            .map_err(|failure| failure.explain(&self.doing, timeout_ns))?;
        self.guard.note_progress();
        Ok(())
    }
}

//! The asking side of `tcp-rr`.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::RrParams;
use super::link::Link;
use crate::cancel::Stop;
use crate::datagram::Phase;
use crate::workloads::asking::{Asked, Asker, Lengths, Outcome, ask_phases};
use crate::workloads::guard::Guard;
use crate::workloads::round_trips::RoundTripTally;
use crate::workloads::tcp::options::GrantedOptions;
use crate::workloads::tcp::{Preamble, Role, connect, io as tcp_io};
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
    let lengths = Lengths { warmup_ns: params.warmup_ns, limit: params.limit, interval_ns: params.interval_ns };
    match ask_phases(&mut asking, lengths) {
        Ok(Asked { trips, warmup_transactions, cpu, .. }) => {
            let socket = params.options.granted(SockRef::from(asking.link.stream()));
            Ok(ClientResult { trips, warmup_transactions, socket, cpu })
        }
        Err(error) => {
            tcp_io::reset_on_close(asking.link.stream());
            Err(error)
        }
    }
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

impl Asker for Asking<'_> {
    #[inline]
    fn ask(&mut self, _: Phase, _: u64) -> Result<Outcome> {
        self.stop.check()?;
        let RrParams { message_bytes, response_bytes, timeout_ns, .. } = *self.params;
        let asked_ns = clock::monotonic_ns();
        tcp_io::send_message(&mut self.link, &self.chunk, message_bytes, timeout_ns, self.stop)
            .and_then(|()| {
                tcp_io::read_message(&mut self.link, &mut self.buffer, response_bytes, timeout_ns, self.stop)
            })
            .map_err(|failure| failure.explain(&self.doing, timeout_ns))?;
        self.guard.note_progress();
        Ok(Outcome::Answered { asked_ns, answered_ns: clock::monotonic_ns() })
    }
}

//! `tcp-stream`: bulk transfer over one or more connections, in either or both directions.
//!
//! The receiver of a direction keeps the time: its window opens some time after the first byte and lasts for the
//! requested time, whatever is queued on the way. Sessions may share a window, which opens when all have begun. At its
//! end it resets its connections, so that nobody waits for queues to drain.

mod beginning;
mod moving;
mod output;
mod params;
mod receiver;
mod sender;
mod server;
mod tally;
mod watch;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sixbench_measure::clock;

use self::params::StreamParams;
use self::receiver::{ReceiverResult, Receivers};
use self::sender::{SenderResult, Senders};
use super::tcp::{Preamble, Role, Workers, connect};
use crate::cancel::Stop;
use crate::moving::{Places, check_server, client_places};
use crate::session::TypedWorkload;
use crate::{Cancel, Endpoint, Result, Server};

const NAME: &str = "tcp-stream";

/// The workload.
pub struct TcpStream;

impl TypedWorkload for TcpStream {
    type ClientResult = ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        crate::params::table(self.name(), &json!({"duration_ns": 1}), StreamParams::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<server::ServerResult>>> {
        let params = StreamParams::parse(self.name(), params)?;
        check_server(NAME, endpoints, params.reconnect)?;
        server::serve(endpoints, params, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<ClientResult> {
        let params = StreamParams::parse(self.name(), params)?;
        let (endpoint, places) = client_places(NAME, endpoints, params.reconnect)?;
        let stop = Stop::new(cancel);
        let result = run(endpoint, places, &params, &stop);
        stop.raise();
        result
    }
}

fn run(endpoint: &Endpoint, places: Option<Places>, params: &StreamParams, stop: &Stop) -> Result<ClientResult> {
    let mut connect_ns = Vec::new();
    let mut open = |role| {
        (0..params.streams)
            .map(|index| {
                let preamble = Preamble { role, index };
                let timeout_ns = params.connect_timeout_ns;
                let (stream, ns) =
                    connect::connect_with_preamble(endpoint, &params.options, preamble, timeout_ns, stop)?;
                connect_ns.push(ns);
                Ok(stream)
            })
            .collect::<Result<Vec<_>>>()
    };
    let forward = if params.direction.forward { open(Role::Forward)? } else { Vec::new() };
    let reverse = if params.direction.reverse { open(Role::Reverse)? } else { Vec::new() };

    let workers = Workers::new(stop);
    let mut receivers = if params.direction.reverse {
        Some(Receivers::start(workers.starter(), params, endpoint, Role::Reverse)?)
    } else {
        None
    };
    if let Some(receivers) = &mut receivers {
        for (index, stream) in (0..).zip(reverse) {
            receivers.add(index, stream)?;
        }
    }
    let senders = if params.direction.forward {
        let places = places.map(|places| (places, stop));
        Some(Senders::start(workers.starter(), params, endpoint, Role::Forward, forward, places)?)
    } else {
        None
    };

    let deadline_ns = params.time_limit_ns().map(|limit_ns| clock::monotonic_ns().saturating_add(limit_ns));
    let doing = format!("waiting for the streams with {} to end{}", endpoint.peer, params.also_awaited());
    let outcome = workers.wait(params.connections(), deadline_ns, &doing);

    let result = ClientResult {
        connect_ns,
        forward_sender: senders.map(Senders::finish),
        reverse_receiver: receivers.map(Receivers::finish),
    };
    outcome.map(|()| result)
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    /// Times of the handshakes, those of the streams that go forward first.
    connect_ns: Vec<u64>,
    /// Absent where no data goes forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    forward_sender: Option<SenderResult>,
    /// Absent where no data goes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse_receiver: Option<ReceiverResult>,
}

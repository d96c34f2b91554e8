//! The serving side: takes the streams as they come, receives and sends on them.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, TcpStream};

use schemars::JsonSchema;
use serde::Serialize;

use super::params::StreamParams;
use super::receiver::{ReceiverResult, Receivers};
use super::sender::{SenderResult, Senders};
use crate::cancel::Stop;
use crate::strays::Strays;
use crate::workloads::tcp::{Admit, AdmittingServer, Preamble, Role, Serve, Starter, Workers};
use crate::{Cancel, Endpoint, Result, Server};

/// Listens for the streams of a session.
///
/// # Arguments
/// - `endpoints`: never empty; those after the first have the addresses to which the client may move.
pub fn serve(endpoints: &[Endpoint], params: StreamParams, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let stop = Stop::new(cancel);
    let server = start(&endpoints[0], &endpoints[1..], params, &stop);
    if server.is_err() {
        // Threads may have been started before.
        stop.raise();
    }
    server
}

fn start(
    endpoint: &Endpoint,
    further: &[Endpoint],
    params: StreamParams,
    stop: &Stop,
) -> Result<Box<dyn Server<ServerResult>>> {
    let workers = Workers::new(stop);
    let options = params.options.clone();
    let connections = params.connections();
    let receivers = if params.direction.forward {
        Some(Receivers::start(workers.starter(), &params, endpoint, Role::Forward)?)
    } else {
        None
    };
    let streams = Streams {
        receivers,
        senders: None,
        waiting: BTreeMap::new(),
        taken: HashSet::new(),
        endpoint: endpoint.clone(),
        further: further.iter().map(|endpoint| endpoint.peer).collect(),
        starter: workers.starter().clone(),
        params,
    };
    AdmittingServer::start(endpoint, &options, (connections, "streams"), streams, workers, stop)
}

/// Takes the connections from the acceptor.
struct Streams {
    params: StreamParams,
    endpoint: Endpoint,
    /// Addresses to which the client may move.
    further: Vec<IpAddr>,
    starter: Starter,
    taken: HashSet<(bool, u16)>,
    receivers: Option<Receivers>,
    /// Streams to send on, by index, until all are there: then they start together.
    waiting: BTreeMap<u16, TcpStream>,
    senders: Option<Senders>,
}

impl Admit for Streams {
    fn expects(&self, preamble: Preamble) -> bool {
        let Some(is_forward) = is_forward(preamble.role) else { return false };
        let has_direction = if is_forward { self.params.direction.forward } else { self.params.direction.reverse };
        let is_new = self.params.reconnect || !self.taken.contains(&(is_forward, preamble.index));
        has_direction && preamble.index < self.params.streams && is_new
    }

    fn knows(&self, address: IpAddr) -> bool {
        self.further.contains(&address)
    }

    fn admit(&mut self, preamble: Preamble, stream: TcpStream) {
        if let Err(error) = self.start(preamble, stream) {
            self.starter.fail(error);
        }
    }
}

impl Serve for Streams {
    type Tally = ServerResult;

    fn result(self, strays: u64) -> ServerResult {
        ServerResult {
            strays: Strays::of_connections(strays),
            forward_receiver: self.receivers.map(Receivers::finish),
            reverse_sender: self.senders.map(Senders::finish),
        }
    }
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    strays: Strays,
    /// Absent where no data goes forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    forward_receiver: Option<ReceiverResult>,
    /// Absent where no data goes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse_sender: Option<SenderResult>,
}

impl Streams {
    fn start(&mut self, preamble: Preamble, stream: TcpStream) -> Result<()> {
        let Some(is_forward) = is_forward(preamble.role) else { return Ok(()) };
        let is_first = self.taken.insert((is_forward, preamble.index));
        if let (true, Some(receivers)) = (is_forward, &mut self.receivers) {
            if is_first {
                return receivers.add(preamble.index, stream);
            }
            receivers.renew(stream);
            return Ok(());
        }
        self.waiting.insert(preamble.index, stream);
        if self.waiting.len() == usize::from(self.params.streams) {
            let streams = std::mem::take(&mut self.waiting).into_values().collect();
            self.senders =
                Some(Senders::start(&self.starter, &self.params, &self.endpoint, Role::Reverse, streams, None)?);
        }
        Ok(())
    }
}

fn is_forward(role: Role) -> Option<bool> {
    match role {
        Role::Forward => Some(true),
        Role::Reverse => Some(false),
        _ => None,
    }
}

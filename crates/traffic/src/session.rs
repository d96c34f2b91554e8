//! The arguments of a workload, and the traits that it implements.

use std::net::IpAddr;
use std::slice;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};
use sixbench_packet::LocalAddress;
use sixbench_wire::token::Token;

use crate::cancel::Cancel;
use crate::error::bad_params;
use crate::{Certificate, ConnectionLogs, Load, Progress, Result};

/// One side of a trial's session.
#[derive(Clone)]
pub struct Endpoint {
    /// The local address to bind.
    pub address: LocalAddress,
    /// The only address served, or the one to send to. At a server the unspecified address admits everyone who has the
    /// token; a server of datagrams finds its peer by a cookie then.
    pub peer: IpAddr,
    /// The server's port, at the client; 0 on the serving side.
    pub port: u16,
    /// The trial's secret.
    pub token: Token,
    /// True at a client whose server does not know its peer, so that datagrams begin with the echo of a cookie, and
    /// applications over TCP with a proof.
    pub cookie: bool,
    /// The certificate by which a client knows its server; absent where the workload's server has none.
    pub certificate: Option<Certificate>,
    /// The logs that a client keeps of its connections, if the node keeps any.
    pub logs: ConnectionLogs,
    /// The counters of arrivals, for progress reports.
    pub progress: Progress,
}

impl Endpoint {
    /// A client on loopback, whose server is there too.
    #[cfg(test)]
    pub(crate) fn on_loopback(address: IpAddr) -> Self {
        let token = Token([0; 16]);
        let (logs, progress) = Default::default();
        Self {
            address: address.into(),
            peer: address,
            port: 9,
            token,
            cookie: false,
            certificate: None,
            logs,
            progress,
        }
    }

    /// True if a server takes what comes from this address.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.is_open() || address == self.peer
    }

    /// True if the server was told no peer.
    pub fn is_open(&self) -> bool {
        self.peer.is_unspecified()
    }
}

/// The request to finish.
#[derive(Clone, Copy, Default)]
pub struct Finish {
    /// Datagrams the client sent in the measured phase.
    pub sent: Option<u64>,
    /// Longest wait for the end of the session.
    pub timeout_ns: u64,
    /// Longest wait for the first datagram where none has come, and for the close of connections by QUIC; absent: as
    /// for an unknown path.
    pub first_silence_ns: Option<u64>,
}

/// A workload as the agent drives it: its two sides, whose results are JSON.
pub trait Workload: Sync {
    /// Its name in the protocol and in experiments.
    fn name(&self) -> &'static str;

    /// The parameters by name, with bounds and defaults, from [`crate::params::table`]. Sizes are those of IPv6, which
    /// are larger.
    fn parameters(&self) -> Result<Value>;

    /// The demands of a session with these parameters on its server.
    ///
    /// # Errors
    /// `bad-params` where they have to be understood for that, and are wrong.
    fn load(&self, params: &Value) -> Result<Load> {
        Ok(Load::of(params))
    }

    /// The JSON Schemas of the results of both sides.
    fn results(&self, generator: &mut SchemaGenerator) -> ResultSchemas;

    /// Starts the serving side at these addresses, with one port for all of them; returns when it listens. `params` is
    /// refused when it has unknown keys.
    fn serve_at(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>>;

    /// Runs the client's side to its end and returns its result. The server's addresses are in the order in which the
    /// client prefers them.
    fn run_at(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Value>;

    /// [`Workload::serve_at`] at one address.
    fn serve(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>> {
        self.serve_at(slice::from_ref(endpoint), params, cancel)
    }

    /// [`Workload::run_at`] with one address.
    fn run(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Value> {
        self.run_at(slice::from_ref(endpoint), params, cancel)
    }
}

/// The JSON Schemas of the results of a workload.
#[derive(Debug, Serialize)]
pub struct ResultSchemas {
    /// The client's.
    pub client: Schema,
    /// The server's.
    pub server: Schema,
}

/// A workload as its module has it: the results are types, from which their schemas follow.
pub trait TypedWorkload: Sync {
    /// The client's result.
    type ClientResult: Serialize + JsonSchema;
    /// The server's result.
    type ServerResult: Serialize + JsonSchema + 'static;

    /// [`Workload::name`].
    fn name(&self) -> &'static str;

    /// [`Workload::parameters`].
    fn parameters(&self) -> Result<Value>;

    /// [`Workload::load`].
    fn load(&self, params: &Value) -> Result<Load> {
        Ok(Load::of(params))
    }

    /// [`Workload::serve_at`].
    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<Self::ServerResult>>>;

    /// [`Workload::run_at`].
    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Self::ClientResult>;
}

impl<W: TypedWorkload> Workload for W {
    fn name(&self) -> &'static str {
        TypedWorkload::name(self)
    }

    fn parameters(&self) -> Result<Value> {
        TypedWorkload::parameters(self)
    }

    fn load(&self, params: &Value) -> Result<Load> {
        TypedWorkload::load(self, params)
    }

    fn results(&self, generator: &mut SchemaGenerator) -> ResultSchemas {
        ResultSchemas {
            client: generator.subschema_for::<W::ClientResult>(),
            server: generator.subschema_for::<W::ServerResult>(),
        }
    }

    fn serve_at(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>> {
        Ok(Box::new(WritingServer(TypedWorkload::serve(self, endpoints, params, cancel)?)))
    }

    fn run_at(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Value> {
        Ok(json!(TypedWorkload::run(self, endpoints, params, cancel)?))
    }
}

/// A server whose result is written as JSON.
struct WritingServer<T>(Box<dyn Server<T>>);

impl<T: Serialize> Server for WritingServer<T> {
    fn port(&self) -> u16 {
        self.0.port()
    }

    fn certificate(&self) -> Option<&Certificate> {
        self.0.certificate()
    }

    fn finish(self: Box<Self>, finish: &Finish) -> Result<Value> {
        Ok(json!(self.0.finish(finish)?))
    }
}

/// The one endpoint of a workload that has no use for more.
pub fn only<'a>(workload: &'static str, endpoints: &'a [Endpoint]) -> Result<&'a Endpoint> {
    match endpoints {
        [endpoint] => Ok(endpoint),
        _ => Err(bad_params(workload, "this workload runs between two addresses: leave out `also`")),
    }
}

/// A serving side at work in threads of its own. Dropping it ends them.
pub trait Server<T = Value>: Send {
    /// The port it listens on; 0 where the workload has none.
    fn port(&self) -> u16;

    /// The certificate by which clients know it, where they do so by one.
    fn certificate(&self) -> Option<&Certificate> {
        None
    }

    /// Waits for the end of the session and returns the server's result.
    fn finish(self: Box<Self>, finish: &Finish) -> Result<T>;
}

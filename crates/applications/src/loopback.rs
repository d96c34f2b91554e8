//! Trials over loopback, for the tests of workloads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;
use sixbench_traffic::params::SECOND_NS;
use sixbench_traffic::{Cancel, Certificate, Endpoint, Finish, Server, Workload};
use sixbench_wire::token::Token;

/// The addresses of both families.
pub const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// The secret of these trials.
pub const TOKEN: Token = Token(*b"0123456789abcdef");

/// A side of a trial, whose peer has the same address.
pub fn endpoint(address: IpAddr, port: u16, certificate: Option<Certificate>) -> Endpoint {
    let (logs, progress) = Default::default();
    Endpoint { address: address.into(), peer: address, port, token: TOKEN, cookie: false, certificate, logs, progress }
}

/// The client of a server.
pub fn client_of(server: &dyn Server, address: IpAddr) -> Endpoint {
    endpoint(address, server.port(), server.certificate().cloned())
}

/// A server of the trial.
pub fn serve(workload: &dyn Workload, address: IpAddr, params: &Value) -> Box<dyn Server> {
    workload.serve(&endpoint(address, 0, None), &patient(params), &Cancel::default()).unwrap()
}

/// A server of the trial that was told no peer.
pub fn serve_anybody(workload: &dyn Workload, address: IpAddr, params: &Value) -> Box<dyn Server> {
    let peer: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let endpoint = Endpoint { peer, ..endpoint(address, 0, None) };
    workload.serve(&endpoint, &patient(params), &Cancel::default()).unwrap()
}

/// The client of such a server.
pub fn unknown_client_of(server: &dyn Server, address: IpAddr) -> Endpoint {
    Endpoint { cookie: true, ..client_of(server, address) }
}

/// The result of a client that nobody cancels.
pub fn run(workload: &dyn Workload, client: &Endpoint, params: &Value) -> Value {
    workload.run(client, &patient(params), &Cancel::default()).unwrap()
}

/// The parameters with a time limit that no busy machine reaches, unless they have one.
fn patient(params: &Value) -> Value {
    let mut params = params.clone();
    if let Some(object) = params.as_object_mut() {
        object.entry("timeout_ns").or_insert_with(|| (60 * SECOND_NS).into());
    }
    params
}

/// The result of a server whose client has ended.
pub fn finish(server: Box<dyn Server>) -> Value {
    server.finish(&Finish { timeout_ns: SECOND_NS, ..Finish::default() }).unwrap()
}

/// The results of the client and the server of a whole trial.
pub fn trial(workload: &dyn Workload, address: IpAddr, params: &Value) -> (Value, Value) {
    let server = serve(workload, address, params);
    let client = run(workload, &client_of(&*server, address), params);
    (client, finish(server))
}

//! What the tests on loopback share.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use serde_json::Value;
use sixbench_traffic::{Cancel, Endpoint, Finish, Progress, Result, Server, Token, find};

/// Loopback in each family.
pub const FAMILIES: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// The token of every trial here.
pub const TOKEN: Token = Token([0x5a; 16]);

/// One side of a trial on loopback.
pub fn endpoint(address: IpAddr, port: u16) -> Endpoint {
    Endpoint { address, peer: address, port, token: TOKEN, cookie: false, progress: Progress::default() }
}

/// Starts the serving side.
pub fn serve(workload: &str, address: IpAddr, params: &Value) -> Box<dyn Server> {
    find(workload).unwrap().serve(&endpoint(address, 0), params, &Cancel::default()).unwrap()
}

/// Runs the client's side.
pub fn run(workload: &str, address: IpAddr, port: u16, params: &Value) -> Result<Value> {
    find(workload).unwrap().run(&endpoint(address, port), params, &Cancel::default())
}

/// Both sides to their end; the server is told what the client sent where it counts that.
pub fn trial(workload: &str, address: IpAddr, params: &Value) -> (Value, Value) {
    let server = serve(workload, address, params);
    let client = run(workload, address, server.port(), params).unwrap();
    let sent = client["sent"].as_u64();
    (client, server.finish(&Finish { sent, timeout_ns: 10_000_000_000, first_silence_ns: None }).unwrap())
}

/// A number of a result that must be there.
pub fn number(result: &Value, name: &str) -> u64 {
    result[name].as_u64().unwrap_or_else(|| panic!("{name} in {result}"))
}

/// A socket of somebody else, to send anything to a port.
pub fn stranger(address: IpAddr, port: u16) -> UdpSocket {
    let socket = UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
    socket.connect(SocketAddr::new(address, port)).unwrap();
    socket
}

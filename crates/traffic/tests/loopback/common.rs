//! Helpers that the tests on loopback share.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use serde_json::Value;
use sixbench_traffic::datagram::{Header, Phase};
use sixbench_traffic::{Cancel, Endpoint, Finish, Result, Server, Workload, find, registry};
use sixbench_wire::token::Token;

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
/// Loopback in each family.
pub const FAMILIES: [IpAddr; 2] = [V4, V6];

/// The token of every trial here.
pub const TOKEN: Token = Token(*b"0123456789abcdef");
pub const MS: u64 = 1_000_000;
/// Long enough for anything here on a busy machine; nothing waits for it to pass where all is well.
pub const FINISH: Finish = Finish { sent: None, timeout_ns: 30_000 * MS, first_silence_ns: None };
/// Longer than any test.
pub const HOUR_NS: u64 = 3_600_000 * MS;

/// A workload that there is.
pub fn workload(name: &str) -> &'static dyn Workload {
    find(registry(), name).unwrap()
}

/// One side of a trial on loopback.
pub fn endpoint(address: IpAddr, port: u16) -> Endpoint {
    let (logs, progress) = Default::default();
    Endpoint {
        address: address.into(),
        peer: address,
        port,
        token: TOKEN,
        cookie: false,
        certificate: None,
        logs,
        progress,
    }
}

/// Starts the serving side.
pub fn serve(name: &str, address: IpAddr, params: &Value) -> Box<dyn Server> {
    workload(name).serve(&endpoint(address, 0), params, &Cancel::default()).unwrap()
}

/// Starts a serving side that was told no peer.
pub fn serve_anybody(name: &str, address: IpAddr, params: &Value) -> Box<dyn Server> {
    let peer = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    workload(name).serve(&Endpoint { peer, ..endpoint(address, 0) }, params, &Cancel::default()).unwrap()
}

/// Runs the client's side.
pub fn run(name: &str, address: IpAddr, port: u16, params: &Value) -> Result<Value> {
    workload(name).run(&endpoint(address, port), params, &Cancel::default())
}

/// The server's result, where the client sent so many datagrams.
pub fn finish(server: Box<dyn Server>, sent: Option<u64>) -> Value {
    server.finish(&Finish { sent, ..FINISH }).unwrap()
}

/// Both sides to their end; the server is told what the client sent where it counts that.
pub fn trial(name: &str, address: IpAddr, params: &Value) -> (Value, Value) {
    let server = serve(name, address, params);
    let client = run(name, address, server.port(), params).unwrap();
    let sent = client["sent"].as_u64();
    (client, finish(server, sent))
}

/// A number of a result that must be there.
pub fn number(result: &Value, name: &str) -> u64 {
    result[name].as_u64().unwrap_or_else(|| panic!("{name} in {result}"))
}

/// The sum of a list of numbers.
pub fn sum(list: &Value) -> i64 {
    list.as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).sum()
}

/// A socket of somebody else, to send anything to a port.
pub fn stranger(address: IpAddr, port: u16) -> UdpSocket {
    let (socket, _) = silent(address);
    socket.connect(SocketAddr::new(address, port)).unwrap();
    socket
}

/// A port that nobody else gets and where nobody is: its socket is connected elsewhere, so datagrams of others are
/// refused.
pub fn deserted(address: IpAddr) -> (UdpSocket, u16) {
    let (socket, port) = silent(address);
    socket.connect(SocketAddr::new(address, 9)).unwrap();
    (socket, port)
}

/// A peer that says nothing, and its port.
pub fn silent(address: IpAddr) -> (UdpSocket, u16) {
    let socket = UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// A datagram of the measured phase, of so many bytes.
pub fn datagram(token: u64, sequence: u64, bytes: usize) -> Vec<u8> {
    let mut datagram = Header { token, sequence, sent_realtime_ns: 4, phase: Phase::Measured }.encode().to_vec();
    datagram.resize(bytes, 9);
    datagram
}

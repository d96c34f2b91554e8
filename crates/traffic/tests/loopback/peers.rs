//! Peers of TCP workloads, played by hand.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::Value;
use sixbench_traffic::{Cancel, Error};
use sixbench_wire::token::Token;
use socket2::{Domain, Socket, Type};

use crate::common::{FINISH, TOKEN, V4, endpoint, workload};

/// Roles of preambles, as in the protocol document.
pub const FORWARD: u8 = 1;
pub const REVERSE: u8 = 2;
pub const RR: u8 = 3;
pub const PROOF: u8 = 4;

/// The error of a run in another thread, cancelled once `begun` has returned.
pub fn cancelled_run(name: &'static str, port: u16, params: Value, begun: impl FnOnce()) -> Error {
    let cancel = Cancel::default();
    let running = thread::spawn({
        let cancel = cancel.clone();
        move || workload(name).run(&endpoint(V4, port), &params, &cancel)
    });
    begun();
    cancel.raise();
    running.join().unwrap().unwrap_err()
}

/// The error of waiting for a server that is cancelled meanwhile.
pub fn cancelled_finish(name: &str, params: &Value) -> Error {
    let cancel = Cancel::default();
    let server = workload(name).serve(&endpoint(V4, 0), params, &cancel).unwrap();
    let finishing = thread::spawn(move || server.finish(&FINISH));
    cancel.raise();
    finishing.join().unwrap().unwrap_err()
}

pub fn preamble(token: Token, role: u8, index: u16) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&token.0);
    bytes[16] = role;
    bytes[18..20].copy_from_slice(&index.to_be_bytes());
    bytes
}

/// A connection made by hand.
pub fn connect(address: IpAddr, port: u16) -> TcpStream {
    TcpStream::connect((address, port)).unwrap()
}

/// A connection made by hand that begins with these bytes.
pub fn connect_saying(address: IpAddr, port: u16, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(address, port);
    stream.write_all(bytes).unwrap();
    stream
}

/// A connection over IPv4 from another address than the peer's.
pub fn connect_from_elsewhere(port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), 0).into()).unwrap();
    socket.connect(&SocketAddr::new(V4, port).into()).unwrap();
    socket.into()
}

/// Returns once the other side has closed or reset the connection.
pub fn wait_for_end(mut stream: TcpStream) {
    let mut buffer = [0; 4_096];
    while !matches!(stream.read(&mut buffer), Ok(0) | Err(_)) {}
}

/// Resets a connection.
pub fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
}

/// A server played by hand.
pub fn listen(address: IpAddr) -> (TcpListener, u16) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Accepts a connection and reads its preamble.
pub fn accept(listener: &TcpListener) -> (TcpStream, [u8; 32]) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut preamble = [0; 32];
    stream.read_exact(&mut preamble).unwrap();
    (stream, preamble)
}

/// Makes strays of each kind: from elsewhere (IPv4), with another token, with garbage, closed at once; these have ended
/// when it returns. Gives their number, and some that say nothing or not enough and are still open.
pub fn strays(address: IpAddr, port: u16, role: u8) -> (u64, Vec<TcpStream>) {
    let mut ended = vec![
        connect_saying(address, port, &preamble(Token([9; 16]), role, 0)),
        connect_saying(address, port, &preamble(TOKEN, 77, 0)),
        connect_saying(address, port, &preamble(TOKEN, role, 60_000)),
        connect_saying(address, port, b"GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n"),
    ];
    if address == V4 {
        ended.push(connect_from_elsewhere(port));
    }
    let count = ended.len() as u64;
    ended.into_iter().for_each(wait_for_end);
    (count, vec![connect(address, port), connect_saying(address, port, b"0123")])
}

/// The lists of a series are equally long, and the ends of its intervals rise.
pub fn check_series(series: &Value) {
    let lists: Vec<_> = series.as_object().unwrap().values().map(|list| list.as_array().unwrap().len()).collect();
    assert!(lists.iter().all(|length| *length == lists[0]), "{series}");
    let ends: Vec<_> = series["t_ns"].as_array().unwrap().iter().map(|t| t.as_u64().unwrap()).collect();
    assert!(ends.is_sorted(), "{series}");
}

/// A CPU span is there and in order.
pub fn check_cpu(result: &Value) {
    let clock = |edge: &str| result["cpu"][edge]["clock_ns"].as_u64().unwrap();
    assert!(clock("from") <= clock("to"), "{result}");
}

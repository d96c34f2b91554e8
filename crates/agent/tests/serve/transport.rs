//! Keys: another one, none, and what was recorded of a good one.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::common::Agent;
use crate::server::{KeyFile, Server};

fn connect_fails(server: &Server, key: Option<&KeyFile>) -> String {
    let (host, port) = (server.address.to_string(), server.port.to_string());
    let mut command = Command::new(env!("CARGO_BIN_EXE_sixbench-agent"));
    command.args(["connect", &host, &port]);
    if let Some(key) = key {
        command.arg("--key").arg(&key.0);
    }
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(3));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn another_key_and_no_key_are_told_apart() {
    let (key, other) = (KeyFile::new('a'), KeyFile::new('b'));
    let server = Server::start(&[], Some(&key.0));
    let heard = connect_fails(&server, Some(&other));
    assert!(heard.contains("the server has another key; copy its key file"), "{heard}");
    let heard = connect_fails(&server, None);
    assert!(heard.contains("the server needs a key"), "{heard}");
    server.connect().greeted().ok("cpu", json!({}));
}

#[test]
fn what_is_no_agent_is_told_as_such() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port().to_string();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("it reads");
        let _ = stream.read(&mut [0; 100]);
    });
    let command = &mut Command::new(env!("CARGO_BIN_EXE_sixbench-agent"));
    let output = command.args(["connect", "127.0.0.1", &port]).output().expect("it starts");
    let heard = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3));
    assert!(heard.contains("is not a sixbench agent"), "{heard}");
    other.join().expect("no panic");
}

/// Passes a connection on and records what the client said.
fn record(server: &Server) -> (u16, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    let upstream = server.dial();
    let recorder = thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let (mut back, mut client_out) =
            (upstream.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
        let mut upstream = upstream;
        thread::spawn(move || std::io::copy(&mut back, &mut client_out));
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            heard.extend(&buffer[..count]);
            if upstream.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = upstream.shutdown(Shutdown::Both);
        heard
    });
    (port, recorder)
}

/// The bytes that come until the other end closes; a reset is a close.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    bytes
}

#[test]
fn a_recorded_conversation_opens_nothing() {
    let key = KeyFile::new('c');
    let server = Server::start(&["--max-clients", "1"], Some(&key.0));
    let (port, recorder) = record(&server);
    let path = key.0.to_str().expect("UTF-8");
    let mut client = Agent::start(&["connect", "127.0.0.1", &port.to_string(), "--key", path]).greeted();
    client.ok("cpu", json!({}));
    client.close_stdin();
    client.wait();
    let heard = recorder.join().expect("no panic");
    assert!(heard.len() > 100, "preamble, handshake and two requests");
    assert!(!heard.windows(5).any(|window| window == b"hello"), "nothing can be read on the way");

    let mut replay = server.dial();
    replay.write_all(&heard).expect("it reads");
    let answer = rest(replay);
    // Preamble and handshake, which is what anybody may have; no answer to a request.
    assert!(answer.len() <= 7 + 2 + 48, "{} bytes", answer.len());
    // Whoever replays is no client: there is room for the one that may be.
    server.connect().greeted().ok("cpu", json!({}));
}

#[test]
fn half_a_message_and_a_changed_one_end_only_their_connection() {
    let key = KeyFile::new('d');
    let server = Server::start(&[], Some(&key.0));
    let opening = [&b"SIXB\x02\x01"[..], &[0; 26]].concat();
    for half in [
        &b"SIXB\x02\x01"[..],
        b"SIX",
        &opening,
        &[&opening[..], b"\x00\x30abc"].concat(),
        &[&opening[..], b"\xff\xff"].concat(),
        &[&opening[..], b"\x00\x30", &[7; 48]].concat(),
        b"SIXB\x02\x01\x00\x01",
        b"SIXB\x01\x01",
        b"SIXB\x09\x01",
        b"GET / HTTP/1.1",
    ] {
        let mut stream = server.dial();
        stream.write_all(half).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("a socket");
        assert!(rest(stream).len() <= 7, "{half:?}");
    }
    server.connect().greeted().ok("cpu", json!({}));
}

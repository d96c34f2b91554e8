//! A server under load: cookies, the clients that give way, and the codes that clients get.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::common::{Agent, PATIENCE, session};
use crate::server::{KeyFile, Server};

/// Descriptors of the server under test. A quarter are places at its door, and an eighth of those are load.
const DESCRIPTORS: usize = 512;
const PLACES: usize = DESCRIPTORS / 4;
const LOAD: usize = PLACES / 8;
const COOKIE_BYTES: usize = 24;
const GO_ON: u8 = 0;
const RETRY: u8 = 1;
const UNDER_LOAD: u8 = 2;
const TOO_SLOW: u8 = 5;

fn server(key: Option<&KeyFile>) -> Server {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_sixbench-agent")]);
    Server::start_as(command, &["--listen", "127.0.0.1"], key.map(|key| key.0.as_path()))
}

/// A connection from an address of this machine.
fn dial_from(server: &Server, from: [u8; 4]) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::new(from.into(), 0).into()).expect("loopback");
    socket.connect(&SocketAddr::new(server.address, server.port).into()).expect("it listens");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

fn opening(mode: u8, cookie: &[u8; COOKIE_BYTES]) -> Vec<u8> {
    [&[b'S', b'I', b'X', b'B', 2, mode, 0, 0], &cookie[..]].concat()
}

/// The server's answer to the first bytes of a client without a key.
fn answer(mut stream: TcpStream, cookie: &[u8; COOKIE_BYTES]) -> (u8, Option<[u8; COOKIE_BYTES]>) {
    stream.write_all(&opening(0, cookie)).expect("it reads");
    let mut head = [0; 7];
    stream.read_exact(&mut head).expect("an answer");
    assert_eq!(&head[..6], b"SIXB\x02\x00");
    let mut cookie = [0; COOKIE_BYTES];
    let has_cookie = head[6] == RETRY && stream.read_exact(&mut cookie).is_ok();
    (head[6], has_cookie.then_some(cookie))
}

fn code(stream: &mut TcpStream) -> u8 {
    let mut head = [0; 7];
    stream.read_exact(&mut head).expect("an answer");
    head[6]
}

fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let nothing = (&mut &*stream).read(&mut [0]);
    stream.set_nonblocking(false).expect("a socket");
    matches!(nothing, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Time that a client has for its first bytes.
const OPENING_TIME: Duration = Duration::from_secs(2);
const MAX_ATTEMPTS: usize = 30;

/// The server's answer to a client that comes when the server is under load.
///
/// The server has several queues, so a client may come in before a crowd that has come earlier: the client waits until
/// the server has refused another one. A crowd that the server has sent away in the meantime, because this machine was
/// busy for longer than it waits, proves nothing: another one comes.
fn answer_under_load(server: &Server, from: [u8; 4], cookie: &[u8; COOKIE_BYTES]) -> (u8, Option<[u8; COOKIE_BYTES]>) {
    for _ in 0..MAX_ATTEMPTS {
        let crowd: Vec<_> = (0..2 * LOAD).map(|number| dial_from(server, [127, 0, 9 + number as u8, 1])).collect();
        let is_there = || crowd.iter().all(is_open);
        let refuses = || answer(dial_from(server, [127, 0, 0, 99]), &[0; COOKIE_BYTES]).0 == RETRY;
        while is_there() && !refuses() {}
        let answer = answer(dial_from(server, from), cookie);
        if is_there() {
            return answer;
        }
    }
    panic!("no crowd of {MAX_ATTEMPTS} stayed until the client had its answer");
}

#[test]
fn under_load_only_who_brings_its_own_cookie_comes_in() {
    let server = server(None);
    let ask = |from, cookie: &[u8; COOKIE_BYTES]| answer_under_load(&server, from, cookie);
    let (_, cookie) = ask([127, 0, 0, 1], &[0; COOKIE_BYTES]);
    let cookie = cookie.expect("it is under load");
    // The server refuses the cookie from another address, and with other bytes.
    assert_eq!(ask([127, 0, 0, 2], &cookie).0, RETRY);
    let mut changed = cookie;
    changed[COOKIE_BYTES - 1] ^= 1;
    assert_eq!(ask([127, 0, 0, 1], &changed).0, RETRY);
    assert_eq!(ask([127, 0, 0, 1], &cookie).0, GO_ON);
}

#[test]
fn the_crowd_of_one_network_gives_way_and_is_told_why() {
    let server = server(None);
    for _ in 0..MAX_ATTEMPTS {
        let began = Instant::now();
        let good = dial_from(&server, [127, 0, 1, 1]);
        // There are more of these than there is room for, from many addresses of one /24.
        let mut crowd: Vec<_> = (0..PLACES + 8).map(|number| dial_from(&server, [127, 0, 9, number as u8])).collect();
        let (first, good_stays) = (code(&mut crowd[0]), is_open(&good));
        // Nobody was too slow yet.
        if began.elapsed() < OPENING_TIME {
            assert_eq!((first, good_stays), (UNDER_LOAD, true));
            // No client of the crowd stays for ever.
            assert_eq!(code(&mut crowd[PLACES + 7]), TOO_SLOW);
            return;
        }
    }
    panic!("no crowd of {MAX_ATTEMPTS} had come before the first of it was too slow");
}

#[test]
fn a_good_client_comes_in_beside_a_crowd_that_is_as_large_as_the_server_allows() {
    let key = KeyFile::new('f');
    let server = server(Some(&key));
    let crowd: Vec<_> = (0..2 * PLACES).map(|number| dial_from(&server, [127, 0, number as u8, 9])).collect();
    let mut remote = server.connect().greeted();
    remote.ok("serve", session("s", "tcp-rr", "127.0.0.1", &json!({"count": 1})));
    drop(crowd);
}

/// A listener that answers everybody with the same bytes, and the count of those it answered.
fn oracle(answers: Vec<Vec<u8>>) -> (u16, thread::JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    let oracle = thread::spawn(move || {
        let mut heard = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut opening = [0; 32];
            stream.read_exact(&mut opening).expect("its first bytes");
            stream.write_all(&answer).expect("it reads");
            heard.push(opening.to_vec());
        }
        heard
    });
    (port, oracle)
}

fn connect_to(port: u16) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sixbench-agent"));
    let output = command.args(["connect", "127.0.0.1", &port.to_string()]).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_client_brings_the_cookie_back_and_comes_again_where_there_was_no_place() {
    let head = |code| [&b"SIXB\x02\x00"[..], &[code]].concat();
    let cookie = [0xc0; COOKIE_BYTES];
    let (port, oracle) = oracle(vec![
        head(UNDER_LOAD),
        [head(RETRY), cookie.to_vec()].concat(),
        Vec::new(),
        [head(GO_ON), b"{\"id\":1,\"ok\":{}}\n".to_vec()].concat(),
    ]);
    let mut client = Agent::start(&["connect", "127.0.0.1", &port.to_string()]);
    client.close_stdin();
    client.wait();
    let heard = oracle.join().expect("no panic");
    let cookies: Vec<_> = heard.iter().map(|opening| opening[8..].to_vec()).collect();
    assert_eq!(cookies, [[0; COOKIE_BYTES], [0; COOKIE_BYTES], cookie, cookie]);
}

#[test]
fn a_client_is_told_that_the_server_is_under_load_and_never_of_another_key() {
    let (port, _) = oracle(vec![b"SIXB\x02\x00\x02".to_vec(); 64]);
    let (exit, heard) = connect_to(port);
    assert_eq!(exit, Some(3));
    assert!(heard.contains("the server is under load") && !heard.contains("key"), "{heard}");
}

#[test]
fn clients_have_limits_of_flows_each_and_together() {
    let server = Server::start(&["--max-client-flows", "6", "--max-flows", "8"], None);
    let mut one = server.connect().greeted();
    let mut other = server.connect().greeted();
    let streams = |name, count| {
        session(name, "tcp-stream", "127.0.0.1", &json!({"bytes": 1_000, "streams": count, "direction": "both"}))
    };
    one.ok("serve", streams("a", 2));
    let refused = one.error("serve", streams("b", 2));
    assert_eq!((&refused["code"], &refused["context"]["limit"]), (&json!("over-limit"), &json!("--max-client-flows")));
    assert!(
        refused["message"].as_str().is_some_and(|message| message.contains("a larger --max-client-flows")),
        "{refused}"
    );
    one.ok("serve", streams("b", 1));
    let refused = other.error("serve", streams("a", 2));
    assert_eq!(refused["context"], json!({"limit": "--max-flows", "most": 8, "taken": 6}));
    // The flows of a session that ends are free again.
    one.ok("cancel", json!({"session": "a"}));
    other.ok("serve", streams("a", 2));
}

#[test]
fn silence_and_slowness_are_bounded_beside_each_other() {
    let server = server(None);
    let mut silent = dial_from(&server, [127, 0, 0, 1]);
    let mut slow = dial_from(&server, [127, 0, 0, 1]);
    let bytes = opening(0, &[0; COOKIE_BYTES]);
    for byte in &bytes[..bytes.len() - 1] {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(80));
    }
    assert_eq!((code(&mut silent), code(&mut slow)), (TOO_SLOW, TOO_SLOW));
    assert_eq!(server.address, IpAddr::from(Ipv4Addr::LOCALHOST));
}

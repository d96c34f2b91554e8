//! A resolver with DNS64, asked over both families and both transports.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use serde_json::{Value, json};
use sixbench_wire::dns::{Message, Name};

use crate::common::{Agent, join, with, within};

const PATIENCE: Duration = Duration::from_secs(300);

fn request() -> Value {
    let many: Vec<String> = (1..=50).map(|number| format!("198.51.100.{number}")).collect();
    json!({
        "addresses": ["198.18.0.2", "2001:2::2"], "prefix": "2001:db8:64::/96",
        "names": [{"name": "server", "addresses": ["198.18.1.2"]}, {"name": "many", "addresses": many}],
    })
}

fn pair() -> Option<(Agent, Agent)> {
    let (mut host, mut router) = (Agent::node()?, Agent::node()?);
    join(
        (&mut host, "e0", &["198.18.0.1/24", "2001:2::1/64"]),
        (&mut router, "e0", &["198.18.0.2/24", "2001:2::2/64"]),
    );
    router.ok("dns-start", request());
    Some((host, router))
}

fn question(name: &str) -> Vec<u8> {
    let name: Name = name.parse().expect("a name");
    [&[0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], name.wire(), &[0, 28, 0, 1]].concat()
}

fn servers() -> [SocketAddr; 2] {
    ["198.18.0.2:53", "[2001:2::2]:53"].map(|server| server.parse().expect("an address"))
}

fn ask_by_datagram(host: &Agent, server: SocketAddr, message: &[u8]) -> Vec<u8> {
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = within(host, move || UdpSocket::bind(any).expect("a socket"));
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket.send_to(message, server).expect("sent");
    let mut answer = vec![0; 4096];
    let (length, from) = socket.recv_from(&mut answer).expect("an answer");
    assert_eq!(from, server);
    answer.truncate(length);
    answer
}

fn connect(host: &Agent, server: SocketAddr) -> TcpStream {
    let stream = within(host, move || TcpStream::connect(server).expect("a connection"));
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

fn hear(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).expect("a length");
    let mut answer = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut answer).expect("an answer");
    answer
}

#[test]
fn questions_are_answered_over_both_families_and_transports() {
    let Some((host, mut router)) = pair() else { return };
    let framed = |message: &[u8]| [&(message.len() as u16).to_be_bytes()[..], message].concat();
    for server in servers() {
        let datagram = ask_by_datagram(&host, server, &question("server"));
        let answer = Message::parse(&datagram).expect("a message");
        assert_eq!(answer.sections[0][0].data.1, [0x20, 1, 0xd, 0xb8, 0, 0x64, 0, 0, 0, 0, 0, 0, 198, 18, 1, 2]);
        assert!(Message::parse(&ask_by_datagram(&host, server, &question("many"))).expect("one").header.is_truncated());
        // Two questions, the first in two pieces.
        let mut stream = connect(&host, server);
        let first = framed(&question("many"));
        stream.write_all(&first[..5]).expect("sent");
        stream.write_all(&[&first[5..], &framed(&question("server"))].concat()).expect("sent");
        assert_eq!(Message::parse(&hear(&mut stream)).expect("a message").sections[0].len(), 50);
        assert_eq!(hear(&mut stream), datagram);
    }
    let counters = router.ok("dns-stop", json!({}));
    let expected = json!({
        "udp": 4, "tcp": 4, "outcomes": {"synthesised": 8}, "truncated": 2, "asked": 0, "unanswered": 0, "ignored": {},
    });
    assert_eq!(counters, expected);
    assert_eq!(router.error("dns-counters", json!({}))["code"], "no-service");
    router.ok("dns-start", with(request(), json!({"prefix": null})));
    ask_by_datagram(&host, servers()[0], &question("server"));
    assert_eq!(router.ok("dns-counters", json!({}))["outcomes"], json!({"no-data": 1}));
}

#[test]
fn clients_that_misbehave_do_not_keep_others_from_answers() {
    let Some((host, mut router)) = pair() else { return };
    let [server, _] = servers();
    let waiting: Vec<TcpStream> = (0..70).map(|_| connect(&host, server)).collect();
    let any = "0.0.0.0:0";
    let socket = within(&host, move || UdpSocket::bind(any).expect("a socket"));
    for message in [&[][..], &[0; 11], &[0xff; 40], &[0; 12]] {
        socket.send_to(message, server).expect("sent");
    }
    assert_eq!(ask_by_datagram(&host, server, &question("nobody"))[3] & 15, 3);
    drop(waiting);
    let mut stream = connect(&host, server);
    stream.write_all(&[0, 3, 1, 2, 3]).expect("sent");
    assert_eq!(stream.read(&mut [0; 1]).expect("its end"), 0);
    let counters = router.ok("dns-counters", json!({}));
    assert_eq!(counters["outcomes"], json!({"malformed": 1, "no-name": 1}), "{counters}");
    let ignored = &counters["ignored"];
    assert_eq!((&ignored["short"], &ignored["response"]), (&json!(3), &json!(1)), "{counters}");
}

#[test]
fn resolvers_that_cannot_be_are_refused() {
    let Some(mut router) = Agent::node() else { return };
    let request = || with(request(), json!({"addresses": ["127.0.0.1"]}));
    let cases = [
        ("addresses", json!([]), "bad-params"),
        ("addresses", json!(["192.0.2.1"]), "system"),
        ("prefix", json!("2001:db8::/50"), "bad-params"),
        ("prefix", json!("2001:db8::1/64"), "bad-request"),
        ("names", json!([{"name": "a..b", "addresses": []}]), "bad-params"),
        ("forward", json!({"zone": "example", "server": "127.0.0.1"}), "bad-params"),
        ("forward", json!({"zone": "example"}), "bad-request"),
        ("names", json!([{"name": "a.arpa", "addresses": []}]), "bad-params"),
    ];
    router.refuses("dns-start", request, cases);
    router.ok("dns-start", with(request(), json!({"port": 5353})));
    assert_eq!(router.error("dns-start", with(request(), json!({"port": 5354})))["code"], "service-exists");
}

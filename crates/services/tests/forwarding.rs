//! A resolver that asks another server, which answers as no server should: late, with another number, from elsewhere,
//! cut, or not at all.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;
use sixbench_services::dns::{DnsRequest, Server};
use sixbench_wire::dns::{Kind, Message, Name};

const PATIENCE: Duration = Duration::from_secs(300);
const ADDRESS: [u8; 4] = [198, 18, 1, 4];
const WRONG: [u8; 4] = [198, 18, 1, 99];
const MADE: &str = "2001:db8:64::c612:104";

/// A resolver whose server is a function of the question and of how many were asked before: what it sends, in order.
struct Pair {
    resolver: Server,
    at: SocketAddr,
    server: IpAddr,
    /// Each question to the server, with its sender.
    asked: Receiver<(SocketAddr, Vec<u8>)>,
}

/// The port of both, which are at addresses of this process and this test.
const PORT: u16 = 5300;

fn address(test: u8, host: u8) -> Ipv4Addr {
    let [.., a, b] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | a, b, 2 * test + host)
}

fn pair(test: u8, mut says: impl FnMut(&[u8], usize, &UdpSocket, SocketAddr) + Send + 'static) -> Pair {
    let (own, server) = (address(test, 0), address(test, 1));
    let socket = UdpSocket::bind((server, PORT)).expect("a socket");
    let (tell, asked) = channel();
    // It ends with the process.
    thread::spawn(move || {
        let mut buffer = [0; 512];
        for number in 0.. {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
            let _ = tell.send((from, buffer[..length].to_vec()));
            says(&buffer[..length], number, &socket, from);
        }
    });
    let request: DnsRequest = serde_json::from_value(json!({
        "addresses": [own], "port": PORT, "prefix": "2001:db8:64::/96", "names": [],
        "forward": {"zone": "example", "server": server, "port": PORT},
    }))
    .expect("a request");
    let resolver = Server::start(&request).expect("a resolver");
    Pair { resolver, at: (own, PORT).into(), server: server.into(), asked }
}

impl Pair {
    /// The response code, and the data of the answers.
    fn ask(&self, text: &str) -> (u8, Vec<Vec<u8>>) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket.send_to(&question(text), self.at).expect("sent");
        let mut buffer = [0; 1232];
        let (length, from) = socket.recv_from(&mut buffer).expect("an answer");
        assert_eq!(from, self.at);
        read(&buffer[..length])
    }
}

fn read(answer: &[u8]) -> (u8, Vec<Vec<u8>>) {
    let message = Message::parse(answer).expect("a message");
    assert_eq!((message.header.id, message.header.is_response()), (7, true));
    (message.header.rcode(), message.sections[0].iter().map(|one| one.data.1.to_vec()).collect())
}

fn question(text: &str) -> Vec<u8> {
    let name: Name = text.parse().expect("a name");
    [&[0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], name.wire(), &[0, 28, 0, 1]].concat()
}

fn synthesised() -> Vec<u8> {
    MADE.parse::<Ipv6Addr>().expect("an address").octets().to_vec()
}

fn is_aaaa(asked: &[u8]) -> bool {
    Message::parse(asked).expect("a message").questions[0].kind == Kind::AAAA
}

/// The answer of a server that has this address: no AAAA record, one A record.
fn answer(asked: &[u8], address: [u8; 4]) -> Vec<u8> {
    let mut message = asked.to_vec();
    message[2] |= 0x80;
    if !is_aaaa(asked) {
        message[7] = 1;
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        message.extend(address);
    }
    message
}

fn changed(mut message: Vec<u8>, at: usize) -> Vec<u8> {
    message[at] ^= 1;
    message
}

#[test]
fn addresses_are_made_for_datagrams_and_connections_with_questions_in_a_row() {
    let pair = pair(0, |asked, _, socket, from| {
        socket.send_to(&answer(asked, ADDRESS), from).expect("sent");
    });
    assert_eq!(pair.ask("a.example"), (0, vec![synthesised()]));
    let mut stream = TcpStream::connect(pair.at).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    for text in ["b.example", "ipv4only.arpa", "c.example"] {
        let message = question(text);
        stream.write_all(&[&(message.len() as u16).to_be_bytes()[..], &message].concat()).expect("sent");
    }
    let heard: Vec<usize> = (0..3)
        .map(|_| {
            let mut length = [0; 2];
            stream.read_exact(&mut length).expect("a length");
            let mut answer = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut answer).expect("an answer");
            read(&answer).1.len()
        })
        .collect();
    assert_eq!(heard, [1, 2, 1]);
    let counters = pair.resolver.counters();
    assert_eq!((counters.udp, counters.tcp, counters.asked, counters.unanswered), (1, 3, 6, 0));
}

#[test]
fn answers_with_another_number_question_or_source_do_not_count() {
    let elsewhere = UdpSocket::bind((address(1, 0), 0)).expect("a socket");
    let pair = pair(1, move |asked, _, socket, from| {
        let wrong = answer(asked, WRONG);
        elsewhere.send_to(&wrong, from).expect("sent");
        for message in [changed(wrong.clone(), 1), changed(wrong.clone(), 13), wrong[..wrong.len() - 1].to_vec()] {
            socket.send_to(&message, from).expect("sent");
        }
        socket.send_to(&answer(asked, ADDRESS), from).expect("sent");
    });
    assert_eq!(pair.ask("a.example"), (0, vec![synthesised()]));
    assert_eq!(pair.resolver.counters().ignored["unasked"], 6);
}

#[test]
fn an_answer_to_a_question_that_was_asked_again_comes_too_late() {
    let mut first = None;
    let pair = pair(2, move |asked, _, socket, from| match first.take() {
        None if is_aaaa(asked) => drop(socket.send_to(&answer(asked, ADDRESS), from)),
        None => first = Some((answer(asked, WRONG), from)),
        Some((late, waiting)) => {
            socket.send_to(&late, waiting).expect("sent");
            socket.send_to(&answer(asked, ADDRESS), from).expect("sent");
        }
    });
    assert_eq!(pair.ask("a.example"), (0, vec![synthesised()]));
    let counters = pair.resolver.counters();
    assert_eq!((counters.asked, counters.unanswered, counters.ignored.get("unasked")), (3, 0, Some(&1)));
    let asked: Vec<_> = pair.asked.try_iter().collect();
    assert_ne!((asked[1].0, &asked[1].1[..2]), (asked[2].0, &asked[2].1[..2]));
    assert_eq!(asked[1].1[2..], asked[2].1[2..]);
}

#[test]
fn a_server_that_says_nothing_is_a_failure_that_is_told() {
    let pair = pair(3, |_, _, _, _| ());
    assert_eq!(pair.ask("a.example"), (2, Vec::new()));
    let counters = pair.resolver.counters();
    assert_eq!((counters.asked, counters.unanswered, counters.outcomes["failed"]), (4, 2, 1));
    // The names of its own are none of the server's.
    assert_eq!(pair.ask("ipv4only.arpa").1.len(), 2);
    assert_eq!(pair.ask("nobody").0, 3);
}

#[test]
fn a_cut_answer_is_asked_for_by_a_connection() {
    let listener = TcpListener::bind((address(4, 1), PORT)).expect("a socket");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut length = [0; 2];
        stream.read_exact(&mut length).expect("a length");
        let mut asked = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut asked).expect("a question");
        let message = answer(&asked, ADDRESS);
        let [high, low] = (message.len() as u16).to_be_bytes();
        // In pieces.
        for piece in [&[high][..], &[low], &message[..5], &message[5..]] {
            stream.write_all(piece).expect("sent");
        }
    });
    let pair = pair(4, |asked, _, socket, from| {
        let mut message = answer(asked, WRONG);
        if !is_aaaa(asked) {
            message[2] |= 2;
        }
        socket.send_to(&message, from).expect("sent");
    });
    assert_eq!(pair.ask("a.example"), (0, vec![synthesised()]));
    assert_eq!(pair.resolver.counters().asked, 3);
}

#[test]
fn one_that_does_not_listen_for_connections_has_no_answer_that_was_cut() {
    let pair = pair(5, |asked, _, socket, from| {
        let mut message = answer(asked, WRONG);
        message[2] |= 2;
        socket.send_to(&message, from).expect("sent");
    });
    assert_eq!(pair.ask("a.example"), (2, Vec::new()));
    assert_eq!(pair.resolver.counters().outcomes["failed"], 1);
}

#[test]
fn identifiers_and_ports_differ() {
    let pair = pair(6, |asked, _, socket, from| {
        socket.send_to(&answer(asked, ADDRESS), from).expect("sent");
    });
    for number in 0..64 {
        pair.ask(&format!("h{number}.example"));
    }
    let asked: Vec<_> = pair.asked.try_iter().collect();
    let ids: BTreeSet<_> = asked.iter().map(|(_, message)| message[..2].to_vec()).collect();
    let ports: BTreeSet<_> = asked.iter().map(|(from, _)| from.port()).collect();
    // 128 of 65536 numbers: that ten pairs are the same has a chance below one in a billion. So has it that eight of 16
    // ports ask nothing.
    assert!(ids.len() > 118 && ports.len() > 8, "{} identifiers, {} ports", ids.len(), ports.len());
}

#[test]
fn a_resolver_that_would_ask_itself_is_refused() {
    let pair = pair(7, |_, _, _, _| ());
    let own = pair.at.ip();
    for (forward, words) in [
        (json!({"zone": "example", "server": own, "port": PORT}), "the resolver would ask itself"),
        (json!({"zone": "a..b", "server": pair.server}), "no domain name"),
    ] {
        let request = json!({"addresses": [own], "port": PORT, "names": [], "forward": forward});
        let request: DnsRequest = serde_json::from_value(request).expect("a request");
        let error = Server::start(&request).expect_err("it cannot be");
        assert!(error.to_string().contains(words), "{error}");
    }
}

//! `udp-stream` from the server to the client, and both ways at once, also behind an address translator.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{FAMILIES, TOKEN, endpoint, number};
use serde_json::{Value, json};
use sixbench_traffic::datagram::Header;
use sixbench_traffic::{Cancel, Endpoint, Finish, Server, find};

const MS: u64 = 1_000_000;

fn serve(address: IpAddr, is_open: bool, params: &Value) -> Box<dyn Server> {
    let anybody = if address.is_ipv4() { [0, 0, 0, 0].into() } else { [0_u16; 8].into() };
    let peer = if is_open { anybody } else { address };
    let endpoint = Endpoint { peer, ..endpoint(address, 0) };
    find("udp-stream").unwrap().serve(&endpoint, params, &Cancel::default()).unwrap()
}

fn run(address: IpAddr, port: u16, params: &Value) -> Value {
    find("udp-stream").unwrap().run(&endpoint(address, port), params, &Cancel::default()).unwrap()
}

fn finish(server: Box<dyn Server>, sent: Option<u64>) -> Value {
    server.finish(&Finish { sent, timeout_ns: 20_000_000_000, first_silence_ns: None }).unwrap()
}

#[test]
fn the_server_sends_and_the_client_keeps_the_account() {
    for address in FAMILIES {
        for (is_open, params) in [
            (true, json!({"direction": "reverse", "datagram_bytes": 200, "count": 300, "rate_pps": 10_000})),
            (false, json!({"direction": "reverse", "datagram_bytes": 200, "bytes": 60_000})),
            (
                true,
                json!({"direction": "reverse", "datagram_bytes": 200, "duration_ns": 100 * MS, "rate_pps": 3000, "warmup_ns": 20 * MS}),
            ),
        ] {
            let server = serve(address, is_open, &params);
            let client = run(address, server.port(), &params);
            let served = finish(server, None);
            let (received, sent) = (&client["reverse_receiver"], &served["reverse_sender"]);
            assert_eq!(number(sent, "sent"), 300, "{params}");
            let lost = number(received, "lost_middle") + number(received, "lost_tail");
            assert_eq!(number(received, "unique") + lost, 300, "{params}: {received}");
            assert_eq!(lost, number(received, "socket_drops"), "{params}: {received}");
            assert_eq!(received["one_way_delay"]["count"], received["unique"]);
            assert_eq!(params.get("warmup_ns").is_some(), number(received, "warmup_received") > 0);
            assert!(received["cpu"].is_object() && sent["cpu"].is_object());
        }
    }
}

#[test]
fn both_ways_at_once_are_two_accounts() {
    for address in FAMILIES {
        let params = json!({"direction": "both", "datagram_bytes": 100, "count": 200, "rate_pps": 5000});
        let server = serve(address, true, &params);
        let client = run(address, server.port(), &params);
        let sent = client["forward_sender"]["sent"].as_u64();
        let served = finish(server, sent);
        for (sender, receiver) in [
            (&client["forward_sender"], &served["forward_receiver"]),
            (&served["reverse_sender"], &client["reverse_receiver"]),
        ] {
            assert_eq!((number(sender, "sent"), number(receiver, "unique")), (200, 200), "{receiver}");
            assert_eq!((number(receiver, "lost_middle"), number(receiver, "lost_tail")), (0, 0), "{receiver}");
        }
    }
}

#[test]
fn only_known_directions_are_taken() {
    let params = json!({"direction": "sideways", "datagram_bytes": 100, "count": 1});
    let error =
        find("udp-stream").unwrap().serve(&endpoint(FAMILIES[0], 0), &params, &Cancel::default()).err().unwrap();
    assert!(error.to_string().contains("`direction` must be one of forward, reverse, both"), "{error}");
}

/// Passes datagrams on from an address and port of its own, as an address translator does, except those that it is to lose on their way back.
struct Translator {
    port: u16,
    end: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Translator {
    fn start(address: IpAddr, server_port: u16, loses: impl Fn(&[u8]) -> bool + Send + 'static) -> Self {
        let inside = UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
        let outside = UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
        outside.connect(SocketAddr::new(address, server_port)).unwrap();
        let port = inside.local_addr().unwrap().port();
        for socket in [&inside, &outside] {
            socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        }
        let end = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&end);
        let thread = thread::spawn(move || {
            let (mut client, mut buffer) = (None, [0; 2048]);
            while !is_over.load(Ordering::Relaxed) {
                if let Ok((length, from)) = inside.recv_from(&mut buffer) {
                    client = Some(from);
                    let _ = outside.send(&buffer[..length]);
                }
                while let Ok(length) = outside.recv(&mut buffer) {
                    if let Some(client) = client.filter(|_| !loses(&buffer[..length])) {
                        let _ = inside.send_to(&buffer[..length], client);
                    }
                }
            }
        });
        Self { port, end, thread: Some(thread) }
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn behind_a_translator_the_tail_that_was_lost_is_known_from_the_servers_end() {
    for address in FAMILIES {
        let params = json!({"direction": "reverse", "datagram_bytes": 100, "count": 50, "rate_pps": 2000});
        let server = serve(address, true, &params);
        let translator = Translator::start(address, server.port(), |datagram| {
            let sequence = Header::decode(datagram).filter(|_| datagram.len() == 100).map(|header| header.sequence);
            sequence.is_some_and(|sequence| sequence == 20 || sequence >= 47)
        });
        let client = run(address, translator.port, &params);
        let served = finish(server, None);
        let received = &client["reverse_receiver"];
        assert_eq!(number(&served["reverse_sender"], "sent"), 50);
        assert_eq!((number(received, "unique"), number(received, "lost_middle")), (46, 1), "{received}");
        assert_eq!(number(received, "lost_tail"), 3, "{received}");
    }
}

#[test]
fn without_the_servers_end_the_tail_is_not_known() {
    let address = FAMILIES[0];
    let params = json!({"direction": "reverse", "datagram_bytes": 100, "duration_ns": 20 * MS, "rate_pps": 1000});
    let server = serve(address, true, &params);
    let token = TOKEN.short().to_be_bytes();
    let translator = Translator::start(address, server.port(), move |datagram| {
        datagram.len() == 32 && datagram[..8] == token && datagram[24] == 6
    });
    let client = run(address, translator.port, &params);
    finish(server, None);
    let received = &client["reverse_receiver"];
    assert_eq!((number(received, "unique"), received.get("lost_tail")), (20, None), "{received}");
}

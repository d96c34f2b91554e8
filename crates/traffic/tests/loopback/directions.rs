//! `udp-stream` from the server to the client, and both ways at once, also behind an address translator.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{
    FAMILIES, MS, TOKEN, V4, endpoint, finish, number, run, serve, serve_anybody, silent, stranger, workload,
};
use serde_json::json;
use sixbench_traffic::Cancel;
use sixbench_traffic::datagram::Header;

const NAME: &str = "udp-stream";

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
            let server = if is_open { serve_anybody(NAME, address, &params) } else { serve(NAME, address, &params) };
            let client = run(NAME, address, server.port(), &params).unwrap();
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
        let server = serve_anybody(NAME, address, &params);
        let client = run(NAME, address, server.port(), &params).unwrap();
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
    let error = workload("udp-stream").serve(&endpoint(V4, 0), &params, &Cancel::default()).err().unwrap();
    assert!(error.to_string().contains("`direction` must be one of forward, reverse, both"), "{error}");
}

/// Passes datagrams on from an address and port of its own, as an address translator does, except those that it is to
/// lose on their way back.
struct Translator {
    port: u16,
    end: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Translator {
    fn start(address: IpAddr, server_port: u16, loses: impl Fn(&[u8]) -> bool + Send + 'static) -> Self {
        let ((inside, port), outside) = (silent(address), stranger(address, server_port));
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
        let server = serve_anybody(NAME, address, &params);
        let translator = Translator::start(address, server.port(), |datagram| {
            let sequence = Header::decode(datagram).filter(|_| datagram.len() == 100).map(|header| header.sequence);
            sequence.is_some_and(|sequence| sequence == 20 || sequence >= 47)
        });
        let client = run(NAME, address, translator.port, &params).unwrap();
        let served = finish(server, None);
        let received = &client["reverse_receiver"];
        assert_eq!(number(&served["reverse_sender"], "sent"), 50);
        assert_eq!((number(received, "unique"), number(received, "lost_middle")), (46, 1), "{received}");
        assert_eq!(number(received, "lost_tail"), 3, "{received}");
    }
}

#[test]
fn without_the_servers_end_the_tail_is_not_known() {
    let address = V4;
    let params = json!({"direction": "reverse", "datagram_bytes": 100, "duration_ns": 20 * MS, "rate_pps": 1000});
    let server = serve_anybody(NAME, address, &params);
    let token = TOKEN.short().to_be_bytes();
    let translator = Translator::start(address, server.port(), move |datagram| {
        datagram.len() == 32 && datagram[..8] == token && datagram[24] == 6
    });
    let client = run(NAME, address, translator.port, &params).unwrap();
    finish(server, None);
    let received = &client["reverse_receiver"];
    assert_eq!((number(received, "unique"), received.get("lost_tail")), (20, None), "{received}");
}

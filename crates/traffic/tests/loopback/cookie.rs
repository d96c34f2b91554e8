//! Servers that were told no peer, on loopback: who has echoed a cookie is served, and nobody else is sent anything but
//! cookies.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use crate::common::{FAMILIES, MS, TOKEN, V4, endpoint, finish, number, serve_anybody, stranger};
use crate::peers::{connect_saying, preamble};
use serde_json::{Value, json};
use sixbench_traffic::cookie::{Kind, Message};
use sixbench_traffic::datagram::{Header, Phase};
use sixbench_traffic::{Cancel, Code, Endpoint, Finish};

/// Long enough for an answer on a busy machine, where one comes.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time for which silence is listened to.
const SILENCE: Duration = Duration::from_millis(150);

fn run_with_cookie(workload: &str, address: IpAddr, port: u16, params: &Value) -> Value {
    let endpoint = Endpoint { cookie: true, ..endpoint(address, port) };
    crate::common::workload(workload).run(&endpoint, params, &Cancel::default()).unwrap()
}

/// Asks for a cookie, and is sent nothing else.
fn cookie_for(stranger: &UdpSocket) -> Message {
    stranger.set_read_timeout(Some(PATIENCE)).unwrap();
    let ask = Message { token: TOKEN.short(), cookie: [0; 16], kind: Kind::Ask };
    stranger.send(&ask.encode()).unwrap();
    let mut answer = [0; 10_000];
    let length = stranger.recv(&mut answer).expect("a cookie");
    let cookie = Message::decode(&answer[..length], TOKEN.short()).expect("a cookie");
    assert_eq!((length, cookie.kind), (32, Kind::Cookie));
    cookie
}

#[test]
fn every_workload_serves_whoever_has_the_token() {
    for address in FAMILIES {
        for (workload, params, key) in [
            ("udp-stream", json!({"datagram_bytes": 100, "count": 50, "rate_pps": 5000}), "received"),
            ("udp-rr", json!({"count": 50}), "transactions"),
            ("pmtu", json!({"transfer_bytes": 10_000}), "received_bytes"),
            ("tcp-stream", json!({"bytes": 100_000}), "forward_receiver"),
            ("tcp-rr", json!({"count": 50}), "transactions"),
            ("tcp-connect", json!({"count": 50}), "transactions"),
            ("tcp-crr", json!({"count": 50}), "transactions"),
        ] {
            let server = serve_anybody(workload, address, &params);
            let client = run_with_cookie(workload, address, server.port(), &params);
            let served = finish(server, client["sent"].as_u64());
            let expected = match workload {
                "pmtu" => json!(10_000),
                "tcp-stream" => served[key].clone(),
                _ => json!(50),
            };
            assert!(!served[key].is_null(), "{workload}: {served}");
            assert_eq!(served[key], expected, "{workload} over {address}: {served}");
            assert_eq!(served["strays"]["datagrams"].as_u64().unwrap_or(0), 0, "{workload}: {served}");
        }
    }
}

#[test]
fn who_only_has_the_token_is_sent_no_more_than_it_sent_and_nothing_but_cookies() {
    for address in FAMILIES {
        for (workload, params) in [
            ("udp-stream", json!({"datagram_bytes": 1000, "count": 5})),
            ("udp-rr", json!({"count": 5, "message_bytes": 32, "response_bytes": 9000})),
        ] {
            let server = serve_anybody(workload, address, &params);
            let stranger = stranger(address, server.port());
            let mut answer = [0; 10_000];

            stranger.set_read_timeout(Some(SILENCE)).unwrap();
            let request = Header { token: TOKEN.short(), sequence: 0, sent_realtime_ns: 0, phase: Phase::Measured };
            let guess = Message { token: TOKEN.short(), cookie: [7; 16], kind: Kind::Echo };
            let foreign = Message { token: TOKEN.short() + 1, cookie: [0; 16], kind: Kind::Ask };
            for datagram in [request.encode(), guess.encode(), foreign.encode()] {
                stranger.send(&datagram).unwrap();
                stranger.recv(&mut answer).expect_err("an answer to who has not echoed a cookie");
            }

            let cookie = cookie_for(&stranger);
            // Whoever else got hold of the cookie has another port.
            let thief = crate::common::stranger(address, server.port());
            thief.set_read_timeout(Some(SILENCE)).unwrap();
            thief.send(&Message { kind: Kind::Echo, ..cookie }.encode()).unwrap();
            thief.recv(&mut answer).expect_err("an answer to a stolen cookie");

            // Nothing of this keeps the client out.
            let client = run_with_cookie(workload, address, server.port(), &params);
            let served = finish(server, client["sent"].as_u64());
            assert_eq!(number(&served["strays"], "datagrams"), 4, "{workload}: {served}");
        }
    }
}

#[test]
fn path_mtu_probes_of_who_has_not_echoed_a_cookie_are_not_acknowledged() {
    for address in FAMILIES {
        let server = serve_anybody("pmtu", address, &json!({}));
        // The control connection, by which the session begins: its preamble is the token and role 5.
        let _control = connect_saying(address, server.port(), &preamble(TOKEN, 5, 0));

        let stranger = stranger(address, server.port());
        let mut answer = [0; 2000];
        // Probe 1, of 1000 bytes with its headers.
        let headers = if address.is_ipv4() { 28 } else { 48 };
        let mut probe = vec![0; 1000 - headers];
        probe[..8].copy_from_slice(&TOKEN.short().to_be_bytes());
        (probe[15], probe[16]) = (1, 1);
        probe[20..24].copy_from_slice(&1000_u32.to_be_bytes());
        stranger.set_read_timeout(Some(SILENCE)).unwrap();
        stranger.send(&probe).unwrap();
        stranger.recv(&mut answer).expect_err("an answer to who has not echoed a cookie");

        let cookie = cookie_for(&stranger);
        stranger.send(&Message { kind: Kind::Echo, ..cookie }.encode()).unwrap();
        let length = stranger.recv(&mut answer).expect("a welcome");
        let welcome = Message::decode(&answer[..length], TOKEN.short()).expect("a welcome");
        assert_eq!(welcome.kind, Kind::Welcome);
        stranger.send(&probe).unwrap();
        assert_eq!(stranger.recv(&mut answer).expect("an acknowledgement"), 32);
        assert_eq!((answer[15], answer[16]), (1, 2));
    }
}

#[test]
fn a_server_whose_client_never_came_says_so() {
    let server = serve_anybody("udp-rr", V4, &json!({"count": 5}));
    let error =
        server.finish(&Finish { sent: None, timeout_ns: 50 * MS, first_silence_ns: None }).expect_err("nobody came");
    assert_eq!(error.code, Code::Timeout);
    assert!(error.to_string().contains("a client that echoes a cookie"), "{error}");
}

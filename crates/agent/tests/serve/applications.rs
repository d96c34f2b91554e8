//! Applications between two machines: with the key of the session, and within the server's limits.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Agent, session};
use crate::server::{KeyFile, Server, run, trial};

/// A trial of each application over each of its transports: the number of the server's result that it has to have.
fn trials() -> Vec<(&'static str, Value, &'static str, u64)> {
    vec![
        ("tls", json!({"count": 5}), "transactions", 5),
        ("quic-connect", json!({"count": 5}), "transactions", 5),
        ("quic-stream", json!({"bytes": 100_000}), "received_bytes", 100_000),
        ("http", json!({"count": 2, "objects": 4}), "requests", 8),
        ("http", json!({"count": 2, "objects": 4, "tls": "none"}), "requests", 8),
        ("http", json!({"count": 2, "objects": 4, "version": "2"}), "requests", 8),
        ("http", json!({"count": 2, "objects": 4, "version": "3", "connection": "kept"}), "requests", 12),
        ("dns", json!({"count": 5}), "transactions", 5),
        ("dns", json!({"count": 5, "over": "tcp"}), "transactions", 5),
        ("dns", json!({"count": 5, "over": "tls", "connection": "kept"}), "transactions", 5),
        ("dns", json!({"count": 5, "over": "https"}), "transactions", 5),
        ("dns", json!({"count": 5, "over": "quic"}), "transactions", 5),
    ]
}

#[test]
fn they_are_measured_as_other_workloads_are() {
    let key = KeyFile::new('a');
    let server = Server::start(&["--listen", "127.0.0.1,::1"], Some(&key.0));
    let mut remote = server.connect().greeted();
    let mut local = Agent::here().greeted();
    for address in ["127.0.0.1", "::1"] {
        for (workload, params, number, expected) in trials() {
            let (result, finished) = trial(&mut remote, &mut local, workload, address, &params);
            assert_eq!(finished[number], expected, "{workload} {params} over {address}: {result} {finished}");
            assert_eq!(
                finished["strays"],
                json!({"connections": 0, "datagrams": 0}),
                "{workload} {params}: {finished}"
            );
        }
    }
}

#[test]
fn what_exceeds_a_limit_is_refused_before_it_begins() {
    let limits = ["--max-duration", "1", "--max-rate", "1M", "--max-client-flows", "8"];
    let server = Server::start(&limits, None);
    let mut remote = server.connect().greeted();
    let too_long = json!({"duration_ns": 1_000_000_001});
    let too_many = json!({"count": 9, "in_flight": 9});
    for (workload, params, limit) in [
        ("tls", too_long.clone(), "--max-duration"),
        ("quic-connect", too_long.clone(), "--max-duration"),
        ("quic-stream", too_long.clone(), "--max-duration"),
        ("http", too_long.clone(), "--max-duration"),
        ("dns", too_long, "--max-duration"),
        ("quic-stream", json!({"bytes": 125_001}), "--max-rate for --max-duration"),
        ("http", json!({"count": 1, "version": "3", "object_bytes": 125_001}), "--max-rate for --max-duration"),
        ("tls", too_many.clone(), "--max-client-flows"),
        ("quic-connect", too_many.clone(), "--max-client-flows"),
        ("dns", too_many, "--max-client-flows"),
        ("http", json!({"count": 1, "objects": 9, "parallel": 9, "object_bytes": 1}), "--max-client-flows"),
    ] {
        let refused = remote.error("serve", session("s", workload, "127.0.0.1", &params));
        let found = (&refused["code"], &refused["context"]["limit"]);
        assert_eq!(found, (&json!("over-limit"), &json!(limit)), "{workload} {params}: {refused}");
    }
    // The name is still free, and so are all flows.
    remote.ok("serve", session("s", "dns", "127.0.0.1", &json!({"duration_ns": 1_000_000_000, "in_flight": 8})));
    let taken = remote.error("serve", session("more", "quic-connect", "127.0.0.1", &json!({"count": 1})));
    assert_eq!((&taken["code"], &taken["context"]["taken"]), (&json!("over-limit"), &json!(8)));
}

#[test]
fn a_stranger_at_the_data_port_is_sent_nothing() {
    let server = Server::start(&[], None);
    let mut remote = server.connect().greeted();
    let mut local = Agent::here().greeted();
    for (workload, params) in [
        ("http", json!({"count": 2, "version": "3"})),
        ("dns", json!({"count": 2})),
        ("quic-stream", json!({"bytes": 9})),
    ] {
        let served = remote.ok("serve", session("s", workload, "127.0.0.1", &params));
        let stranger = UdpSocket::bind("127.0.0.3:0").expect("loopback");
        let port = served["port"].as_u64().and_then(|port| port.try_into().ok()).expect("a port");
        stranger.connect(("127.0.0.1", port)).expect("loopback");
        // A packet of QUIC of an unknown version, to which its servers answer.
        let mut packet = [0; 1_200];
        packet[..6].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8]);
        stranger.send(&packet).expect("loopback");
        local.ok("run", run("c", workload, "127.0.0.1", &served, &params));
        stranger.set_nonblocking(true).expect("a socket");
        assert_eq!(stranger.recv(&mut packet).expect_err("silence").kind(), ErrorKind::WouldBlock, "{workload}");
        let finished = remote.ok("finish", json!({"session": "s", "timeout_ns": 20_000_000_000_u64}));
        assert_eq!(finished["strays"]["datagrams"], 1, "{workload}: {finished}");
    }
}

#[test]
fn they_end_with_their_client() {
    let server = Server::start(&[], None);
    let mut remote = server.connect().greeted();
    let params = json!({"duration_ns": 60_000_000_000_u64, "version": "3"});
    let served = remote.ok("serve", session("s", "http", "127.0.0.1", &params));
    let port = served["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
    assert!(UdpSocket::bind(("127.0.0.1", port)).is_err(), "the server has it");
    remote.kill();
    while UdpSocket::bind(("127.0.0.1", port)).is_err() {
        thread::sleep(Duration::from_millis(10));
    }
}

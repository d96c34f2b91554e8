//! Requests that a served agent refuses, and limits that it keeps.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::session;
use crate::server::{KeyFile, Server};

#[test]
fn nothing_but_traffic_is_for_clients() {
    let server = Server::start(&[], None);
    let mut remote = server.connect().greeted();
    let endpoint = json!({"session": "s", "workload": "udp-stream", "address": "127.0.0.1", "peer": "192.0.2.1", "port": 9,
                          "token": crate::common::TOKEN, "params": {"datagram_bytes": 1000, "count": 1}});
    for (op, parameters) in [
        ("exec", json!({"argv": ["true"]})),
        ("sysctl", json!({"set": {"net.ipv4.ip_forward": "1"}})),
        (
            "capture-start",
            json!({"capture": "c", "interface": "lo", "addresses": [], "max_packets": 1, "max_ns": 1, "snaplen_bytes": 60}),
        ),
        ("tunnel-counters", json!({})),
        ("multicast-stop", json!({})),
        ("run", endpoint),
    ] {
        let refused = remote.error(op, parameters);
        assert_eq!(refused["code"], "refused", "{op}: {refused}");
        assert!(refused["message"].as_str().is_some_and(|message| message.starts_with(op)), "{refused}");
    }
    let mut with_peer = session("s", "tcp-rr", "127.0.0.1", &json!({"count": 1}));
    with_peer["peer"] = json!("127.0.0.1");
    assert_eq!(remote.error("serve", with_peer)["code"], "bad-request");
    remote.ok("cpu", json!({}));
}

#[test]
fn sessions_and_clients_are_counted() {
    let server = Server::start(&["--max-clients", "2"], None);
    let mut one = server.connect().greeted();
    for number in 0..8 {
        one.ok("serve", session(&number.to_string(), "tcp-rr", "127.0.0.1", &json!({"count": 1})));
    }
    let busy = one.error("serve", session("more", "tcp-rr", "127.0.0.1", &json!({"count": 1})));
    assert_eq!(busy["code"], "busy");

    let _two = server.connect().greeted();
    let mut three = server.connect();
    let busy = three.error("hello", json!({"protocol": 1, "version": "test"}));
    assert_eq!(busy["code"], "busy");
    assert!(busy["message"].as_str().is_some_and(|message| message.contains("--max-clients")), "{busy}");
    assert_eq!(three.wait().code(), Some(3));
}

#[test]
fn what_exceeds_a_limit_is_refused_before_it_begins() {
    let server = Server::start(&["--max-duration", "1", "--max-rate", "1M"], None);
    let mut remote = server.connect().greeted();
    for (workload, params, limit) in [
        ("tcp-rr", json!({"duration_ns": 1_000_000_001}), "--max-duration"),
        ("udp-stream", json!({"datagram_bytes": 100, "rate_bps": 1_000_001, "count": 1}), "--max-rate"),
        ("udp-stream", json!({"datagram_bytes": 100, "count": 1}), "--max-rate"),
        ("tcp-stream", json!({"bytes": 125_001}), "--max-rate for --max-duration"),
    ] {
        let refused = remote.error("serve", session("s", workload, "127.0.0.1", &params));
        assert_eq!(
            (&refused["code"], &refused["context"]["limit"]),
            (&json!("over-limit"), &json!(limit)),
            "{refused}"
        );
    }
    // The name is still free.
    remote.ok("serve", session("s", "tcp-rr", "127.0.0.1", &json!({"duration_ns": 1_000_000_000})));
}

#[test]
fn a_server_binds_no_address_that_it_was_not_told() {
    let server = Server::start(&["--listen", "127.0.0.1"], None);
    let mut remote = server.connect().greeted();
    let refused = remote.error("serve", session("s", "tcp-rr", "::1", &json!({"count": 1})));
    assert_eq!(refused["code"], "refused");
    assert!(
        refused["message"].as_str().is_some_and(|message| message.ends_with("let it listen on IPv6, too")),
        "{refused}"
    );
}

fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sixbench-agent")).args(arguments).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_cannot_be_served_is_said_in_one_sentence() {
    let key = KeyFile::new('1');
    let readable = KeyFile::new('1');
    std::fs::set_permissions(&readable.0, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("a file");
    let server = Server::start(&[], None);
    let taken = server.port.to_string();
    let path = |file: &KeyFile| file.0.to_str().expect("UTF-8").to_owned();
    let fifo = std::env::temp_dir().join(format!("sixbench-serve-fifo-{}", std::process::id()));
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).expect("a FIFO");
    let fifo = KeyFile(fifo);
    for (arguments, code, reason) in [
        (&["serve", "--listen", "0.0.0.0", "--port", "0"][..], 2, "beyond loopback needs a key"),
        (&["serve", "--listen", "127.0.0.1,192.0.2.1", "--port", "0"], 2, "--key FILE"),
        (&["serve", "--port", "0", "--key", &path(&readable)], 2, "chmod 600"),
        (&["serve", "--port", "0", "--key", "/nonexistent"], 2, "reading the key in /nonexistent"),
        (&["serve", "--port", "0", "--key", &path(&fifo)], 2, "it is not a regular file"),
        (&["connect", "127.0.0.1", &taken, "--key", &path(&fifo)], 2, "it is not a regular file"),
        (&["connect", "127.0.0.1", &taken, "--key", "/dev/zero"], 2, "it is not a regular file"),
        (&["serve", "--listen", "127.0.0.1", "--port", &taken], 3, "give another one with --port"),
        (
            &["serve", "--listen", "192.0.2.1", "--port", "0", "--key", &path(&key)],
            3,
            "give addresses of this machine to listen on",
        ),
        (&["connect", "127.0.0.1", &taken, "--key", &path(&key)], 3, "the server has no key"),
        (&["connect", "127.0.0.1", &taken, "-6"], 3, "the name has no IPv6 address"),
        (&["connect", "127.0.0.1", "1"], 3, "connecting to 127.0.0.1:1"),
    ] {
        let (exit, message) = refusal(arguments);
        assert_eq!(exit, Some(code), "{arguments:?}: {message}");
        assert!(message.contains(reason), "{arguments:?}: {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn requests_are_of_bounded_length_and_of_the_protocol() {
    let server = Server::start(&[], None);
    let mut remote = server.connect().greeted();
    assert_eq!(remote.error("serve", json!({"why": 1}))["code"], "bad-request");
    remote.send_raw(b"garbage\n");
    assert_eq!(remote.receive()["error"]["code"], "bad-request");
    remote.ok("cpu", json!({}));
    remote.send_raw(&vec![b'x'; (64 << 10) + 1]);
    assert_eq!(remote.receive()["error"]["code"], "line-too-long");
    assert_eq!(remote.wait().code(), Some(3));
    let next: Value = server.connect().greeted().ok("cpu", json!({}));
    assert!(next.is_object());
}

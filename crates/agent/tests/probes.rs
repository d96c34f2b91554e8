//! Probes of servers of others, by an agent without a namespace of its own.

mod common;

use std::net::TcpListener;

use common::Agent;
use serde_json::json;

#[test]
fn a_probe_is_answered_when_it_is_done_and_others_meanwhile() {
    let mut agent = Agent::here().greeted();
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("a port").port();
    let connected = agent.ok("tcp-connect", json!({"address": "127.0.0.1", "port": port, "count": 2}));
    let attempts = connected["attempts"].as_array().expect("attempts");
    assert!(attempts.iter().all(|attempt| attempt["outcome"] == "answered"), "{connected}");
    let begun_ns: Vec<_> = attempts.iter().map(|attempt| attempt["begun_ns"].as_u64().expect("a time")).collect();
    assert!(begun_ns[1] - begun_ns[0] >= 1_000_000_000, "two connections to one server are a second apart");
}

#[test]
fn what_is_out_of_bounds_is_refused_in_words() {
    let mut agent = Agent::here().greeted();
    for (op, request, words) in [
        ("tcp-connect", json!({"address": "127.0.0.1", "port": 1, "interval_ns": 5}), "`interval_ns`"),
        ("resolve", json!({"name": "a..b"}), "`name`"),
        ("ping", json!({"address": "ff02::1"}), "not that of one host"),
        ("route", json!({"address": "127.0.0.1", "probes": 11}), "`probes`"),
        ("path-mtu", json!({"address": "127.0.0.1", "by": "udp", "most_bytes": 9_001}), "`most_bytes`"),
        (
            "application",
            json!({"workload": "tls", "address": "127.0.0.1", "server_name": "a", "version": "2"}),
            "`version`",
        ),
    ] {
        let error = agent.error(op, request);
        assert_eq!(error["code"], "bad-params", "{op}: {error}");
        assert!(error["message"].as_str().expect("words").contains(words), "{op}: {error}");
    }
    for (op, request) in [
        ("vantage", json!({"ask_nat64": false, "x": 1})),
        ("path-mtu", json!({"address": "127.0.0.1", "by": "sctp"})),
        ("application", json!({"workload": "gopher", "address": "127.0.0.1", "server_name": "a"})),
    ] {
        assert_eq!(agent.error(op, request)["code"], "bad-request", "{op}");
    }
}

#[test]
fn too_many_probes_at_once_are_refused() {
    let mut agent = Agent::here().greeted();
    for id in 1_000..1_040 {
        let connect = json!({"id": id, "op": "tcp-connect", "address": "127.0.0.1", "port": 9});
        agent.send_raw(format!("{connect}\n").as_bytes());
    }
    // Those that wait for their turn at this server are not answered for half a minute.
    while agent.receive()["error"]["code"] != "busy" {}
}

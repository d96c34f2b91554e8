//! An address that several interfaces have: which of them is meant, only its zone tells (RFC 4007).

use serde_json::json;

use crate::common::{Agent, TOKEN, in_namespace_of, join, session, with};
use crate::server::{KeyFile, Server, run};

#[test]
fn an_address_of_several_interfaces_is_that_of_the_interface_it_is_given_with() {
    let (Some(mut local), Some(mut far)) = (Agent::node(), Agent::node()) else { return };
    for name in ["e0", "e1"] {
        join((&mut local, name, &["fe80::2/64"]), (&mut far, name, &["fe80::1/64"]));
    }
    let key = KeyFile::new('6');
    let server = Server::start_as(in_namespace_of(&far), &["--listen", "fe80::1%e1"], Some(&key.0));
    let mut connect = in_namespace_of(&local);
    connect.args(["connect", "fe80::1%e1", &server.port.to_string(), "--bind", "fe80::2%e1", "--key"]).arg(&key.0);
    let mut remote = Agent::spawn(&mut connect).greeted();
    for (workload, params) in [
        ("tcp-rr", json!({"count": 20})),
        ("tcp-crr", json!({"count": 20})),
        ("udp-rr", json!({"count": 20})),
        ("udp-stream", json!({"datagram_bytes": 500, "count": 20, "rate_bps": 20_000_000})),
        ("tls", json!({"count": 20})),
        ("quic-connect", json!({"count": 20})),
        ("dns", json!({"count": 20, "over": "quic"})),
    ] {
        // The server is told no interface: those of the client's machine say nothing to it.
        let served = remote.ok("serve", session("s", workload, "fe80::1", &params));
        let request = with(run("c", workload, "fe80::1", &served, &params), json!({"address": "fe80::2%e1"}));
        let result = local.ok("run", request);
        let finish = json!({"session": "s", "sent": result["sent"], "timeout_ns": 20_000_000_000_u64});
        let finished = remote.ok("finish", finish);
        let key = if workload == "udp-stream" { "unique" } else { "transactions" };
        assert_eq!(finished[key], 20, "{workload}: {result} {finished}");
    }
    let request = json!({"session": "c", "workload": "udp-rr", "address": "fe80::2%nosuch", "peer": "fe80::1", "port": 9,
        "token": TOKEN});
    let error = local.error("run", request);
    assert_eq!(error["code"], "bad-request");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("there is no interface nosuch")), "{error}");
}

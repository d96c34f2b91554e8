//! Trials against a served agent, as an orchestrator has them.

use serde_json::json;

use crate::common::{Agent, session};
use crate::server::{KeyFile, Server, run, trial};

/// Everything over one control connection of IPv4: data of IPv6 too.
fn measure_all(server: &Server) {
    let mut remote = server.connect().greeted();
    let mut local = Agent::here().greeted();
    for address in ["127.0.0.1", "::1"] {
        for (workload, params, key, expected) in [
            ("tcp-rr", json!({"count": 20}), "transactions", json!(20)),
            ("tcp-crr", json!({"count": 20}), "transactions", json!(20)),
            ("udp-rr", json!({"count": 20}), "transactions", json!(20)),
            ("udp-stream", json!({"datagram_bytes": 100, "count": 20, "rate_bps": 10_000_000}), "unique", json!(20)),
            ("pmtu", json!({"transfer_bytes": 10_000}), "received_bytes", json!(10_000)),
        ] {
            let (_, finished) = trial(&mut remote, &mut local, workload, address, &params);
            assert_eq!(finished[key], expected, "{workload} over {address}: {finished}");
            if workload == "pmtu" {
                assert_eq!(finished["reverse"]["forgotten"], false, "{finished}");
                assert!(finished["reverse"]["probed_bytes"].is_u64(), "{finished}");
            }
        }
    }
}

#[test]
fn a_served_agent_is_measured_against_as_a_local_one_is() {
    measure_all(&Server::start(&[], None));
}

#[test]
fn with_a_key_as_well() {
    let key = KeyFile::new('7');
    measure_all(&Server::start(&["--listen", "127.0.0.1,::1"], Some(&key.0)));
}

#[test]
fn the_server_sends_where_the_client_asks_for_it() {
    let server = Server::start(&[], None);
    let mut remote = server.connect().greeted();
    let mut local = Agent::here().greeted();
    let params = json!({"direction": "both", "datagram_bytes": 100, "count": 30, "rate_bps": 10_000_000});
    let (result, finished) = trial(&mut remote, &mut local, "udp-stream", "::1", &params);
    assert_eq!(result["reverse_receiver"]["unique"], 30, "{result}");
    assert_eq!(
        (&finished["forward_receiver"]["unique"], &finished["reverse_sender"]["sent"]),
        (&json!(30), &json!(30))
    );
}

#[test]
fn hello_says_who_serves_and_within_which_limits() {
    let server = Server::start(&["--max-rate", "5M", "--max-duration", "7"], None);
    let mut remote = server.connect();
    assert_eq!(remote.error("cpu", json!({}))["code"], "not-greeted");
    let mut remote = server.connect();
    let hello = remote.ok("hello", json!({"protocol": 1, "version": "test"}));
    assert_eq!(hello["served"]["max_rate_bps"], 5_000_000);
    assert_eq!(hello["served"]["max_duration_ns"], 7_000_000_000_u64);
    assert_eq!(hello["served"]["server_address"], "127.0.0.1");
    assert_eq!(hello["served"]["max_client_flows"], 256);
    assert!(remote.ok("cpu", json!({}))["cores"].is_array());
    assert!(remote.ok("counters", json!({}))["interfaces"].is_object());
}

#[test]
fn clients_have_sessions_of_their_own_which_end_with_them() {
    let server = Server::start(&[], None);
    let mut one = server.connect().greeted();
    let mut other = server.connect().greeted();
    let params = json!({"duration_ns": 60_000_000_000_u64});
    let served = one.ok("serve", session("s", "tcp-rr", "127.0.0.1", &params));
    other.ok("serve", session("s", "tcp-rr", "127.0.0.1", &params));
    assert_eq!(one.error("serve", session("s", "tcp-rr", "127.0.0.1", &params))["code"], "session-exists");
    other.ok("cancel", json!({"session": "s"}));

    // It goes in the middle of a trial.
    let mut local = Agent::here().greeted();
    let trial = local.send("run", run("c", "tcp-rr", "127.0.0.1", &served, &params));
    local.ok("cpu", json!({}));
    one.kill();
    let ended = local.receive();
    assert_eq!(ended["id"], trial);
    assert!(["peer-lost", "system"].contains(&ended["error"]["code"].as_str().expect("an error")), "{ended}");
    other.ok("serve", session("s", "tcp-rr", "127.0.0.1", &params));
}

#[test]
fn a_one_off_server_ends_with_its_first_client() {
    let mut server = Server::start(&["--one-off"], None);
    // A stranger is no client.
    drop(server.dial());
    let mut client = server.connect().greeted();
    client.ok("cpu", json!({}));
    client.close_stdin();
    assert_eq!(client.wait().code(), Some(0));
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_client_whose_server_goes_ends_with_a_reason() {
    let server = Server::start(&[], None);
    let mut client = server.connect().greeted();
    drop(server);
    assert_eq!(client.wait().code(), Some(3));
}

use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use sixbench_traffic::{Cancel, Code, Endpoint, Workload};

use super::QuicStream;
use crate::loopback::{LOOPBACK, endpoint, finish, trial};
use sixbench_traffic::params::SECOND_NS;

#[test]
fn all_bytes_arrive_by_each_congestion_control() {
    for address in LOOPBACK {
        for congestion in ["cubic", "bbr", "newreno"] {
            let params = json!({"bytes": 2_000_001, "congestion": congestion});
            let (client, server) = trial(&QuicStream, address, &params);
            assert_eq!((&client["sent_bytes"], &server["received_bytes"]), (&json!(2_000_001), &json!(2_000_001)));
            assert_eq!(server["measured_bytes"], 2_000_001);
            assert!(server["received_datagram_bytes"].as_u64().unwrap() > 2_000_001);
        }
    }
}

#[test]
fn a_duration_has_a_window_of_that_length_after_the_warm_up() {
    let params = json!({"duration_ns": SECOND_NS / 5, "warmup_ns": SECOND_NS / 20, "interval_ns": SECOND_NS / 10});
    let (client, server) = trial(&QuicStream, LOOPBACK[1], &params);
    assert_eq!(server["measured_ns"], SECOND_NS / 5);
    assert!(server["measured_bytes"].as_u64() < server["received_bytes"].as_u64());
    assert!(server["received_bytes"].as_u64() <= client["sent_bytes"].as_u64());
    assert_eq!(server["series"]["t_ns"], json!([SECOND_NS / 10, SECOND_NS / 5]));
}

#[test]
fn datagrams_grow_to_the_largest_that_is_looked_for_at_most() {
    for largest in [1_200, 1_300, 1_472] {
        let params = json!({"bytes": 3_000_000, "largest_datagram_bytes": largest});
        let (client, _) = trial(&QuicStream, LOOPBACK[0], &params);
        let changes = client["datagram_changes"].as_array().unwrap();
        let sizes: Vec<u64> = changes.iter().map(|change| change["datagram_bytes"].as_u64().unwrap()).collect();
        assert!(sizes.is_sorted() && sizes.iter().all(|size| (1_201..=largest).contains(size)), "{sizes:?}");
        assert_eq!(client["datagram_bytes"], sizes.last().copied().unwrap_or(1_200));
    }
}

#[test]
fn a_silent_server_ends_the_trial_with_its_reason() {
    let silent = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
    let authority = crate::certificates::chain("a.sixbench.test", 1_536).unwrap().authority;
    let client = endpoint(LOOPBACK[0], silent.local_addr().unwrap().port(), Some(authority));
    let params = json!({"bytes": 1, "timeout_ns": SECOND_NS / 10});
    let error = Workload::run(&QuicStream, &client, &params, &Cancel::default()).unwrap_err();
    assert!(matches!(error.code, Code::Timeout | Code::PeerLost), "{error}");
    assert!(error.to_string().starts_with("sending by QUIC to 127.0.0.1"), "{error}");
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A connection of a client that has two addresses, and loses the first one while it sends.
fn move_once(server: &str, client: [&str; 2], bits: u8) {
    // This thread has it alone, and those that it starts.
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip("link set lo up");
    for address in [server, client[0], client[1]] {
        ip(&format!("address add {address}/{bits} dev lo{}", if bits == 128 { " nodad" } else { "" }));
    }
    let [server, first, second]: [IpAddr; 3] = [server, client[0], client[1]].map(|address| address.parse().unwrap());
    let params = json!({"duration_ns": 4 * SECOND_NS, "migrate": true, "timeout_ns": 30 * SECOND_NS});
    let of_server = [first, second].map(|peer| Endpoint { peer, ..endpoint(server, 0, None) });
    let serving = QuicStream.serve_at(&of_server, &params, &Cancel::default()).unwrap();
    let (port, certificate) = (serving.port(), serving.certificate().cloned());
    let of_client =
        [first, second].map(|address| Endpoint { peer: server, ..endpoint(address, port, certificate.clone()) });
    let lost = format!("address del {first}/{bits} dev lo");
    let progress = of_server[0].progress.clone();
    let losing = thread::spawn(move || {
        while json!(progress.tally())["first_ns"].is_null() {
            thread::sleep(Duration::from_millis(10));
        }
        ip(&lost);
    });
    let sent = QuicStream.run_at(&of_client, &params, &Cancel::default()).unwrap();
    losing.join().unwrap();
    let received = finish(serving);
    for (side, moves) in [("client", &sent["moves"]), ("server", &received["moves"])] {
        let moves = moves.as_array().unwrap_or_else(|| panic!("{side}: {sent} {received}"));
        assert_eq!(moves.len(), 1, "{side}: {moves:?}");
        assert_eq!((&moves[0]["from"], &moves[0]["to"]), (&json!(first), &json!(second)), "{side}");
    }
    assert!(received["moves"][0]["outage_ns"].as_u64().unwrap() > 0);
    assert_eq!(received["connections"], 1);
    assert!(sent["handshake_ns"].as_u64().unwrap() > 0);
}

#[test]
#[ignore = "needs root: it makes a network"]
fn a_connection_goes_on_from_the_next_address() {
    move_once("192.0.2.9", ["192.0.2.1", "192.0.2.2"], 32);
}

#[test]
#[ignore = "needs root: it makes a network"]
fn a_connection_goes_on_from_the_next_address_over_ipv6() {
    move_once("2001:db8::9", ["2001:db8::1", "2001:db8::2"], 128);
}

#[test]
fn a_client_that_moves_needs_a_second_address() {
    let params = json!({"duration_ns": SECOND_NS, "migrate": true});
    let refused = Workload::serve(&QuicStream, &endpoint(LOOPBACK[0], 0, None), &params, &Cancel::default());
    assert_eq!(refused.err().unwrap().code, Code::BadParams);
}

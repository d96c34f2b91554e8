//! `tcp-stream` of a client that loses its address: another connection goes on.

use std::net::IpAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use sixbench_traffic::{Cancel, Code, Endpoint};

use crate::common::*;

const NAME: &str = "tcp-stream";

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

fn move_once(server: &str, client: [&str; 2], bits: u8) {
    // This thread has it alone, and those that it starts.
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip("link set lo up");
    for address in [server, client[0], client[1]] {
        ip(&format!("address add {address}/{bits} dev lo{}", if bits == 128 { " nodad" } else { "" }));
    }
    let [server, first, second]: [IpAddr; 3] = [server, client[0], client[1]].map(|address| address.parse().unwrap());
    let params = json!({"duration_ns": 4_000 * MS, "reconnect": true});
    let of_server = [first, second].map(|peer| Endpoint { peer, ..endpoint(server, 0) });
    let serving = workload(NAME).serve_at(&of_server, &params, &Cancel::default()).unwrap();
    let of_client = [first, second].map(|address| Endpoint { peer: server, ..endpoint(address, serving.port()) });
    let lost = format!("address del {first}/{bits} dev lo");
    let progress = of_server[0].progress.clone();
    let losing = thread::spawn(move || {
        while json!(progress.tally())["first_ns"].is_null() {
            thread::sleep(Duration::from_millis(10));
        }
        ip(&lost);
    });
    let sent = workload(NAME).run_at(&of_client, &params, &Cancel::default()).unwrap();
    losing.join().unwrap();
    let received = finish(serving, None);
    let (sender, receiver) = (&sent["forward_sender"], &received["forward_receiver"]);
    for (side, moves) in [("client", &sender["moves"]), ("server", &receiver["moves"])] {
        let moves = moves.as_array().unwrap_or_else(|| panic!("{side}: {sent} {received}"));
        assert_eq!(moves.len(), 1, "{side}: {moves:?}");
        assert_eq!((&moves[0]["from"], &moves[0]["to"]), (&json!(first), &json!(second)), "{side}");
    }
    assert!(receiver["moves"][0]["outage_ns"].as_u64().unwrap() > 0);
    assert_eq!(received["strays"]["connections"], 0);
}

#[test]
#[ignore = "needs root: it makes a network"]
fn another_connection_goes_on_from_the_next_address() {
    move_once("192.0.2.9", ["192.0.2.1", "192.0.2.2"], 32);
}

#[test]
#[ignore = "needs root: it makes a network"]
fn another_connection_goes_on_from_the_next_address_over_ipv6() {
    move_once("2001:db8::9", ["2001:db8::1", "2001:db8::2"], 128);
}

#[test]
fn who_stays_in_one_place_is_refused_further_addresses() {
    let both = [endpoint(V4, 0), endpoint(V4, 0)];
    let refused = workload(NAME).serve_at(&both, &json!({"duration_ns": MS}), &Cancel::default());
    assert_eq!(refused.err().unwrap().code, Code::BadParams);
    let alone = workload(NAME).serve(&both[0], &json!({"duration_ns": MS, "reconnect": true}), &Cancel::default());
    assert_eq!(alone.err().unwrap().code, Code::BadParams);
}

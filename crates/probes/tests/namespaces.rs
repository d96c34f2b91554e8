//! Probes in namespaces of their own, with what ordinary users are given there. They need root.

use std::fs;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use sixbench_probes::{Pacer, ping};

const TIMEOUT_NS: u64 = 5_000_000_000;

/// Does the work in a namespace whose loopback is up, and where sockets of ICMP are given to all.
fn in_namespace<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("root");
        fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647").expect("the namespace's own");
        ip(&["link", "set", "lo", "up"]);
        work()
    });
    thread.join().expect("no panic")
}

fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().expect("ip").success(), "ip {arguments:?}");
}

fn ping_with(params: Value) -> Value {
    json!(ping::run(&serde_json::from_value(params).unwrap(), &Pacer::default()).unwrap())
}

#[test]
#[ignore = "needs root"]
fn echoes_are_answered_with_the_kernels_times() {
    in_namespace(|| {
        for address in ["127.0.0.1", "::1"] {
            let result = ping_with(json!({
                "address": address, "count": 3, "interval_ns": 1_000_000, "mine": true, "timeout_ns": TIMEOUT_NS,
            }));
            let replies = result["replies"].as_array().unwrap();
            assert_eq!(replies.len(), 3);
            for reply in replies {
                assert_eq!(reply["outcome"], "answered", "{result}");
                assert_eq!((&reply["kernel_stamps"], &reply["hop_limit"]), (&json!(true), &json!(64)), "{result}");
                assert!(reply["rtt_ns"].as_u64().unwrap() < TIMEOUT_NS);
            }
            assert_eq!((&result["strays"], &result["source"]), (&json!(0), &json!(address)));
        }
    });
}

#[test]
#[ignore = "needs root"]
fn echoes_that_are_not_answered_have_a_word() {
    in_namespace(|| {
        ip(&["link", "add", "a0", "type", "veth", "peer", "b0"]);
        ip(&["link", "set", "b0", "up"]);
        ip(&["addr", "add", "192.0.2.1/24", "dev", "a0"]);
        ip(&["link", "set", "a0", "up"]);
        let silent = ping_with(json!({"address": "192.0.2.1", "timeout_ns": TIMEOUT_NS}));
        assert_eq!(silent["replies"][0]["outcome"], "answered");
        let nowhere = ping_with(json!({"address": "203.0.113.1"}));
        assert_eq!(nowhere["replies"][0]["outcome"], "no-route");
        assert_eq!(nowhere["replies"][0]["reason"], "ENETUNREACH");
    });
}

#[test]
#[ignore = "needs root"]
fn a_kernel_that_gives_no_socket_is_an_error_that_says_what_helps() {
    in_namespace(|| {
        fs::write("/proc/sys/net/ipv4/ping_group_range", "1 0").unwrap();
        let request = serde_json::from_value(json!({"address": "127.0.0.1"})).unwrap();
        let error = ping::run(&request, &Pacer::default()).unwrap_err();
        assert!(error.message.contains("ping_group_range"), "{error}");
        assert_eq!(error.context["errno"], "EACCES");
    });
}

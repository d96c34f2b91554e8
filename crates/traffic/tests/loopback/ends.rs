//! The end of workloads where nobody comes, nobody is there any more, or somebody says so.

use serde_json::json;
use sixbench_traffic::{Cancel, Code, Finish};

use crate::common::{FAMILIES, HOUR_NS, MS, V4, endpoint, run, serve, workload};

#[test]
fn cancel_ends_both_sides() {
    for address in FAMILIES {
        for (name, params) in [
            ("udp-stream", json!({"datagram_bytes": 100, "rate_pps": 1, "duration_ns": HOUR_NS})),
            ("udp-rr", json!({"duration_ns": HOUR_NS})),
            ("pmtu", json!({"transfer_bytes": 1 << 30, "forget": false})),
        ] {
            let cancel = Cancel::default();
            let server = workload(name).serve(&endpoint(address, 0), &params, &cancel).unwrap();
            let port = server.port();
            std::thread::scope(|scope| {
                let client = scope.spawn(|| workload(name).run(&endpoint(address, port), &params, &cancel));
                let never = Finish { sent: Some(5), timeout_ns: u64::MAX, first_silence_ns: None };
                if name == "udp-rr" {
                    // Its server waits for nothing when it is asked to finish.
                    cancel.raise();
                }
                let finish = scope.spawn(move || server.finish(&never));
                cancel.raise();
                assert_eq!(client.join().unwrap().unwrap_err().code, Code::Cancelled, "{name}");
                assert_eq!(finish.join().unwrap().unwrap_err().code, Code::Cancelled, "{name}");
            });
        }
    }
}

#[test]
fn servers_to_which_nobody_comes_end_at_their_timeout() {
    let unproved = "serving connections of 127.0.0.1: the peer never proved itself";
    for (name, params, code, words) in [
        ("pmtu", json!({}), Code::Timeout, ""),
        ("tcp-rr", json!({"count": 1}), Code::Timeout, ""),
        ("tcp-stream", json!({"bytes": 4, "streams": 4}), Code::Timeout, "(0 of 4 did)"),
        ("tcp-connect", json!({"count": 1}), Code::PeerLost, unproved),
        ("tcp-crr", json!({"count": 1}), Code::PeerLost, unproved),
    ] {
        let finish = Finish { sent: None, timeout_ns: 400 * MS, first_silence_ns: None };
        let error = serve(name, V4, &params).finish(&finish).unwrap_err();
        assert_eq!(error.code, code, "{name}");
        assert!(error.to_string().contains(words), "{name}: {error}");
        // One that nobody finishes ends when it is dropped.
        drop(serve(name, V4, &params));
    }
}

#[test]
fn clients_whose_server_is_gone_say_where_they_connected_to() {
    for address in FAMILIES {
        for (name, params) in [("pmtu", json!({"forget": false})), ("tcp-stream", json!({"bytes": 1}))] {
            let server = serve(name, address, &params);
            let port = server.port();
            drop(server);
            let error = run(name, address, port, &params).unwrap_err();
            assert_eq!(error.code, Code::System);
            let place = std::net::SocketAddr::new(address, port);
            assert!(error.to_string().contains(&format!("connecting to {place}: connect failed")), "{error}");
        }
    }
}

//! `ping` on loopback, in both families. It needs the right to open raw sockets.

use crate::common::{FAMILIES, HOUR_NS, MS, V4, endpoint, number, run, serve, trial, workload};
use serde_json::json;
use sixbench_traffic::{Cancel, Code, Finish};

/// True if raw sockets may be opened here. Where they must (`SIXBENCH_EXPECT_LAB=1`), not being allowed is a failure.
fn is_permitted() -> bool {
    match run("ping", V4, 0, &json!({"count": 1})) {
        Err(error) if error.context.get("call").is_some_and(|call| call == "socket") => {
            let expected = std::env::var("SIXBENCH_EXPECT_LAB").is_ok_and(|value| value == "1");
            assert!(!expected, "no raw socket: {error}");
            eprintln!("skipped: this user may not open raw sockets ({error})");
            false
        }
        _ => true,
    }
}

#[test]
fn loopback_answers_every_request() {
    if !is_permitted() {
        return;
    }
    for address in FAMILIES {
        let (client, server) = trial("ping", address, &json!({"count": 50, "interval_ns": MS, "warmup_ns": 10 * MS}));
        for (name, value) in [
            ("sent", 50),
            ("received", 50),
            ("lost", 0),
            ("duplicates", 0),
            ("hop_limit", 64),
            ("warmup_sent", 10),
            ("rtt_negative", 0),
            ("user_timestamps", 0),
            ("late", 0),
        ] {
            assert_eq!(number(&client, name), value, "{name}");
        }
        assert_eq!((&client["errors"], &client["send_errors"]), (&json!({}), &json!({})));
        assert_eq!(number(&client["rtt"], "count"), 50);
        assert_eq!(number(&client["rtt_jitter"], "count"), 49);
        assert_eq!(number(&client["lateness"], "count"), 50);
        assert!(number(&client, "measured_ns") > 0);
        assert_eq!(server["strays"]["datagrams"], 0);
    }
}

#[test]
fn a_time_of_requests_of_every_size() {
    if !is_permitted() {
        return;
    }
    for (address, most) in FAMILIES.into_iter().zip([65_507, 65_527]) {
        for payload_bytes in [24, 25, 1500, most] {
            let params = json!({"payload_bytes": payload_bytes, "interval_ns": MS, "duration_ns": 20 * MS});
            let client = run("ping", address, 0, &params).unwrap();
            assert_eq!((number(&client, "sent"), number(&client, "received")), (20, 20), "{payload_bytes} {client}");
        }
    }
}

#[test]
fn two_pings_at_once_do_not_mix() {
    if !is_permitted() {
        return;
    }
    for address in FAMILIES {
        let ping = |token: u8| {
            let mut endpoint = endpoint(address, 0);
            endpoint.token.0 = [token; 16];
            workload("ping").run(&endpoint, &json!({"count": 20, "interval_ns": MS}), &Cancel::default()).unwrap()
        };
        std::thread::scope(|scope| {
            let pings = [1, 2].map(|token| scope.spawn(move || ping(token)));
            for result in pings.map(|ping| ping.join().unwrap()) {
                assert_eq!((number(&result, "received"), number(&result, "duplicates")), (20, 0));
            }
        });
    }
}

#[test]
fn the_server_has_no_port_and_nothing_to_say() {
    for address in FAMILIES {
        let server = serve("ping", address, &json!({"count": 1}));
        assert_eq!(server.port(), 0);
        let result = server.finish(&Finish::default()).unwrap();
        assert_eq!(result, json!({"strays": {"connections": 0, "datagrams": 0}}));
    }
}

#[test]
fn cancel_ends_it() {
    if !is_permitted() {
        return;
    }
    for address in FAMILIES {
        let cancel = Cancel::default();
        let params = json!({"interval_ns": HOUR_NS, "count": 2});
        std::thread::scope(|scope| {
            let client = scope.spawn(|| workload("ping").run(&endpoint(address, 0), &params, &cancel));
            cancel.raise();
            assert_eq!(client.join().unwrap().unwrap_err().code, Code::Cancelled);
        });
    }
}

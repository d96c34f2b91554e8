//! `happy-eyeballs` on loopback: ::1 and 127.0.0.1 are the two addresses of a server.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};
use sixbench_traffic::{Cancel, Code, Endpoint};

use crate::common::{FAMILIES, FINISH, V4, V6, endpoint, workload};
use crate::peers::check_cpu;

const NAME: &str = "happy-eyeballs";
/// An address of the loopback at which the servers here do not listen.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));

/// The results of both sides; the client has `theirs`, the server listens at `ours`.
fn trial_at(ours: &[IpAddr], theirs: &[IpAddr], params: &Value) -> (Value, Value) {
    let at = |addresses: &[IpAddr], port| addresses.iter().map(|one| endpoint(*one, port)).collect::<Vec<_>>();
    let server = workload(NAME).serve_at(&at(ours, 0), params, &Cancel::default()).unwrap();
    let client = Endpoint { address: V4.into(), ..endpoint(NOBODY, server.port()) };
    let endpoints: Vec<_> = at(theirs, server.port())
        .into_iter()
        .map(|one| if one.peer == NOBODY { client.clone() } else { one })
        .collect();
    let client = workload(NAME).run_at(&endpoints, params, &Cancel::default()).unwrap();
    (client, server.finish(&FINISH).unwrap())
}

#[test]
fn the_preferred_family_wins_on_a_good_way_and_the_other_is_not_tried() {
    for (addresses, first, other) in [([V6, V4], "ipv6", "ipv4"), ([V4, V6], "ipv4", "ipv6")] {
        let params = json!({"count": 5, "gap_ns": 0, "attempt_delay_ns": 10_000_000_000_u64});
        let (client, server) = trial_at(&FAMILIES, &addresses, &params);
        assert_eq!(client["order"], json!([first, other]));
        assert_eq!(
            (&client["races"], &client["connect"]["count"], &client["failed"]),
            (&json!(5), &json!(5), &json!({}))
        );
        assert_eq!((&client[first]["wins"], &client[first]["begun"]), (&json!(5), &json!(5)));
        assert_eq!((&client[other]["wins"], &client[other]["begun"]), (&json!(0), &json!(0)));
        for family in [first, other] {
            assert_eq!(client[family]["alone"]["connect"]["count"], 5);
        }
        // One more of each comes before all that is counted.
        assert_eq!(server["accepted_by_family"], json!({first: 11, other: 6}));
        assert_eq!(server["strays"]["connections"], 0);
        check_cpu(&client);
        check_cpu(&server);
    }
}

#[test]
fn a_refusal_hands_over_at_once() {
    let params =
        json!({"count": 4, "gap_ns": 0, "attempt_delay_ns": 60_000_000_000_u64, "timeout_ns": 30_000_000_000_u64});
    let (client, _) = trial_at(&[V6], &[NOBODY, V6], &params);
    assert_eq!((&client["ipv6"]["wins"], &client["failed"]), (&json!(4), &json!({})));
    assert_eq!(client["ipv4"]["failed"], json!({"ECONNREFUSED": 4}));
    // Three refusals alone are enough to know.
    assert_eq!(client["ipv4"]["alone"]["failed"], json!({"ECONNREFUSED": 3}));
    assert_eq!(client["ipv4"]["alone"]["connect"]["count"], 0);
}

#[test]
fn answers_that_come_later_are_waited_for() {
    let params =
        json!({"count": 2, "gap_ns": 0, "aaaa_after_ns": 30_000_000, "resolution_delay_ns": 60_000_000_000_u64});
    let (client, _) = trial_at(&FAMILIES, &[V6, V4], &params);
    assert_eq!(client["ipv6"]["wins"], 2);
    assert!(client["connect"]["min"].as_u64() >= Some(29_900_000), "{client}");
}

#[test]
fn nobody_there_is_an_error_that_names_both() {
    let endpoints = [endpoint(V6, 1), endpoint(V4, 1)];
    let error = workload(NAME).run_at(&endpoints, &json!({}), &Cancel::default()).unwrap_err();
    assert_eq!(error.to_string(), "connecting to ::1 or 127.0.0.1: connect failed: Connection refused (os error 111)");
}

#[test]
fn other_workloads_have_one_address() {
    let error = workload("tcp-connect")
        .serve_at(&[endpoint(V6, 0), endpoint(V4, 0)], &json!({"count": 1}), &Cancel::default())
        .err()
        .unwrap();
    assert_eq!(error.code, Code::BadParams);
}

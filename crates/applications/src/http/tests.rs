use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sixbench_traffic::params::SECOND_NS;
use sixbench_traffic::{Cancel, Code, Endpoint, Load, Workload};
use sixbench_wire::token::Token;

use super::Http;
use crate::loopback::{LOOPBACK, client_of, endpoint, finish, run, serve, trial};
use crate::quic_connect::QuicConnect;

/// Each version with and without TLS, and the protocol that its answers come by.
const VERSIONS: [(&str, &str, &str); 5] = [
    ("1.1", "1.3", "http/1.1"),
    ("1.1", "none", "http/1.1"),
    ("2", "1.3", "h2"),
    ("2", "none", "h2c"),
    ("3", "1.3", "h3"),
];
const NO_STRAYS: &str = r#"{"connections":0,"datagrams":0}"#;

fn with(version: &str, tls: &str, more: Value) -> Value {
    let mut params = json!({"version": version, "tls": tls});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

#[test]
fn each_version_loads_pages_over_new_and_kept_connections() {
    for (version, tls, protocol) in VERSIONS {
        for (connection, opened) in [("new", 3), ("kept", 0)] {
            for address in LOOPBACK {
                let more =
                    json!({"count": 3, "objects": 5, "object_bytes": 70_000, "parallel": 2, "connection": connection});
                let (client, server) = trial(&Http, address, &with(version, tls, more));
                let what = format!("{version} {tls} {connection}: {client} {server}");
                assert_eq!((&client["transactions"], &client["failed"]), (&json!(3), &json!({})), "{what}");
                assert_eq!((&client["requests"], &client["body_bytes"]), (&json!(15), &json!(15 * 70_000)), "{what}");
                assert_eq!(client["protocols"], json!({protocol: 15}), "{what}");
                let at_once = if version == "1.1" { 2 } else { 1 };
                assert_eq!(client["connections"], opened * at_once, "{what}");
                let requests = if connection == "kept" { 20 } else { 15 };
                assert_eq!(server["requests"], requests, "{what}");
                assert_eq!(server["connections"], opened.max(1) * at_once, "{what}");
                assert_eq!(
                    (&server["failed"], server["strays"].to_string().as_str()),
                    (&json!(0), NO_STRAYS),
                    "{what}"
                );
                let times = |name: &str| client[name]["count"].clone();
                assert_eq!([times("page"), times("first_byte"), times("object")], [3, 3, 15], "{what}");
                assert_eq!(times("connect"), if version == "3" { 0 } else { opened * at_once }, "{what}");
                assert_eq!(times("handshake"), if tls == "none" { 0 } else { opened * at_once }, "{what}");
                let is_known = version != "3" && tls != "none";
                assert_eq!(client["versions"], if is_known { json!({"TLSv1_3": 15}) } else { json!({}) }, "{what}");
                for result in [&client, &server] {
                    // Loopback leaves the field as quinn sets it. TCP's is the kernel's.
                    assert_eq!(result.get("ecn").is_some(), version == "3", "{what}");
                    assert!(version != "3" || result["ecn"]["ect0"].as_u64().unwrap() > 0, "{what}");
                }
            }
        }
    }
}

#[test]
fn several_pages_at_once_share_a_count() {
    let more = json!({"count": 10, "objects": 3, "in_flight": 4});
    for (version, tls, _) in VERSIONS {
        let (client, server) = trial(&Http, LOOPBACK[1], &with(version, tls, more.clone()));
        assert_eq!((&client["transactions"], &server["requests"]), (&json!(10), &json!(30)), "{version} {tls}");
    }
}

/// A page of two hosts: the second object and the third wait for the first, the fourth for the second.
fn page() -> String {
    STANDARD.encode([0, 100, 0, 1, 50, 1, 0, 60, 2, 1, 7, 2])
}

#[test]
fn a_page_has_its_hosts_sizes_and_order() {
    for (version, tls, _) in VERSIONS {
        let (client, server) = trial(&Http, LOOPBACK[0], &with(version, tls, json!({"count": 2, "page": page()})));
        let what = format!("{version} {tls}: {client} {server}");
        assert_eq!((&client["requests"], &client["body_bytes"]), (&json!(8), &json!(2 * 217)), "{what}");
        // No two objects of a host are ever due at the same time.
        assert_eq!((&client["connections"], &server["connections"]), (&json!(4), &json!(4)), "{what}");
        assert_eq!((&server["requests"], &server["failed"]), (&json!(8), &json!(0)), "{what}");
        assert_in_order(&client["last_page"], &what);
        // Three objects one after the other take longer than any one of them.
        let (page_ns, object_ns) = (client["page"]["min"].as_u64().unwrap(), client["object"]["min"].as_u64().unwrap());
        assert!(page_ns >= 3 * object_ns, "{what}");
    }
}

/// Asserts that the objects of that page were asked for when those were there that they waited for.
fn assert_in_order(last_page: &Value, what: &str) {
    let times = |name: &str| -> Vec<u64> { serde_json::from_value(last_page[name].clone()).unwrap() };
    let (begun, first_byte, ended) = (times("begun_ns"), times("first_byte_ns"), times("ended_ns"));
    assert_eq!([begun.len(), first_byte.len(), ended.len()], [4; 3], "{what}");
    for index in 0..4 {
        assert!(begun[index] <= first_byte[index] && first_byte[index] <= ended[index], "{what}");
    }
    for (index, after) in [(1, 0), (2, 0), (3, 1)] {
        assert!(begun[index] >= ended[after], "{what}");
    }
}

#[test]
fn a_client_without_a_page_has_no_times_of_objects() {
    let silent = server_that(std::mem::forget);
    let params = with("1.1", "none", json!({"count": 1, "timeout_ns": SECOND_NS / 20}));
    assert!(run(&Http, &endpoint(LOOPBACK[0], silent, None), &params).get("last_page").is_none());
}

#[test]
fn who_asks_for_another_name_is_a_stray() {
    for (version, tls, _) in VERSIONS {
        let params = with(version, tls, json!({"count": 2, "timeout_ns": SECOND_NS}));
        let server = serve(&Http, LOOPBACK[0], &params);
        let stranger = Endpoint { token: Token([9; 16]), ..client_of(&*server, LOOPBACK[0]) };
        assert_eq!(run(&Http, &stranger, &params)["transactions"], 0, "{version} {tls}");
        let ours = run(&Http, &client_of(&*server, LOOPBACK[0]), &params);
        assert_eq!(ours["transactions"], 2, "{version} {tls}");
        let server = finish(server);
        assert_eq!((&server["requests"], &server["failed"]), (&json!(2), &json!(0)), "{version} {tls}");
        assert_eq!(server["strays"]["connections"], 2, "{version} {tls}");
    }
}

#[test]
fn an_object_that_the_trial_has_not_is_refused() {
    for (version, tls, _) in VERSIONS {
        let server = serve(&Http, LOOPBACK[0], &with(version, tls, json!({"count": 1, "object_bytes": 10})));
        let params = with(version, tls, json!({"count": 2, "object_bytes": 11}));
        let client = run(&Http, &client_of(&*server, LOOPBACK[0]), &params);
        assert_eq!(client["failed"], json!({"wrong-response": 2}), "{version} {tls}");
        assert_eq!(finish(server)["requests"], 0, "{version} {tls}");
    }
}

#[test]
fn a_silent_connection_is_a_stray_in_time() {
    let params = with("1.1", "none", json!({"count": 1, "timeout_ns": SECOND_NS / 20}));
    let server = serve(&Http, LOOPBACK[0], &params);
    let mut silent = TcpStream::connect((LOOPBACK[0], server.port())).unwrap();
    // The server closes it.
    assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(finish(server)["strays"]["connections"], 1);
}

/// A port at which each connection is dealt with like this.
fn server_that(does: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind((LOOPBACK[0], 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(does));
    port
}

/// A server that sends these bytes to a request.
fn answering(answer: &'static [u8]) -> u16 {
    server_that(move |mut stream| {
        let _ = stream.read(&mut [0; 2_000]);
        let _ = stream.write_all(answer);
    })
}

#[test]
fn servers_that_are_silent_close_or_lie_are_failures_by_reason() {
    let failed_in = |timeout_ns: u64, version: &str, port: u16| {
        let more = json!({"count": 2, "object_bytes": 4, "timeout_ns": timeout_ns});
        run(&Http, &endpoint(LOOPBACK[0], port, None), &with(version, "none", more))["failed"].clone()
    };
    let failed = |version: &str, port: u16| failed_in(60 * SECOND_NS, version, port);
    for version in ["1.1", "2"] {
        assert_eq!(failed_in(SECOND_NS / 20, version, server_that(std::mem::forget)), json!({"timeout": 2}));
        let closed = failed(version, server_that(drop));
        assert!(!closed.as_object().unwrap().contains_key("timeout"), "{version} {closed}");
    }
    let answers: [(&[u8], &str); 6] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", "wrong-response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "wrong-response"),
        (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nabcd", "wrong-response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", "closed"),
        (b"HTTP/1.1 200", "closed"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "http"),
    ];
    for (answer, reason) in answers {
        assert_eq!(failed("1.1", answering(answer)), json!({reason: 2}), "{}", answer.escape_ascii());
    }
    let of_version_1 = failed("2", answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    // The request may be given up before the error of its connection is known, and the socket may be closed by then.
    let reasons = ["http", "closed", "EPIPE", "ECONNRESET"];
    assert!(of_version_1.as_object().unwrap().keys().all(|reason| reasons.contains(&&**reason)), "{of_version_1}");
}

#[test]
fn a_server_that_stops_in_the_middle_is_given_up_in_time() {
    let stopping = server_that(|mut stream| {
        let _ = stream.read(&mut [0; 2_000]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
        std::mem::forget(stream);
    });
    let params = with("1.1", "none", json!({"count": 2, "object_bytes": 4, "timeout_ns": SECOND_NS / 10}));
    assert_eq!(run(&Http, &endpoint(LOOPBACK[0], stopping, None), &params)["failed"], json!({"timeout": 2}));
}

#[test]
fn a_server_of_another_version_loads_no_page() {
    for (asked, served) in [("1.1", "2"), ("2", "1.1")] {
        let server = serve(&Http, LOOPBACK[0], &with(served, "1.3", json!({"count": 2})));
        let client = run(&Http, &client_of(&*server, LOOPBACK[0]), &with(asked, "1.3", json!({"count": 2})));
        assert_eq!(client["failed"], json!({"alert-NoApplicationProtocol": 2}), "{asked} {served}");
        assert_eq!(finish(server)["requests"], 0);
    }
    let server = serve(&QuicConnect, LOOPBACK[0], &json!({"count": 2}));
    let client = run(&Http, &client_of(&*server, LOOPBACK[0]), &with("3", "1.3", json!({"count": 2})));
    assert_eq!((&client["transactions"], &client["failed"]), (&json!(0), &json!({"alert-NoApplicationProtocol": 2})));
}

#[test]
fn an_answer_of_another_version_is_counted_as_such() {
    let port = answering(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nabcd");
    let params = with("1.1", "none", json!({"count": 2, "object_bytes": 4}));
    let client = run(&Http, &endpoint(LOOPBACK[0], port, None), &params);
    assert_eq!(client["protocols"], json!({"HTTP/1.0": 2}));
}

#[test]
fn a_silent_server_of_quic_is_a_failure_by_reason_and_a_cancel_ends_the_wait() {
    let silent = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
    let authority = crate::certificates::chain("a.sixbench.test", 1_536).unwrap().authority;
    let client = endpoint(LOOPBACK[0], silent.local_addr().unwrap().port(), Some(authority));
    let params = json!({"version": "3", "count": 2, "timeout_ns": SECOND_NS / 20});
    assert_eq!(run(&Http, &client, &params)["failed"], json!({"timeout": 2}));
    let cancel = Cancel::default();
    cancel.raise();
    assert_eq!(Workload::run(&Http, &client, &params, &cancel).unwrap_err().code, Code::Cancelled);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params: Value| {
        let served = Workload::serve(&Http, &endpoint(LOOPBACK[0], 0, None), &params, &Cancel::default());
        let error = served.err().unwrap();
        assert_eq!(error.code, Code::BadParams);
        error.to_string()
    };
    assert!(refused(json!({"count": 1, "version": "3", "tls": "none"})).contains("no form without TLS"));
    assert!(refused(json!({"count": 1, "in_flight": 100, "objects": 9})).contains("600 connections: at most 512"));
    assert!(refused(json!({"count": 1, "page": "AA=="})).contains("`page` ends in the middle of a number"));
}

#[test]
fn the_load_of_a_session_is_that_of_all_pages_in_flight() {
    let load = |params: Value| {
        let Load { flows, transaction_bytes } = Workload::load(&Http, &params).unwrap();
        (flows, transaction_bytes)
    };
    assert_eq!(load(json!({"count": 1})), (1, Some(10_240)));
    let page = json!({"count": 1, "objects": 9, "object_bytes": 100, "in_flight": 3});
    assert_eq!(load(page.clone()), (18, Some(2_700)));
    for version in ["2", "3"] {
        let mut page = page.clone();
        page["version"] = json!(version);
        assert_eq!(load(page), (3, Some(2_700)), "{version}");
    }
    // Two hosts, with an object each.
    let page = STANDARD.encode([0, 5, 0, 1, 7, 0]);
    assert_eq!(load(json!({"count": 1, "version": "2", "page": page})), (2, Some(12)));
}

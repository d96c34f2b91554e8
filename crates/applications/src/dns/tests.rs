use std::net::{TcpListener, UdpSocket};

use serde_json::json;
use sixbench_traffic::Endpoint;
use sixbench_traffic::params::SECOND_NS;
use sixbench_wire::token::Token;

use super::Dns;
use crate::loopback::{LOOPBACK, client_of, endpoint, finish, run, serve, trial};

/// Each transport, and the protocol that its answers come by.
const TRANSPORTS: [(&str, &str); 5] =
    [("udp", "udp"), ("tcp", "tcp"), ("tls", "dot"), ("https", "h2"), ("quic", "doq")];

#[test]
fn each_transport_answers_over_new_and_kept_connections() {
    for address in LOOPBACK {
        for (over, protocol) in TRANSPORTS {
            for (connection, sessions) in [("new", 12), ("kept", 0)] {
                let params = json!({"count": 12, "in_flight": 2, "over": over, "connection": connection});
                let (client, server) = trial(&Dns, address, &params);
                assert_eq!((&client["transactions"], &client["failed"]), (&json!(12), &json!({})), "{over}");
                assert_eq!(client["protocols"], json!({protocol: 12}));
                assert_eq!((&client["retries"], &client["truncated"]), (&json!(0), &json!(0)));
                let sessions = if over == "udp" { 0 } else { sessions };
                assert_eq!(client["session"]["count"], sessions, "{over} {connection}");
                assert_eq!(client["response"]["count"], 12);
                let connections = if over == "udp" { 0 } else { sessions.max(2) };
                assert_eq!((&server["transactions"], &server["connections"]), (&json!(12), &json!(connections)));
                assert_eq!((&server["failed"], &server["strays"]["connections"]), (&json!(0), &json!(0)), "{over}");
            }
        }
    }
}

#[test]
fn no_connection_is_kept_that_has_no_question_to_carry() {
    for (over, _) in TRANSPORTS {
        let params = json!({"count": 2, "in_flight": 9, "over": over, "connection": "kept"});
        let (client, server) = trial(&Dns, LOOPBACK[1], &params);
        assert_eq!((&client["transactions"], &client["failed"]), (&json!(2), &json!({})), "{over}");
        assert_eq!((&server["failed"], &server["strays"]), (&json!(0), &json!({"connections": 0, "datagrams": 0})));
    }
}

#[test]
fn sessions_of_tls_are_1_3_and_others_have_none() {
    for (over, _) in TRANSPORTS {
        let (client, _) = trial(&Dns, LOOPBACK[0], &json!({"count": 3, "over": over}));
        let versions = if matches!(over, "tls" | "https") { json!({"TLSv1_3": 3}) } else { json!({}) };
        assert_eq!(client["versions"], versions, "{over}");
    }
}

#[test]
fn bytes_are_those_of_messages_and_their_framing() {
    for (over, framing) in [("udp", 0), ("tcp", 2)] {
        let params = json!({"count": 4, "over": over, "connection": "kept", "answer_bytes": 300});
        let (client, _) = trial(&Dns, LOOPBACK[1], &params);
        assert_eq!(client["received_bytes"], 4 * (300 + framing));
    }
}

#[test]
fn an_answer_that_does_not_fit_a_datagram_is_asked_for_again_by_tcp() {
    let params = |edns_bytes: u64| json!({"count": 3, "answer_bytes": 2_000, "edns_bytes": edns_bytes});
    let (client, server) = trial(&Dns, LOOPBACK[0], &params(1_232));
    assert_eq!((&client["truncated"], &client["protocols"]), (&json!(3), &json!({"tcp": 3})));
    assert_eq!((&server["truncated"], &server["transactions"]), (&json!(3), &json!(3)));
    let (client, server) = trial(&Dns, LOOPBACK[0], &params(4_096));
    assert_eq!((&client["truncated"], &client["protocols"]), (&json!(0), &json!({"udp": 3})));
    assert_eq!(server["truncated"], 0);
}

#[test]
fn who_asks_for_another_zone_or_name_is_a_stray() {
    for (over, kind) in [("udp", "datagrams"), ("tcp", "connections"), ("tls", "connections"), ("quic", "connections")]
    {
        let params = json!({"count": 2, "over": over, "timeout_ns": SECOND_NS / 5});
        let server = serve(&Dns, LOOPBACK[0], &params);
        let stranger = Endpoint { token: Token([9; 16]), ..client_of(&*server, LOOPBACK[0]) };
        assert_eq!(run(&Dns, &stranger, &params)["transactions"], 0);
        let server = finish(server);
        assert_eq!((&server["transactions"], &server["strays"][kind]), (&json!(0), &json!(2)), "{over}");
    }
}

#[test]
fn a_silent_server_is_asked_again_by_udp_and_then_given_up() {
    let silent = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
    let client = endpoint(LOOPBACK[0], silent.local_addr().unwrap().port(), None);
    let params = json!({"count": 1, "timeout_ns": SECOND_NS / 10, "retry_after_ns": SECOND_NS / 100});
    let result = run(&Dns, &client, &params);
    assert_eq!((&result["transactions"], &result["failed"]), (&json!(0), &json!({"timeout": 1})));
    assert!(result["retries"].as_u64().unwrap() >= 1, "{result}");
    silent.set_nonblocking(true).unwrap();
    let mut buffer = [0; 512];
    let first = silent.recv(&mut buffer).unwrap();
    let again = buffer[..first].to_vec();
    assert_eq!(silent.recv(&mut buffer).map(|bytes| buffer[..bytes].to_vec()).unwrap(), again);
}

#[test]
fn a_server_that_closes_or_lies_is_a_failure_by_reason() {
    let listener = TcpListener::bind((LOOPBACK[0], 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let closing = run(&Dns, &endpoint(LOOPBACK[0], port, None), &json!({"count": 2, "over": "tcp"}));
    let reasons: Vec<_> = closing["failed"].as_object().unwrap().keys().cloned().collect();
    assert!(reasons.iter().all(|reason| matches!(reason.as_str(), "closed" | "ECONNRESET" | "EPIPE")), "{reasons:?}");
    let lying = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
    let port = lying.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((bytes, from)) = lying.recv_from(&mut buffer) {
            // The question itself, as if it were the answer.
            let _ = lying.send_to(&buffer[..bytes], from);
        }
    });
    let lied = run(&Dns, &endpoint(LOOPBACK[0], port, None), &json!({"count": 2}));
    assert_eq!(lied["failed"], json!({"wrong-response": 2}));
}

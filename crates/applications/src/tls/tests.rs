use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;
use sixbench_traffic::{Cancel, Code, Endpoint, Finish, Workload};
use sixbench_wire::token::Token;

use super::Tls;
use crate::loopback::{LOOPBACK, client_of, endpoint, finish, run, serve, trial};
use sixbench_traffic::params::SECOND_NS;

#[test]
fn full_handshakes_are_counted_by_both_ends() {
    for address in LOOPBACK {
        let (client, server) = trial(&Tls, address, &json!({"count": 20, "in_flight": 3}));
        assert_eq!((&client["transactions"], &server["transactions"]), (&json!(20), &json!(20)));
        assert_eq!(client["failed"], json!({}));
        assert_eq!(client["kinds"], json!({"full": 20}));
        assert_eq!(client["versions"], json!({"TLSv1_3": 20}));
        assert_eq!(server["strays"], json!({"connections": 0, "datagrams": 0}));
        for times in ["connect", "handshake", "transaction"] {
            assert_eq!(client[times]["count"], 20, "{times}");
        }
    }
}

#[test]
fn resumed_handshakes_carry_no_certificates() {
    let received = |session: &str| {
        let params = json!({"count": 30, "session": session, "in_flight": 2, "chain_bytes": 5120});
        let (client, server) = trial(&Tls, LOOPBACK[0], &params);
        assert_eq!(client["kinds"], json!({session: 30}));
        assert!(server["transactions"].as_u64().unwrap() >= 30);
        client["handshake_received_bytes"].as_u64().unwrap() / 30
    };
    let (full, resumed) = (received("full"), received("resumed"));
    assert!(full > 5120 && full < 5120 + 700, "{full}");
    assert!(resumed < 400, "{resumed}");
}

#[test]
fn early_data_are_asked_with_and_answered_in_the_first_flights() {
    for address in LOOPBACK {
        let params = json!({"count": 30, "session": "resumed", "early_data": true, "in_flight": 3});
        let (client, server) = trial(&Tls, address, &params);
        assert_eq!((&client["kinds"], &client["failed"]), (&json!({"early-data": 30}), &json!({})));
        assert_eq!((&client["first_byte"]["count"], &server["early"]), (&json!(30), &json!(30)));
        assert!(client["first_byte"]["min"].as_u64() >= client["connect"]["min"].as_u64());
    }
}

#[test]
fn early_data_that_the_server_does_not_take_are_told() {
    let early = json!({"count": 5, "session": "resumed", "early_data": true});
    let server = serve(&Tls, LOOPBACK[0], &json!({"count": 5, "session": "resumed"}));
    let client = run(&Tls, &client_of(&*server, LOOPBACK[0]), &early);
    assert_eq!(client["transactions"], 0);
    assert_eq!(client["failed"], json!({"no-ticket": 5}));
    assert_eq!(finish(server)["early"], 0);
    let params = json!({"count": 1, "session": "full", "early_data": true});
    let refused = Workload::run(&Tls, &endpoint(LOOPBACK[0], 9, None), &params, &Cancel::default()).unwrap_err();
    assert_eq!(refused.code, Code::BadParams);
}

#[test]
fn a_longer_chain_is_more_bytes_from_the_server_and_no_more_to_it() {
    let bytes = |chain: u64| {
        let (client, _) = trial(&Tls, LOOPBACK[1], &json!({"count": 5, "chain_bytes": chain}));
        ["handshake_sent_bytes", "handshake_received_bytes"].map(|key| client[key].as_u64().unwrap() / 5)
    };
    let [short, long] = [bytes(1_536), bytes(5_120)];
    assert_eq!(short[0], long[0]);
    // A signature is up to 2 bytes shorter at random.
    assert!((long[1] - short[1]).abs_diff(5_120 - 1_536) <= 2, "{short:?} {long:?}");
}

#[test]
fn who_asks_for_another_name_is_a_stray() {
    let params = json!({"count": 2});
    let server = serve(&Tls, LOOPBACK[0], &params);
    let stranger = Endpoint { token: Token([9; 16]), ..client_of(&*server, LOOPBACK[0]) };
    let client = run(&Tls, &stranger, &json!({"count": 3, "timeout_ns": SECOND_NS}));
    assert_eq!(client["transactions"], 0);
    drop(TcpStream::connect(SocketAddr::new(LOOPBACK[0], server.port())).unwrap());
    let ours = run(&Tls, &client_of(&*server, LOOPBACK[0]), &params);
    assert_eq!(ours["transactions"], 2);
    let server = finish(server);
    assert_eq!((&server["transactions"], &server["failed"]), (&json!(2), &json!(0)));
    assert_eq!(server["strays"]["connections"], 4);
}

#[test]
fn a_server_with_another_certificate_is_refused() {
    let params = json!({"count": 3});
    let (server, other) = (serve(&Tls, LOOPBACK[0], &params), serve(&Tls, LOOPBACK[0], &params));
    let mistaken = endpoint(LOOPBACK[0], server.port(), other.certificate().cloned());
    let client = run(&Tls, &mistaken, &params);
    assert_eq!((&client["transactions"], &client["failed"]), (&json!(0), &json!({"certificate-refused": 3})));
    assert_eq!(finish(server)["failed"], 3);
    let refused = Workload::run(&Tls, &endpoint(LOOPBACK[0], 9, None), &params, &Cancel::default()).unwrap_err();
    assert_eq!(refused.code, Code::BadParams);
}

/// A port at which each connection is dealt with like this.
fn server_that(does: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind((LOOPBACK[0], 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(does));
    port
}

#[test]
fn peers_that_speak_no_tls_are_failures_by_reason() {
    let authority = crate::certificates::chain("a.sixbench.test", 1_536).unwrap().authority;
    let run = |port, timeout_ns| {
        let params = json!({"count": 2, "timeout_ns": timeout_ns});
        let client = endpoint(LOOPBACK[0], port, Some(authority.clone()));
        run(&Tls, &client, &params)["failed"].clone()
    };
    assert_eq!(run(server_that(std::mem::forget), SECOND_NS / 20), json!({"timeout": 2}));
    let closing = server_that(|mut stream| {
        let _ = stream.read(&mut [0; 2_000]);
    });
    assert_eq!(run(closing, 60 * SECOND_NS), json!({"closed": 2}));
    let lying = server_that(|mut stream| {
        let _ = stream.read(&mut [0; 2_000]);
        let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    assert_eq!(run(lying, 60 * SECOND_NS), json!({"tls": 2}));
}

#[test]
fn a_cancelled_side_ends_at_once_and_leaves_no_thread() {
    let cancel = Cancel::default();
    let params = json!({"count": 1});
    let server = Workload::serve(&Tls, &endpoint(LOOPBACK[0], 0, None), &params, &cancel).unwrap();
    let silent = server_that(std::mem::forget);
    let client = endpoint(LOOPBACK[0], silent, server.certificate().cloned());
    std::thread::scope(|scope| {
        let running =
            scope.spawn(|| Workload::run(&Tls, &client, &json!({"count": 1, "timeout_ns": 600 * SECOND_NS}), &cancel));
        std::thread::sleep(Duration::from_millis(20));
        cancel.raise();
        assert_eq!(running.join().unwrap().unwrap_err().code, Code::Cancelled);
    });
    assert_eq!(server.finish(&Finish::default()).unwrap_err().code, Code::Cancelled);
}

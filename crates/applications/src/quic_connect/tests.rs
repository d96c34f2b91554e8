use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use quinn::VarInt;
use serde_json::json;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::{Cancel, Code, Endpoint, Finish, Workload};
use sixbench_wire::token::Token;

use super::QuicConnect;
use crate::loopback::{LOOPBACK, client_of, endpoint, finish, run, serve};
use crate::{name, quic, runtime, trust};
use sixbench_traffic::params::SECOND_NS;

#[test]
fn each_session_is_what_was_asked_for() {
    for address in LOOPBACK {
        for session in ["full", "resumed", "0-rtt"] {
            let params = json!({"count": 12, "in_flight": 2, "session": session});
            let server = serve(&QuicConnect, address, &params);
            let client = run(&QuicConnect, &client_of(&*server, address), &params);
            assert_eq!((&client["transactions"], &client["failed"]), (&json!(12), &json!({})), "{session}");
            assert_eq!(client["kinds"], json!({session: 12}));
            assert_eq!(client["protocols"], json!({"sixbench": 12}));
            for times in ["handshake", "first_byte"] {
                assert_eq!(client[times]["count"], 12, "{times}");
            }
            let server = finish(server);
            assert!(server["transactions"].as_u64().unwrap() >= 12, "{server}");
            assert_eq!((&server["retries"], &server["failed"]), (&json!(0), &json!(0)));
        }
    }
}

#[test]
fn a_retry_is_one_for_each_connection() {
    let params = json!({"count": 5, "retry": true});
    let server = serve(&QuicConnect, LOOPBACK[1], &params);
    let client = run(&QuicConnect, &client_of(&*server, LOOPBACK[1]), &params);
    assert_eq!(client["kinds"], json!({"full": 5}));
    assert_eq!(finish(server)["retries"], 5);
}

#[test]
fn who_asks_for_another_name_is_a_stray_and_who_has_another_certificate_is_refused() {
    let params = json!({"count": 2, "timeout_ns": SECOND_NS});
    let (server, other) = (serve(&QuicConnect, LOOPBACK[0], &params), serve(&QuicConnect, LOOPBACK[0], &params));
    let stranger = Endpoint { token: Token([9; 16]), ..client_of(&*server, LOOPBACK[0]) };
    let strange = run(&QuicConnect, &stranger, &params);
    assert_eq!(strange["transactions"], 0);
    let mistaken = endpoint(LOOPBACK[0], server.port(), other.certificate().cloned());
    let refused = run(&QuicConnect, &mistaken, &params);
    assert_eq!(refused["transactions"], 0);
    let reasons: Vec<_> = refused["failed"].as_object().unwrap().keys().collect();
    assert!(reasons.iter().all(|reason| reason.starts_with("refused-")), "{refused}");
    let server = finish(server);
    assert_eq!((&server["transactions"], &server["failed"]), (&json!(0), &json!(2)));
    assert_eq!(server["strays"]["connections"], 2);
}

#[test]
fn a_silent_server_is_a_failure_by_reason_and_a_cancel_ends_the_wait() {
    let silent = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let authority = crate::certificates::chain("a.sixbench.test", 1_536).unwrap().authority;
    let client = endpoint(LOOPBACK[0], port, Some(authority));
    let params = json!({"count": 2, "timeout_ns": SECOND_NS / 20});
    let result = run(&QuicConnect, &client, &params);
    assert_eq!(result["failed"], json!({"timeout": 2}));
    let cancel = Cancel::default();
    cancel.raise();
    let cancelled = Workload::run(&QuicConnect, &client, &params, &cancel).unwrap_err();
    assert_eq!(cancelled.code, Code::Cancelled);
}

#[test]
fn a_server_ends_after_the_close_that_is_on_its_way() {
    let server = serve(&QuicConnect, LOOPBACK[1], &json!({"count": 1}));
    let client = client_of(&*server, LOOPBACK[1]);
    let closed = Arc::new(AtomicBool::new(false));
    let (opening, opened) = mpsc::channel();
    let closing = Arc::clone(&closed);
    let closer = thread::spawn(move || {
        runtime::block_on(&Cancel::default(), async {
            let (quic, _) = quic::client(&client, Buffers::default())?;
            let (tls, _) = trust::client_of("test", &client)?;
            let config = quic::client_config(tls, quic::PROTOCOL, quic::short_transport(), &client.logs)?;
            let name = name::of_trial(&client.token);
            let connection = quic.connect_with(config, quic::peer(&client), &name).unwrap().await.unwrap();
            opening.send(()).unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            closing.store(true, Ordering::SeqCst);
            connection.close(VarInt::from_u32(0), b"");
            quic.wait_idle().await;
            Ok(())
        })
    });
    opened.recv().unwrap();
    let order = Finish { timeout_ns: SECOND_NS, first_silence_ns: Some(60 * SECOND_NS), ..Finish::default() };
    server.finish(&order).unwrap();
    assert!(closed.load(Ordering::SeqCst));
    closer.join().unwrap().unwrap();
}

//! `tcp-rr` on loopback.

use std::io::{Read, Write};
use std::thread;

use serde_json::{Value, json};
use sixbench_traffic::Code;

use crate::common::*;
use crate::peers::*;

const NAME: &str = "tcp-rr";

fn check(client: &Value, server: &Value) {
    let transactions = client["transactions"].as_u64().unwrap();
    assert!(transactions > 0);
    assert_eq!(client["rtt"]["count"], transactions);
    assert_eq!(client["rtt_jitter"]["count"], transactions - 1);
    assert_eq!(sum(&client["series"]["transactions"]) as u64, transactions);
    assert_eq!(server["transactions"], transactions + client["warmup_transactions"].as_u64().unwrap());
    check_series(&client["series"]);
    check_cpu(client);
    check_cpu(server);
    assert_eq!((&client["socket"]["nodelay"], &server["socket"]["nodelay"]), (&json!(true), &json!(true)));
}

#[test]
fn a_number_of_transactions() {
    for address in FAMILIES {
        let (client, server) = trial(NAME, address, &json!({"count": 100}));
        check(&client, &server);
        assert_eq!((&client["transactions"], &client["warmup_transactions"]), (&json!(100), &json!(0)));
    }
}

#[test]
fn transactions_for_a_time() {
    for address in FAMILIES {
        let params = json!({"duration_ns": 100_000_000, "warmup_ns": 30_000_000, "interval_ns": 10_000_000});
        let (client, server) = trial(NAME, address, &params);
        check(&client, &server);
        assert!(client["warmup_transactions"].as_u64().unwrap() > 0);
        assert!(client["measured_ns"].as_u64().unwrap() >= 100_000_000);
        assert_eq!(client["series"]["t_ns"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn busy_polling_measures_the_same() {
    for address in FAMILIES {
        let (client, server) = trial(NAME, address, &json!({"count": 100, "busy_poll": true}));
        check(&client, &server);
        assert_eq!(client["transactions"], 100);
        let params =
            json!({"count": 3, "busy_poll": true, "message_bytes": 3_000_001, "timeout_ns": 20_000_000_000_u64});
        let (client, server) = trial(NAME, address, &params);
        check(&client, &server);
    }
}

#[test]
fn busy_polling_ends_by_timeout_and_cancel_too() {
    let (listener, port) = listen(V4);
    let peer = thread::spawn(move || wait_for_end(accept(&listener).0));
    let params = json!({"count": 10, "timeout_ns": 150_000_000, "busy_poll": true});
    let error = run(NAME, V4, port, &params).unwrap_err();
    assert_eq!(error.to_string(), "exchanging messages with 127.0.0.1: nothing after 150 ms");
    peer.join().unwrap();
    let server = serve(NAME, V4, &params);
    let stream = connect_saying(V4, server.port(), &preamble(TOKEN, RR, 0));
    drop(server);
    wait_for_end(stream);
}

#[test]
fn messages_larger_than_all_buffers() {
    let params = json!({
        "count": 3, "message_bytes": 9_000_001, "response_bytes": 5_000_003, "sndbuf_bytes": 8_192,
        "rcvbuf_bytes": 8_192, "timeout_ns": 20_000_000_000_u64,
    });
    let (client, server) = trial(NAME, V6, &params);
    check(&client, &server);
    assert_eq!(client["transactions"], 3);
}

#[test]
fn strays_are_counted_and_change_nothing() {
    for address in FAMILIES {
        let params = json!({"count": 10});
        let server = serve(NAME, address, &params);
        let (ended, silent) = strays(address, server.port(), RR);
        let client = run(NAME, address, server.port(), &params).unwrap();
        let result = server.finish(&FINISH).unwrap();
        check(&client, &result);
        assert_eq!(result["strays"]["connections"], ended + silent.len() as u64);
    }
}

#[test]
fn a_client_that_vanishes_in_a_message_is_lost() {
    let server = serve(NAME, V4, &json!({"count": 10}));
    let mut stream = connect_saying(V4, server.port(), &preamble(TOKEN, RR, 0));
    stream.write_all(&[0; 64 + 10]).unwrap();
    stream.read_exact(&mut [0; 64]).unwrap();
    drop(stream);
    let error = server.finish(&FINISH).unwrap_err();
    assert_eq!(error.to_string(), "answering messages of 127.0.0.1: the peer closed the connection");
}

#[test]
fn a_server_that_vanishes_is_lost() {
    let (listener, port) = listen(V4);
    let peer = thread::spawn(move || {
        let (mut stream, start) = accept(&listener);
        stream.read_exact(&mut [0; 64]).unwrap();
        stream.write_all(&[0; 10]).unwrap();
        start
    });
    let error = run(NAME, V4, port, &json!({"count": 10})).unwrap_err();
    assert_eq!(error.to_string(), "exchanging messages with 127.0.0.1: the peer closed the connection");
    assert_eq!(peer.join().unwrap(), preamble(TOKEN, RR, 0));
}

#[test]
fn an_answer_that_does_not_come_is_a_timeout() {
    let (listener, port) = listen(V4);
    let peer = thread::spawn(move || {
        let (stream, _) = accept(&listener);
        wait_for_end(stream);
    });
    let error = run(NAME, V4, port, &json!({"count": 10, "timeout_ns": 150_000_000})).unwrap_err();
    assert_eq!(error.to_string(), "exchanging messages with 127.0.0.1: nothing after 150 ms");
    peer.join().unwrap();
}

#[test]
fn a_cancel_ends_both_sides() {
    let forever = json!({"duration_ns": HOUR_NS, "timeout_ns": HOUR_NS});
    let (listener, port) = listen(V4);
    let error = cancelled_run(NAME, port, forever.clone(), || {
        // The answer never comes.
        let (mut stream, _) = accept(&listener);
        stream.read_exact(&mut [0; 64]).unwrap();
        std::mem::forget(stream);
    });
    assert_eq!(error.code, Code::Cancelled);
    assert_eq!(cancelled_finish(NAME, &forever).code, Code::Cancelled);
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let server = serve(NAME, V4, &json!({"count": 1}));
    let stream = connect_saying(V4, server.port(), &preamble(TOKEN, RR, 0));
    drop(server);
    wait_for_end(stream);
}

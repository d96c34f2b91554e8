//! `tcp-connect` and `tcp-crr` on loopback.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};
use sixbench_traffic::Code;

use crate::common::*;
use crate::peers::*;

const NAMES: [&str; 2] = ["tcp-connect", "tcp-crr"];

fn check(name: &str, client: &Value, server: &Value) {
    let transactions = client["transactions"].as_u64().unwrap();
    let uncounted = ["warmup_transactions", "after_window"].map(|key| client[key].as_u64().unwrap());
    let all = transactions + uncounted.iter().sum::<u64>();
    assert!(transactions > 0);
    assert_eq!(client["failed"], json!({}));
    assert_eq!(client["connect"]["count"], transactions);
    let whole = client.get("transaction").map(|times| times["count"].as_u64().unwrap());
    assert_eq!(whole, (name == "tcp-crr").then_some(transactions));
    assert_eq!(sum(&client["series"]["transactions"]) as u64, transactions);
    assert_eq!((&server["accepted"], &server["transactions"]), (&json!(all), &json!(all)));
    assert_eq!(client["socket"]["congestion"], "cubic");
    check_series(&client["series"]);
    check_cpu(client);
    check_cpu(server);
}

/// Proves itself by hand to a server.
fn prove(address: IpAddr, port: u16) -> TcpStream {
    let mut proof = connect_saying(address, port, &preamble(TOKEN, PROOF, 0));
    let mut answer = [0];
    proof.read_exact(&mut answer).unwrap();
    assert_eq!(answer[0], TOKEN.0[1]);
    proof
}

/// Accepts a proof by hand.
fn accept_proof(listener: &TcpListener) -> TcpStream {
    let (mut proof, start) = accept(listener);
    assert_eq!(start, preamble(TOKEN, PROOF, 0));
    proof.write_all(&[TOKEN.0[1]]).unwrap();
    proof
}

#[test]
fn a_number_of_transactions() {
    for name in NAMES {
        for address in FAMILIES {
            let (client, server) = trial(name, address, &json!({"count": 200}));
            check(name, &client, &server);
            assert_eq!(client["transactions"], 200);
        }
    }
}

#[test]
fn transactions_for_a_time() {
    for name in NAMES {
        let params = json!({"duration_ns": 100_000_000, "warmup_ns": 30_000_000, "interval_ns": 10_000_000});
        let (client, server) = trial(name, V6, &params);
        check(name, &client, &server);
        assert!(client["warmup_transactions"].as_u64().unwrap() > 0);
        assert_eq!(client["series"]["t_ns"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn many_in_flight_whoever_closes_first() {
    for name in NAMES {
        for (address, first_close) in [(V4, "client"), (V6, "server"), (V4, "reset")] {
            let params = json!({"count": 2_000, "in_flight": 50, "first_close": first_close});
            let (client, server) = trial(name, address, &params);
            check(name, &client, &server);
            assert_eq!((&client["transactions"], &client["attempts"]), (&json!(2_000), &json!(2_000)));
        }
        let params = json!({"duration_ns": 100_000_000, "warmup_ns": 30_000_000, "in_flight": 200});
        let (client, server) = trial(name, V6, &params);
        check(name, &client, &server);
        assert!(client["measured_ns"].as_u64().unwrap() >= 100_000_000);
    }
}

#[test]
fn at_a_rate_all_that_is_due_is_begun() {
    for name in NAMES {
        // Far below what any machine can do, and too many for a busy one to begin in time: they begin late then.
        let params = json!({"duration_ns": 200_000_000, "rate_per_s": 500, "interval_ns": 50_000_000});
        let (client, server) = trial(name, V4, &params);
        check(name, &client, &server);
        let number = |key: &str| client[key].as_u64().unwrap();
        assert_eq!(number("attempts") + number("unstarted"), 100);
        assert_eq!(number("transactions"), number("attempts"));
        assert_eq!(client["lateness"]["count"], client["attempts"]);
        assert!(number("measured_ns") >= 200_000_000);
        assert!(number("offered_ns") <= number("measured_ns"));
        let params = json!({"count": 30, "rate_per_s": 1_000});
        let (client, server) = trial(name, V6, &params);
        check(name, &client, &server);
        assert_eq!((&client["transactions"], client.get("unstarted")), (&json!(30), None));
    }
}

#[test]
fn times_count_from_when_a_transaction_was_due() {
    let (listener, port) = listen(V4);
    let peer = thread::spawn(move || {
        let proof = accept_proof(&listener);
        for pause_ms in [100, 0, 0] {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0]).unwrap();
            thread::sleep(std::time::Duration::from_millis(pause_ms));
            stream.write_all(&TOKEN.0[1..2]).unwrap();
            wait_for_end(stream);
        }
        drop(proof);
    });
    let params = json!({"count": 3, "rate_per_s": 1_000, "in_flight": 1});
    let client = run("tcp-crr", V4, port, &params).unwrap();
    peer.join().unwrap();
    // The answer to the first came after 100 ms, and the two others were due 1 and 2 ms after the first.
    assert_eq!((&client["transactions"], &client["held_back"]), (&json!(3), &json!(2)));
    assert!(client["transaction"]["min"].as_u64().unwrap() > 97_000_000, "{client}");
    assert!(client["lateness"]["max"].as_u64().unwrap() > 97_000_000, "{client}");
}

#[test]
fn strays_are_counted_and_change_nothing() {
    for name in NAMES {
        for address in FAMILIES {
            let params = json!({"count": 50});
            let server = serve(name, address, &params);
            let (ended, silent) = strays(address, server.port(), PROOF);
            let client = run(name, address, server.port(), &params).unwrap();
            let result = server.finish(&FINISH).unwrap();
            check(name, &client, &result);
            assert_eq!(result["strays"]["connections"], ended + silent.len() as u64);
        }
    }
}

#[test]
fn many_silent_connections_do_not_keep_the_trial_out() {
    for name in NAMES {
        let params = json!({"count": 50});
        let server = serve(name, V4, &params);
        let silent: Vec<_> = (0..200).map(|_| connect(V4, server.port())).collect();
        let client = run(name, V4, server.port(), &params).unwrap();
        let result = server.finish(&FINISH).unwrap();
        check(name, &client, &result);
        assert_eq!(result["strays"]["connections"], silent.len());
    }
}

#[test]
fn strays_among_the_transactions() {
    let server = serve("tcp-crr", V4, &json!({"count": 1}));
    let port = server.port();
    let proof = prove(V4, port);
    let silent = connect(V4, port);
    wait_for_end(connect_saying(V4, port, b"wrong"));
    wait_for_end(connect_from_elsewhere(port));
    let mut stream = connect_saying(V4, port, &TOKEN.0[..1]);
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[0], TOKEN.0[1]);
    drop((stream, silent, proof));
    let result = server.finish(&FINISH).unwrap();
    assert_eq!((&result["accepted"], &result["transactions"]), (&json!(2), &json!(1)));
    assert_eq!(result["strays"]["connections"], 2);
}

#[test]
fn data_on_an_empty_connection_is_a_stray() {
    let server = serve("tcp-connect", V6, &json!({"count": 1}));
    let proof = prove(V6, server.port());
    wait_for_end(connect_saying(V6, server.port(), b"x"));
    drop(connect(V6, server.port()));
    drop(proof);
    let result = server.finish(&FINISH).unwrap();
    assert_eq!((&result["accepted"], &result["transactions"]), (&json!(1), &json!(1)));
    assert_eq!(result["strays"]["connections"], 1);
}

#[test]
fn failures_are_counted_by_reason() {
    let (listener, port) = listen(V4);
    let peer = thread::spawn(move || accept_proof(&listener));
    let params = json!({"count": 5, "warmup_ns": 0});
    // With its listener gone, the kernel refuses.
    let running = thread::spawn(move || run("tcp-connect", V4, port, &params));
    let proof = peer.join().unwrap();
    let client = running.join().unwrap().unwrap();
    drop(proof);
    let refused = client["failed"]["ECONNREFUSED"].as_u64().unwrap_or(0);
    // Before the listener was gone, the kernel may have completed some.
    assert_eq!(client["transactions"].as_u64().unwrap() + refused, 5, "{client}");
}

#[test]
fn wrong_and_missing_answers_are_failures() {
    let (listener, port) = listen(V6);
    let peer = thread::spawn(move || {
        let _proof = accept_proof(&listener);
        let (mut wrong, _) = listener.accept().unwrap();
        wrong.write_all(b"?").unwrap();
        wait_for_end(wrong);
        let (mut closed, _) = listener.accept().unwrap();
        closed.read_exact(&mut [0]).unwrap();
        drop(closed);
        let (silent, _) = listener.accept().unwrap();
        wait_for_end(silent);
    });
    let client = run("tcp-crr", V6, port, &json!({"count": 3, "timeout_ns": 200_000_000})).unwrap();
    peer.join().unwrap();
    assert_eq!(client["failed"], json!({"wrong-response": 1, "closed": 1, "timeout": 1}));
    assert_eq!((&client["transactions"], &client["connect"]["count"]), (&json!(0), &json!(0)));
}

#[test]
fn a_server_that_does_not_know_the_proof_is_lost() {
    for name in NAMES {
        let (listener, port) = listen(V4);
        let peer = thread::spawn(move || drop(accept(&listener)));
        let error = run(name, V4, port, &json!({"count": 1})).unwrap_err();
        assert_eq!(error.to_string(), "proving ourselves to 127.0.0.1: the peer closed the connection");
        peer.join().unwrap();
    }
}

#[test]
fn a_client_whose_proof_stays_open_does_not_hold_up_the_end() {
    let server = serve("tcp-connect", V4, &json!({"count": 1}));
    let proof = prove(V4, server.port());
    drop(connect(V4, server.port()));
    let result = server.finish(&FINISH).unwrap();
    assert_eq!(result["transactions"], 1);
    drop(proof);
}

#[test]
fn a_cancel_ends_both_sides() {
    let forever = json!({"duration_ns": HOUR_NS});
    for name in NAMES {
        let server = serve(name, V4, &forever);
        let port = server.port();
        assert_eq!(cancelled_run(name, port, forever.clone(), || ()).code, Code::Cancelled);
        drop(server);
        assert!(TcpStream::connect((V4, port)).is_err());
        assert_eq!(cancelled_finish(name, &forever).code, Code::Cancelled);
    }
}

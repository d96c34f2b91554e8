//! `tcp-stream` on loopback: what it counts, and what becomes of it when others misbehave.

use std::io::{Read, Write};
use std::thread;

use serde_json::{Value, json};
use sixbench_measure::clock;
use sixbench_traffic::{Cancel, Code};
use sixbench_wire::token::Token;

use crate::common::*;
use crate::peers::*;

const NAME: &str = "tcp-stream";
const WARMUP_NS: u64 = 50_000_000;

fn check_receiver(receiver: &Value) {
    let number = |key: &str| receiver[key].as_u64().unwrap_or_else(|| panic!("no {key} in {receiver}"));
    assert!(number("received_bytes") > number("measured_bytes"));
    assert!(number("reads") > 1);
    // It begins with the last read of the warm-up.
    assert!(number("measured_ns") <= number("ended_ns") - number("started_ns") + WARMUP_NS);
    assert_eq!(sum(&receiver["series"]["bytes"]) as u64, number("measured_bytes"));
    check_series(&receiver["series"]);
    check_cpu(receiver);
}

fn check_sender(sender: &Value) {
    check_series(&sender["series"]);
    check_cpu(sender);
    assert!(sender["tcp_info"]["rtt_ns"].as_u64().unwrap() > 0);
    assert!(sender["tcp_info"]["bytes_acked"].as_u64().unwrap() > 0);
    assert_eq!(sender["socket"]["congestion"], "cubic");
}

#[test]
fn for_a_time_in_each_direction() {
    for address in FAMILIES {
        for (direction, forward, reverse) in [("forward", 1, 0), ("reverse", 0, 1), ("both", 1, 1)] {
            let params = json!({
                "duration_ns": 600_000_000, "warmup_ns": WARMUP_NS, "interval_ns": 90_000_000,
                "streams": 2, "direction": direction,
            });
            let (client, server) = trial(NAME, address, &params);
            assert_eq!(client["connect_ns"].as_array().unwrap().len(), 2 * (forward + reverse));
            for (present, sender, receiver) in [
                (forward, client.get("forward_sender"), server.get("forward_receiver")),
                (reverse, server.get("reverse_sender"), client.get("reverse_receiver")),
            ] {
                assert_eq!((sender.is_some(), receiver.is_some()), (present == 1, present == 1), "{direction}");
                let (Some(sender), Some(receiver)) = (sender, receiver) else { continue };
                check_receiver(receiver);
                check_sender(sender);
                assert_eq!(receiver["streams"].as_array().unwrap().len(), 2);
                assert!(sender["sent_bytes"].as_u64().unwrap() >= receiver["received_bytes"].as_u64().unwrap());
                assert!(sender.get("transfer_ns").is_none());
                let window_ns = receiver["ended_ns"].as_u64().unwrap() - receiver["started_ns"].as_u64().unwrap();
                assert_eq!(window_ns, 600_000_000);
            }
            assert_eq!(server["strays"], json!({"connections": 0, "datagrams": 0}));
        }
    }
}

/// Parameters of a session that shares a window with `streams` in all.
fn sharing(name: &str, streams: u64, own: u64) -> Value {
    json!({
        "duration_ns": 100_000_000, "warmup_ns": WARMUP_NS, "interval_ns": 20_000_000, "rcvbuf_bytes": 65_536,
        "streams": own, "shared_window": name, "shared_streams": streams,
    })
}

fn edges_ns(receiver: &Value) -> [u64; 2] {
    [&receiver["started_ns"], &receiver["ended_ns"]].map(|edge| edge.as_u64().unwrap())
}

#[test]
fn the_window_of_several_sessions_opens_after_the_last_has_begun() {
    let servers = [(V4, 1), (V6, 2)].map(|(address, own)| serve(NAME, address, &sharing("late", 3, own)));
    let early = connect_saying(V4, servers[0].port(), &preamble(TOKEN, FORWARD, 0));
    // More than fits between both programs, so that the receiver has read some of it: it is at work.
    let more_than_fits = vec![0; 32 << 20];
    (&early).write_all(&more_than_fits).unwrap();
    let sending = thread::spawn(move || while (&early).write_all(&[0; 65_536]).is_ok() {});

    let late_ns = clock::monotonic_ns();
    run(NAME, V6, servers[1].port(), &sharing("late", 3, 2)).unwrap();
    sending.join().unwrap();
    let receivers = servers.map(|server| server.finish(&FINISH).unwrap()["forward_receiver"].clone());
    assert_eq!(edges_ns(&receivers[0]), edges_ns(&receivers[1]));
    let [opens_ns, closes_ns] = edges_ns(&receivers[0]);
    assert!(opens_ns > late_ns + WARMUP_NS);
    assert_eq!(closes_ns - opens_ns, 100_000_000);
    for receiver in &receivers {
        check_receiver(receiver);
        // A sample is due just before the window, and none was taken before the late session came.
        assert!(receiver["cpu"]["from"]["clock_ns"].as_u64().unwrap() > late_ns);
        let slots = receiver["series"]["t_ns"].as_array().unwrap();
        assert_eq!(slots.last(), Some(&json!(100_000_000)));
    }
    assert!(
        receivers[0]["received_bytes"].as_u64().unwrap() - sum(&receivers[0]["series"]["bytes"]) as u64 >= 32 << 20
    );
}

#[test]
fn each_direction_has_one_window_at_either_end() {
    let params = |own| {
        let mut params = sharing("both", 3, own);
        params["direction"] = json!("both");
        params
    };
    let servers = [(V4, 1), (V6, 2)].map(|(address, own)| (address, own, serve(NAME, address, &params(own))));
    let running = servers.map(|(address, own, server)| {
        let params = params(own);
        thread::spawn(move || (run(NAME, address, server.port(), &params).unwrap(), server.finish(&FINISH).unwrap()))
    });
    let [one, two] = running.map(|session| session.join().unwrap());
    for (one, two) in [
        (&one.0["reverse_receiver"], &two.0["reverse_receiver"]),
        (&one.1["forward_receiver"], &two.1["forward_receiver"]),
    ] {
        check_receiver(one);
        check_receiver(two);
        assert_eq!(edges_ns(one), edges_ns(two));
    }
    for (client, server) in [&one, &two] {
        check_sender(&client["forward_sender"]);
        check_sender(&server["reverse_sender"]);
    }
}

#[test]
fn a_session_that_waits_for_others_can_be_stopped() {
    let params = sharing("stopped", 2, 1);
    let server = serve(NAME, V4, &params);
    let port = server.port();
    // Its server has read, so that it waits for the other stream.
    let error = cancelled_run(NAME, port, params, || {
        let stream = connect_saying(V4, port, &preamble(Token([9; 16]), FORWARD, 0));
        wait_for_end(stream);
    });
    assert_eq!(error.code, Code::Cancelled);
    drop(server);
}

#[test]
fn so_many_bytes_and_not_one_more() {
    for address in FAMILIES {
        let params = json!({"bytes": 3_000_001, "message_bytes": 777, "streams": 3, "direction": "both"});
        let (client, server) = trial(NAME, address, &params);
        for (sender, receiver) in [
            (&client["forward_sender"], &server["forward_receiver"]),
            (&server["reverse_sender"], &client["reverse_receiver"]),
        ] {
            assert_eq!(sender["sent_bytes"], 3_000_001);
            assert_eq!(receiver["received_bytes"], 3_000_001);
            assert!(sender["transfer_ns"].as_u64().unwrap() >= receiver["measured_ns"].as_u64().unwrap());
            check_receiver(receiver);
            check_sender(sender);
        }
    }
}

#[test]
fn every_way_of_sending_and_receiving_on_any_number_of_threads() {
    for (address, send, receive, threads) in [
        (V4, "copy", "truncate", 1),
        (V6, "zerocopy", "copy", 2),
        (V4, "zerocopy", "truncate", 5),
        (V6, "splice", "copy", 3),
        (V4, "splice", "truncate", 64),
    ] {
        // Messages that do not begin with a page, and messages larger than a pipe.
        for message_bytes in [5_001, 3_000_000] {
            let params = json!({
                "bytes": 20_000_001, "message_bytes": message_bytes, "streams": 5, "direction": "both",
                "send": send, "receive": receive, "threads": threads,
            });
            let (client, server) = trial(NAME, address, &params);
            for (sender, receiver) in [
                (&client["forward_sender"], &server["forward_receiver"]),
                (&server["reverse_sender"], &client["reverse_receiver"]),
            ] {
                assert_eq!(
                    (&sender["sent_bytes"], &receiver["received_bytes"]),
                    (&json!(20_000_001), &json!(20_000_001))
                );
                let streams = receiver["streams"].as_array().unwrap();
                assert_eq!(streams.len(), 5);
                check_receiver(receiver);
                check_sender(sender);
                let sends = sender.get("zerocopy").map(|zerocopy| zerocopy["sends"].as_u64().unwrap());
                assert_eq!(sends.is_some(), send == "zerocopy");
                if let Some(sends) = sends {
                    // All was acknowledged; and on loopback the receiver's side of the kernel must have a copy.
                    let zerocopy = &sender["zerocopy"];
                    assert!(sends >= 20_000_001_u64.div_ceil(message_bytes));
                    assert_eq!((&zerocopy["completed"], &zerocopy["copied"]), (&json!(sends), &json!(sends)));
                }
            }
        }
    }
}

#[test]
fn what_is_spliced_is_what_is_written() {
    let mut received = Vec::new();
    for send in ["copy", "splice", "zerocopy"] {
        let (listener, port) = listen(V4);
        let peer = thread::spawn(move || {
            let (mut stream, _) = accept(&listener);
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        run(NAME, V4, port, &json!({"bytes": 10_000, "message_bytes": 10_000, "send": send})).unwrap();
        received.push(peer.join().unwrap());
    }
    assert_eq!(received[0].len(), 10_000);
    assert!(received.iter().all(|bytes| *bytes == received[0]));
}

#[test]
fn a_single_read_measures_nothing() {
    let (client, server) = trial(NAME, V4, &json!({"bytes": 1}));
    let receiver = &server["forward_receiver"];
    assert_eq!((&receiver["received_bytes"], &receiver["reads"]), (&json!(1), &json!(1)));
    assert_eq!((receiver.get("measured_bytes"), receiver.get("measured_ns")), (None, None));
    assert_eq!(client["forward_sender"]["sent_bytes"], 1);
}

#[test]
fn messages_larger_than_all_buffers() {
    // With loopback's MSS the send buffer would not hold a segment.
    let params = json!({"bytes": 20_000_000, "message_bytes": 16 << 20, "sndbuf_bytes": 8_192, "mss_bytes": 1_400});
    let (client, server) = trial(NAME, V4, &params);
    assert_eq!(client["forward_sender"]["sent_bytes"], 20_000_000);
    assert_eq!(server["forward_receiver"]["received_bytes"], 20_000_000);
}

#[test]
fn options_are_asked_for_and_what_was_granted_is_told() {
    let params = json!({
        "bytes": 1_000_000, "sndbuf_bytes": 100_000, "rcvbuf_bytes": 60_000, "mss_bytes": 600, "congestion": "reno",
        "nodelay": true,
    });
    let (client, server) = trial(NAME, V6, &params);
    for socket in [&client["forward_sender"]["socket"], &server["forward_receiver"]["socket"]] {
        assert_eq!((&socket["sndbuf_bytes"], &socket["rcvbuf_bytes"]), (&json!(200_000), &json!(120_000)));
        assert_eq!((&socket["congestion"], &socket["nodelay"]), (&json!("reno"), &json!(true)));
        assert!(socket["mss_bytes"].as_u64().unwrap() <= 600, "{socket}");
        assert!(socket.get("window_bytes").is_none());
    }
    let (_, server) = trial(NAME, V4, &json!({"bytes": 5_000_000, "window_bytes": 20_000, "mss_bytes": 1_400}));
    assert_eq!(server["forward_receiver"]["socket"]["window_bytes"], 20_000);
}

#[test]
fn unknown_congestion_control_is_an_error_of_the_system() {
    let error = run(NAME, V4, 1, &json!({"bytes": 1, "congestion": "nosuch"})).unwrap_err();
    assert_eq!(error.code, Code::System);
    assert!(error.to_string().starts_with("setting the congestion control `nosuch`"), "{error}");
}

#[test]
fn strays_are_counted_and_change_nothing() {
    for address in FAMILIES {
        let params = json!({"bytes": 1_000_000, "streams": 2, "direction": "both"});
        let server = serve(NAME, address, &params);
        let (ended, silent) = strays(address, server.port(), FORWARD);
        run(NAME, address, server.port(), &params).unwrap();
        let result = server.finish(&FINISH).unwrap();
        assert_eq!(result["forward_receiver"]["received_bytes"], 1_000_000);
        assert_eq!(result["strays"]["connections"], ended + silent.len() as u64);
    }
}

#[test]
fn many_silent_connections_do_not_keep_the_trial_out() {
    let params = json!({"bytes": 1_000});
    let server = serve(NAME, V4, &params);
    let silent: Vec<_> = (0..200).map(|_| connect(V4, server.port())).collect();
    run(NAME, V4, server.port(), &params).unwrap();
    let result = server.finish(&FINISH).unwrap();
    assert_eq!(result["forward_receiver"]["received_bytes"], 1_000);
    assert_eq!(result["strays"]["connections"], silent.len());
}

#[test]
fn a_stream_that_is_already_there_is_a_stray() {
    let server = serve(NAME, V4, &json!({"bytes": 100}));
    let mut stream = connect_saying(V4, server.port(), &preamble(TOKEN, FORWARD, 0));
    wait_for_end(connect_saying(V4, server.port(), &preamble(TOKEN, FORWARD, 0)));
    stream.write_all(&[0; 100]).unwrap();
    drop(stream);
    let result = server.finish(&FINISH).unwrap();
    assert_eq!(result["forward_receiver"]["received_bytes"], 100);
    assert_eq!(result["strays"]["connections"], 1);
}

#[test]
fn a_sender_that_vanishes_is_lost() {
    for (params, expected) in [
        (json!({"duration_ns": HOUR_NS}), "closed the connection after 5000 bytes, before the end"),
        (json!({"bytes": 5_001}), "closed the connection after 5000 of 5001 bytes"),
    ] {
        let server = serve(NAME, V4, &params);
        let mut stream = connect_saying(V4, server.port(), &preamble(TOKEN, FORWARD, 0));
        stream.write_all(&[0; 5_000]).unwrap();
        drop(stream);
        let error = server.finish(&FINISH).unwrap_err();
        assert_eq!(error.code, Code::PeerLost);
        assert_eq!(error.to_string(), format!("receiving from 127.0.0.1: the peer {expected}"));
    }
    let server = serve(NAME, V4, &json!({"bytes": 5_001, "streams": 2}));
    reset(connect_saying(V4, server.port(), &preamble(TOKEN, FORWARD, 0)));
    assert_eq!(server.finish(&FINISH).unwrap_err().code, Code::PeerLost);
}

#[test]
fn a_receiver_that_vanishes_is_lost() {
    for params in [json!({"duration_ns": HOUR_NS}), json!({"bytes": 1_u64 << 40})] {
        let (listener, port) = listen(V4);
        let peer = thread::spawn(move || {
            let (mut stream, start) = accept(&listener);
            stream.read_exact(&mut [0; 100_000]).unwrap();
            reset(stream);
            start
        });
        let error = run(NAME, V4, port, &params).unwrap_err();
        assert_eq!(error.code, Code::PeerLost, "{error}");
        assert_eq!(peer.join().unwrap(), preamble(TOKEN, FORWARD, 0));
    }
}

#[test]
fn a_client_that_receives_sees_its_peer_vanish() {
    let (listener, port) = listen(V6);
    let peer = thread::spawn(move || {
        let (mut stream, start) = accept(&listener);
        stream.write_all(&[0; 1_000]).unwrap();
        start
    });
    let error = run(NAME, V6, port, &json!({"bytes": 1_001, "direction": "reverse"})).unwrap_err();
    assert_eq!(error.code, Code::PeerLost, "{error}");
    assert_eq!(peer.join().unwrap(), preamble(TOKEN, REVERSE, 0));
}

#[test]
fn a_cancel_ends_both_sides() {
    let forever = json!({"duration_ns": HOUR_NS, "streams": 2});
    let (listener, port) = listen(V4);
    let error = cancelled_run(NAME, port, forever.clone(), || {
        let (mut stream, _) = accept(&listener);
        stream.read_exact(&mut [0; 1_000]).unwrap();
        // Its end would be another reason to end.
        std::mem::forget(stream);
    });
    assert_eq!(error.code, Code::Cancelled);
    assert_eq!(cancelled_finish(NAME, &forever).code, Code::Cancelled);
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let server = serve(NAME, V4, &json!({"duration_ns": HOUR_NS}));
    let port = server.port();
    let mut stream = connect_saying(V4, port, &preamble(TOKEN, FORWARD, 0));
    stream.write_all(&[0; 1_000]).unwrap();
    drop(server);
    wait_for_end(stream);
    assert!(std::net::TcpStream::connect((V4, port)).is_err());
}

#[test]
fn what_arrives_is_counted_for_whoever_asks_meanwhile() {
    let params = json!({"bytes": 1 << 20, "streams": 3, "threads": 2, "direction": "reverse"});
    let server = serve("tcp-stream", V6, &params);
    let client = endpoint(V6, server.port());
    let result = workload("tcp-stream").run(&client, &params, &Cancel::default()).unwrap();
    server.finish(&FINISH).unwrap();
    assert_eq!(client.progress.arrived().unwrap().bytes, 1 << 20);
    assert_eq!(result["reverse_receiver"]["received_bytes"], 1 << 20);
    assert!(json!(client.progress.tally()).get("sending").is_none(), "it only receives");
}

#[test]
fn how_senders_fare_is_told_to_whoever_asks_meanwhile() {
    let params = json!({"duration_ns": 30_000_000, "warmup_ns": 10_000_000, "interval_ns": 10_000_000, "streams": 2});
    let server = serve("tcp-stream", V6, &params);
    let client = endpoint(V6, server.port());
    let result = workload("tcp-stream").run(&client, &params, &Cancel::default()).unwrap();
    server.finish(&FINISH).unwrap();
    let progress = json!(client.progress.tally());
    let series = &result["forward_sender"]["series"];
    let last = series["t_ns"].as_array().unwrap().len() - 1;
    for name in ["t_ns", "rtt_ns", "cwnd_packets"] {
        assert_eq!(progress["sending"][name], series[name][last], "{name}");
    }
    assert_eq!(progress["sending"]["retransmits"], sum(&series["retransmits"]));
}

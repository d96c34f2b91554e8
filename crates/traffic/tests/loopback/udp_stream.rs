//! `udp-stream` on loopback, in both families.

use std::net::IpAddr;

use crate::common::{
    FAMILIES, HOUR_NS, MS, TOKEN, V4, datagram, deserted, endpoint, finish, number, run, serve, stranger, sum, trial,
    workload,
};
use serde_json::{Value, json};
use sixbench_traffic::{Cancel, Code, Finish};

const NOW: Finish = Finish { sent: None, timeout_ns: 0, first_silence_ns: None };

/// sent = unique + lost in the middle + lost at the tail, and whatever else must agree.
fn check_ledger(client: &Value, server: &Value) {
    let (sent, unique) = (number(client, "sent"), number(server, "unique"));
    assert_eq!(sent, unique + number(server, "lost_middle") + number(server, "lost_tail"), "{client} {server}");
    assert_eq!(number(server, "received"), unique + number(server, "duplicates"));
    assert_eq!(sum(&server["series"]["datagrams"]), unique as i64);
    assert_eq!(sum(&server["series"]["bytes"]), number(server, "unique_bytes") as i64);
    assert_eq!(sum(&server["series"]["lost_middle"]), number(server, "lost_middle") as i64);
    assert_eq!(number(&server["one_way_delay"], "count"), unique - number(server, "one_way_delay_negative"));
    assert_eq!(number(&server["pdv"], "count"), unique);
    assert_eq!(server["strays"]["datagrams"], 0);
}

#[test]
fn a_paced_flow_arrives_whole() {
    for address in FAMILIES {
        let params = json!({"datagram_bytes": 200, "rate_pps": 2000, "count": 400, "warmup_ns": 50 * MS, "interval_ns": 20 * MS});
        let (client, server) = trial("udp-stream", address, &params);
        check_ledger(&client, &server);
        assert_eq!((number(&client, "sent"), number(&client, "sent_bytes")), (400, 80_000));
        assert_eq!((number(&server, "unique"), number(&server, "highest_sequence")), (400, 399));
        assert_eq!(number(&server, "measured_bytes"), 399 * 200);
        assert_eq!(number(&server, "warmup_received"), number(&client, "warmup_sent"));
        assert_eq!(number(&client, "warmup_sent"), 100);
        assert_eq!(number(&client["lateness"], "count"), 400);
        assert_eq!(number(&server["ipdv"], "count"), 399);
        assert_eq!(number(&server, "socket_drops"), 0);
        assert!(client["send_errors"].as_object().unwrap().is_empty());
        assert!(server["socket"]["rcvbuf_bytes"].is_u64() && server["cpu"]["to"]["clock_ns"].is_u64());
        assert_eq!(number(&server, "ended_ns") - number(&server, "started_ns"), number(&server, "measured_ns"));
    }
}

#[test]
fn each_limit_ends_the_flow() {
    for address in FAMILIES {
        for (params, sent) in [
            (json!({"datagram_bytes": 100, "bytes": 1001}), Some(11)),
            (json!({"datagram_bytes": 100, "count": 1}), Some(1)),
            (json!({"datagram_bytes": 1000, "rate_bps": 8_000_000, "duration_ns": 50 * MS}), Some(50)),
            (json!({"datagram_bytes": 32, "duration_ns": 30 * MS}), None),
        ] {
            let (client, server) = trial("udp-stream", address, &params);
            check_ledger(&client, &server);
            assert!(sent.is_none_or(|sent| number(&client, "sent") == sent), "{params} {client}");
            assert_eq!(client.get("lateness").is_some(), params.get("rate_bps").is_some());
            // The window of one datagram is a moment.
            assert_eq!(number(&client, "measured_ns") == 0, number(&client, "sent") == 1);
            assert_eq!(number(&server, "measured_ns") == 0, number(&server, "unique") == 1);
        }
    }
}

#[test]
fn super_packets_are_made_where_they_are_asked_for_and_every_datagram_counts() {
    for address in FAMILIES {
        let params = json!({"datagram_bytes": 200, "count": 1_000, "segmentation": "always", "warmup_ns": MS});
        let (client, server) = trial("udp-stream", address, &params);
        check_ledger(&client, &server);
        assert_eq!((number(&client, "sent"), number(&server, "unique")), (1_000, 1_000));
        let (sending, receiving) = (&client["sending"], &server["receiving"]);
        assert_eq!(
            (&sending["segments"], &sending["batch"], &sending["super_packets"]),
            (&64.into(), &64.into(), &true.into())
        );
        assert_eq!((number(sending, "calls"), number(receiving, "super_packets")), (16, 16));
        assert_eq!(number(receiving, "joined_datagrams"), 1_000);
    }
}

#[test]
fn loopback_takes_super_packets_so_that_unasked_there_are_none() {
    for address in FAMILIES {
        for (params, segments) in [
            (json!({"datagram_bytes": 64, "count": 100}), 1),
            (json!({"datagram_bytes": 64, "count": 100, "segmentation": "never", "batch": 10}), 1),
            (json!({"datagram_bytes": 64, "count": 100, "segmentation": "always", "batch": 10}), 10),
        ] {
            let (client, server) = trial("udp-stream", address, &params);
            let calls = if params.get("batch").is_some() { 10 } else { 25 };
            assert_eq!(
                (number(&client["sending"], "segments"), number(&client["sending"], "calls")),
                (segments, calls)
            );
            let super_packets = number(&server["receiving"], "super_packets");
            assert_eq!(super_packets, if segments > 1 { 10 } else { 0 });
            assert_eq!(number(&server, "unique"), 100);
        }
    }
}

#[test]
fn what_cannot_be_cut_is_refused_when_asked_for() {
    for address in FAMILIES {
        let mut params = json!({"datagram_bytes": 65_527, "count": 1, "segmentation": "always"});
        if address.is_ipv4() {
            params = json!({"rate_pps": 1000, "count": 1, "segmentation": "always", "sizes": "uniform", "sizes_min_bytes": 100, "sizes_max_bytes": 200});
        }
        let error = run("udp-stream", address, 9, &params).unwrap_err();
        assert_eq!(error.code, Code::BadParams, "{error}");
    }
}

#[test]
fn a_paced_flow_knows_what_its_times_are_worth() {
    for address in FAMILIES {
        let params = json!({"datagram_bytes": 64, "rate_pps": 1000, "count": 200});
        let (client, server) = trial("udp-stream", address, &params);
        assert_eq!((number(&client["sending"], "batch"), number(&client["sending"], "calls")), (1, 200));
        let times = &client["timestamping"];
        assert_eq!(number(&times["clock_reading"], "count"), 1_000);
        assert_eq!(number(&server["timestamping"]["clock_reading"], "count"), 1_000);
        let (to_queue, to_device) = (number(&times["to_queue"], "count"), number(&times["to_device"], "count"));
        assert!(to_queue > 0 && to_queue == to_device, "{times}");
        assert!(number(&times["to_queue"], "min") <= number(&times["to_device"], "min"), "{times}");
        assert!(number(&client["waits"], "spin_ns") <= 50_000);
        let (client, _) = trial("udp-stream", address, &json!({"datagram_bytes": 64, "count": 10}));
        assert!(client["timestamping"].get("to_queue").is_none() && client.get("waits").is_none());
    }
}

#[test]
fn a_flow_may_be_paced_without_spinning() {
    for address in FAMILIES {
        let params = json!({"datagram_bytes": 64, "rate_pps": 2000, "count": 50, "spin_ns": 0});
        let (client, server) = trial("udp-stream", address, &params);
        check_ledger(&client, &server);
        assert_eq!((number(&client["waits"], "spin_ns"), number(&client["waits"], "spun_ns")), (0, 0));
    }
}

#[test]
fn the_largest_datagrams_are_fragmented_and_come_whole() {
    for (address, datagram_bytes) in FAMILIES.into_iter().zip([65_507, 65_527]) {
        let (client, server) =
            trial("udp-stream", address, &json!({"datagram_bytes": datagram_bytes, "rate_pps": 1000, "count": 20}));
        check_ledger(&client, &server);
        assert_eq!(number(&server, "unique"), 20);
        assert_eq!(number(&server, "unique_bytes"), 20 * datagram_bytes);
    }
}

#[test]
fn what_a_small_buffer_drops_is_in_the_ledger_and_in_the_drops() {
    for address in FAMILIES {
        let params = json!({"datagram_bytes": 32, "count": 50_000, "rcvbuf_bytes": 2304});
        let (client, server) = trial("udp-stream", address, &params);
        check_ledger(&client, &server);
        assert_eq!(number(&client, "sent") - number(&server, "unique"), number(&server, "socket_drops"));
    }
}

#[test]
fn strays_are_counted_apart() {
    for address in FAMILIES {
        let server = serve("udp-stream", address, &json!({"datagram_bytes": 100, "count": 10}));
        let socket = stranger(address, server.port());
        let good = |sequence| datagram(TOKEN.short(), sequence, 100);
        for bytes in [
            datagram(TOKEN.short() ^ 1, 0, 100),
            good(10),
            good(u64::MAX),
            good(0)[..99].to_vec(),
            [good(0), vec![0]].concat(),
            Vec::new(),
            vec![0xff; 100],
        ] {
            socket.send(&bytes).unwrap();
        }
        // Numbers 1, 2, 3 and 7 to 9 are missing; 5 comes twice and after 6.
        for sequence in [0, 4, 6, 5, 5] {
            socket.send(&good(sequence)).unwrap();
        }
        let result = finish(server, Some(10));
        assert_eq!(result["strays"], json!({"connections": 0, "datagrams": 7}));
        for (name, value) in
            [("received", 5), ("unique", 4), ("duplicates", 1), ("reordered", 1), ("lost_middle", 3), ("lost_tail", 3)]
        {
            assert_eq!(number(&result, name), value, "{name}");
        }
    }
}

#[test]
fn what_is_in_the_socket_at_the_end_is_counted() {
    for address in FAMILIES {
        let server = serve("udp-stream", address, &json!({"datagram_bytes": 100, "count": 10}));
        let socket = stranger(address, server.port());
        // The server has all that were sent long before it has taken the last duplicate.
        for number in 0..1_000 {
            socket.send(&datagram(TOKEN.short(), number % 10, 100)).unwrap();
        }
        let result = finish(server, Some(10));
        assert_eq!((number(&result, "unique"), number(&result, "duplicates")), (10, 990));
    }
}

#[test]
fn datagrams_of_another_address_are_strays() {
    let address: IpAddr = [127, 0, 0, 1].into();
    let mut here = endpoint(address, 0);
    here.peer = [127, 0, 0, 2].into();
    let params = json!({"datagram_bytes": 100, "count": 10});
    let server = workload("udp-stream").serve(&here, &params, &Cancel::default()).unwrap();
    let socket = stranger(address, server.port());
    socket.send(&datagram(TOKEN.short(), 0, 100)).unwrap();
    let result = server.finish(&Finish { sent: None, timeout_ns: 100 * MS, first_silence_ns: None }).unwrap();
    assert_eq!((number(&result, "received"), &result["strays"]["datagrams"]), (0, &json!(1)));
}

#[test]
fn nothing_came() {
    for address in FAMILIES {
        let server = serve("udp-stream", address, &json!({"datagram_bytes": 100, "count": 10}));
        let result = server.finish(&Finish { sent: Some(10), timeout_ns: MS, first_silence_ns: None }).unwrap();
        assert_eq!((number(&result, "received"), number(&result, "lost_tail")), (0, 10));
        for absent in ["highest_sequence", "measured_ns", "started_ns", "cpu", "jitter_rfc3550_ns"] {
            assert!(result.get(absent).is_none(), "{absent}");
        }
        assert_eq!(result["one_way_delay"], json!({"unit": "ns", "count": 0, "buckets": []}));
    }
}

#[test]
fn a_first_datagram_is_waited_for_as_long_as_finish_says() {
    let address = V4;
    let server = serve("udp-stream", address, &json!({"datagram_bytes": 100, "count": 1}));
    let socket = stranger(address, server.port());
    std::thread::scope(|scope| {
        let hour = Some(HOUR_NS);
        let finish = Finish { sent: Some(1), timeout_ns: u64::MAX, first_silence_ns: hour };
        let finish = scope.spawn(move || server.finish(&finish));
        // A server that knows nothing of the path would have given up after 2 s.
        std::thread::sleep(std::time::Duration::from_millis(2_200));
        socket.send(&datagram(TOKEN.short(), 0, 100)).unwrap();
        assert_eq!(number(&finish.join().unwrap().unwrap(), "unique"), 1);
    });
}

#[test]
fn a_server_that_is_gone_is_a_send_error_and_no_datagram() {
    for address in FAMILIES {
        let (_holder, port) = deserted(address);
        let params = json!({"datagram_bytes": 100, "rate_pps": 1000, "duration_ns": 100 * MS});
        let result = run("udp-stream", address, port, &params).unwrap();
        let refused = number(&result["send_errors"], "ECONNREFUSED");
        assert!(refused > 0);
        assert_eq!(number(&result, "sent") + refused + number(&result, "unsent"), 100);
    }
}

#[test]
fn a_dropped_server_frees_its_port() {
    for address in FAMILIES {
        let server = serve("udp-stream", address, &json!({"datagram_bytes": 100, "count": 10}));
        let port = server.port();
        drop(server);
        std::net::UdpSocket::bind(std::net::SocketAddr::new(address, port)).unwrap();
    }
}

#[test]
fn a_second_trial_is_not_disturbed_by_a_finished_one() {
    for address in FAMILIES {
        let params = json!({"datagram_bytes": 100, "count": 10});
        serve("udp-stream", address, &params).finish(&NOW).unwrap();
        let (client, server) = trial("udp-stream", address, &params);
        check_ledger(&client, &server);
    }
}

#[test]
fn what_arrives_is_counted_for_whoever_asks_meanwhile() {
    for address in FAMILIES {
        let endpoint = endpoint(address, 0);
        let workload = workload("udp-stream");
        let params = json!({"datagram_bytes": 200, "rate_pps": 2000, "count": 100, "warmup_ns": 10 * MS});
        let server = workload.serve(&endpoint, &params, &Cancel::default()).unwrap();
        let client = run("udp-stream", address, server.port(), &params).unwrap();
        let result = finish(server, client["sent"].as_u64());
        let arrived = endpoint.progress.arrived().unwrap();
        assert_eq!(arrived.bytes, number(&result, "unique_bytes"));
        assert!(arrived.first_ns > 0);
        let datagrams = &json!(endpoint.progress.tally())["datagrams"];
        for name in ["unique", "lost_middle", "jitter_rfc3550_ns"] {
            assert_eq!(datagrams[name], result[name], "{name}");
        }
        assert!(datagrams["jitter_rfc3550_ns"].as_f64().unwrap() > 0.0);
    }
}

//! `udp-rr` on loopback, in both families.

use crate::common::{
    FAMILIES, HOUR_NS, MS, TOKEN, datagram, deserted, endpoint, finish, number, run, serve, silent, stranger, trial,
    workload,
};
use serde_json::json;
use sixbench_traffic::datagram::Header;
use sixbench_traffic::{Cancel, Code};

#[test]
fn a_count_of_transactions() {
    for address in FAMILIES {
        let params = json!({"message_bytes": 33, "response_bytes": 9000, "count": 500, "warmup_ns": 20 * MS});
        let (client, server) = trial("udp-rr", address, &params);
        for (name, value) in [("transactions", 500), ("lost", 0), ("late", 0)] {
            assert_eq!(number(&client, name), value, "{name}");
        }
        assert!(number(&client, "warmup_transactions") > 0);
        assert_eq!(number(&server, "transactions"), 500);
        assert_eq!(number(&client["rtt"], "count"), 500);
        assert_eq!(number(&client["rtt_jitter"], "count"), 499);
        let series = client["series"]["transactions"].as_array().unwrap();
        assert_eq!(series.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 500);
        assert_eq!(number(&client, "ended_ns") - number(&client, "started_ns"), number(&client, "measured_ns"));
        assert!(server["cpu"]["to"].is_object() && client["errors"].as_object().unwrap().is_empty());
    }
}

#[test]
fn both_sides_may_spin() {
    for address in FAMILIES {
        let params = json!({"count": 500, "warmup_ns": 5 * MS, "busy_poll": true});
        let (client, server) = trial("udp-rr", address, &params);
        assert_eq!((number(&client, "transactions"), number(&client, "lost")), (500, 0));
        assert_eq!(number(&server, "transactions"), 500);
        assert!(server["cpu"]["to"].is_object() && client["errors"].as_object().unwrap().is_empty());
        let (_silent, port) = silent(address);
        let params = json!({"count": 3, "timeout_ns": 5 * MS, "busy_poll": true});
        let client = run("udp-rr", address, port, &params).unwrap();
        assert_eq!((number(&client, "transactions"), number(&client, "lost")), (0, 3));
    }
}

#[test]
fn a_time_of_transactions_of_the_largest_size() {
    for (address, bytes) in FAMILIES.into_iter().zip([65_507, 65_527]) {
        let (client, server) = trial("udp-rr", address, &json!({"message_bytes": bytes, "duration_ns": 30 * MS}));
        assert!(number(&client, "measured_ns") >= 30 * MS);
        assert_eq!(number(&client, "transactions"), number(&server, "transactions"));
    }
}

#[test]
fn a_peer_that_is_silent_loses_every_request() {
    for address in FAMILIES {
        let (_silent, port) = silent(address);
        let params = json!({"count": 3, "timeout_ns": 5 * MS});
        let client = run("udp-rr", address, port, &params).unwrap();
        assert_eq!((number(&client, "transactions"), number(&client, "lost")), (0, 3));
        assert!(number(&client, "measured_ns") >= 15 * MS);
        assert_eq!(client["rtt"]["count"], 0);
    }
}

#[test]
fn a_peer_that_is_gone_shows_in_the_errors() {
    for address in FAMILIES {
        let (_holder, port) = deserted(address);
        let client = run("udp-rr", address, port, &json!({"count": 2, "timeout_ns": 5 * MS})).unwrap();
        assert_eq!((number(&client, "transactions"), number(&client, "lost")), (0, 2));
        assert!(number(&client["errors"], "ECONNREFUSED") > 0);
    }
}

/// A peer that answers as it is told: for each request, these datagrams.
fn peer(address: std::net::IpAddr, answers: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> u16 {
    let (socket, port) = silent(address);
    std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
            for answer in answers(&buffer[..bytes]) {
                if socket.send_to(&answer, from).is_err() {
                    return;
                }
            }
        }
    });
    port
}

#[test]
fn only_the_answer_to_the_request_counts() {
    for address in FAMILIES {
        let port = peer(address, |request| {
            let asked = Header::decode(request).unwrap();
            let answer = |header: Header| {
                let mut bytes = header.encode().to_vec();
                bytes.resize(64, 0);
                bytes
            };
            vec![
                answer(Header { token: asked.token ^ 1, ..asked }),
                answer(asked)[..63].to_vec(),
                [answer(asked), vec![0]].concat(),
                answer(Header { sequence: asked.sequence + 1, ..asked }),
                answer(asked),
                // This one comes when the next is asked.
                answer(asked),
            ]
        });
        let client = run("udp-rr", address, port, &json!({"count": 10, "timeout_ns": 10_000 * MS})).unwrap();
        assert_eq!((number(&client, "transactions"), number(&client, "lost")), (10, 0));
        assert_eq!((number(&client, "late"), &client["strays"]["datagrams"]), (9, &json!(40)));
    }
}

#[test]
fn a_server_answers_its_peer_alone() {
    for address in FAMILIES {
        let server = serve("udp-rr", address, &json!({"count": 1}));
        let socket = stranger(address, server.port());
        for (token, bytes) in [(TOKEN.short() ^ 1, 64), (TOKEN.short(), 63), (TOKEN.short(), 65), (TOKEN.short(), 64)] {
            socket.send(&datagram(token, 3, bytes)).unwrap();
        }
        // Datagrams on loopback keep their order: the only answer is to the last.
        let mut answer = [0; 100];
        assert_eq!(socket.recv(&mut answer).unwrap(), 64);
        assert_eq!(Header::decode(&answer).unwrap().sequence, 3);
        let result = finish(server, None);
        assert_eq!((number(&result, "transactions"), &result["strays"]["datagrams"]), (1, &json!(3)));
    }
}

#[test]
fn requests_in_the_socket_at_the_end_are_answered() {
    for address in FAMILIES {
        let server = serve("udp-rr", address, &json!({"count": 1}));
        let socket = stranger(address, server.port());
        for sequence in 0..200 {
            socket.send(&datagram(TOKEN.short(), sequence, 64)).unwrap();
        }
        let result = finish(server, None);
        assert_eq!((number(&result, "transactions"), number(&result, "unanswered")), (200, 0));
    }
}

#[test]
fn a_client_that_waits_in_vain_can_be_cancelled() {
    for address in FAMILIES {
        let (silent, port) = silent(address);
        let cancel = Cancel::default();
        let params = json!({"count": 1, "timeout_ns": HOUR_NS});
        std::thread::scope(|scope| {
            let client = scope.spawn(|| workload("udp-rr").run(&endpoint(address, port), &params, &cancel));
            silent.recv(&mut [0; 64]).unwrap();
            cancel.raise();
            assert_eq!(client.join().unwrap().unwrap_err().code, Code::Cancelled);
        });
    }
}

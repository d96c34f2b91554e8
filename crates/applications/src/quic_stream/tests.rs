use std::net::UdpSocket;

use serde_json::json;
use sixbench_traffic::{Cancel, Code, Workload};

use super::QuicStream;
use crate::loopback::{LOOPBACK, endpoint, trial};
use sixbench_traffic::params::SECOND_NS;

#[test]
fn all_bytes_arrive_by_each_congestion_control() {
    for address in LOOPBACK {
        for congestion in ["cubic", "bbr", "newreno"] {
            let params = json!({"bytes": 2_000_001, "congestion": congestion});
            let (client, server) = trial(&QuicStream, address, &params);
            assert_eq!((&client["sent_bytes"], &server["received_bytes"]), (&json!(2_000_001), &json!(2_000_001)));
            assert_eq!(server["measured_bytes"], 2_000_001);
            assert!(server["received_datagram_bytes"].as_u64().unwrap() > 2_000_001);
        }
    }
}

#[test]
fn a_duration_has_a_window_of_that_length_after_the_warm_up() {
    let params = json!({"duration_ns": SECOND_NS / 5, "warmup_ns": SECOND_NS / 20, "interval_ns": SECOND_NS / 10});
    let (client, server) = trial(&QuicStream, LOOPBACK[1], &params);
    assert_eq!(server["measured_ns"], SECOND_NS / 5);
    assert!(server["measured_bytes"].as_u64() < server["received_bytes"].as_u64());
    assert!(server["received_bytes"].as_u64() <= client["sent_bytes"].as_u64());
    assert_eq!(server["series"]["t_ns"], json!([SECOND_NS / 10, SECOND_NS / 5]));
}

#[test]
fn datagrams_grow_to_the_largest_that_is_looked_for_at_most() {
    for largest in [1_200, 1_300, 1_472] {
        let params = json!({"bytes": 3_000_000, "largest_datagram_bytes": largest});
        let (client, _) = trial(&QuicStream, LOOPBACK[0], &params);
        let changes = client["datagram_changes"].as_array().unwrap();
        let sizes: Vec<u64> = changes.iter().map(|change| change["datagram_bytes"].as_u64().unwrap()).collect();
        assert!(sizes.is_sorted() && sizes.iter().all(|size| (1_201..=largest).contains(size)), "{sizes:?}");
        assert_eq!(client["datagram_bytes"], sizes.last().copied().unwrap_or(1_200));
    }
}

#[test]
fn a_silent_server_ends_the_trial_with_its_reason() {
    let silent = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
    let authority = crate::certificates::chain("a.sixbench.test", 1_536).unwrap().authority;
    let client = endpoint(LOOPBACK[0], silent.local_addr().unwrap().port(), Some(authority));
    let params = json!({"bytes": 1, "timeout_ns": SECOND_NS / 10});
    let error = Workload::run(&QuicStream, &client, &params, &Cancel::default()).unwrap_err();
    assert!(matches!(error.code, Code::Timeout | Code::PeerLost), "{error}");
    assert!(error.to_string().starts_with("sending by QUIC to 127.0.0.1"), "{error}");
}

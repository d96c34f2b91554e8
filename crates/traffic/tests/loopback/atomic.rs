//! `df` `atomic`: datagrams as atomic fragments (RFC 6946), taken by an ordinary UDP socket.

use crate::common::{MS, V6, number, run, serve, trial};
use serde_json::{Value, json};
use sixbench_traffic::Finish;

/// The largest payload with an MTU of 65536: what the IPv6, Fragment and UDP headers leave.
const MOST_BYTES: u64 = 65_536 - 40 - 8 - 8;

#[test]
fn every_datagram_arrives_with_its_number_and_its_bytes() {
    for params in [
        json!({"datagram_bytes": 32, "count": 50}),
        json!({"datagram_bytes": 1401, "count": 50, "rate_pps": 5000, "warmup_ns": 5 * MS}),
        json!({"datagram_bytes": MOST_BYTES, "count": 20, "rate_pps": 1000}),
        json!({"sizes": "uniform", "sizes_min_bytes": 32, "sizes_max_bytes": 1500, "count": 50, "rate_pps": 5000}),
    ] {
        let (client, server) = trial("udp-stream", V6, &with_atomic(&params));
        let count = number(&params, "count");
        assert_eq!((number(&client, "sent"), number(&server, "unique")), (count, count), "{params}");
        assert_eq!(server["unique_bytes"], client["sent_bytes"], "{params}");
        assert_eq!((number(&client, "refused"), &client["send_errors"]), (0, &json!({})));
        assert_eq!(number(&client["sending"], "segments"), 1);
    }
}

#[test]
fn what_exceeds_the_mtu_with_its_fragment_header_is_refused() {
    let params = json!({"datagram_bytes": MOST_BYTES + 1, "count": 20, "rate_pps": 1000, "df": "atomic"});
    let server = serve("udp-stream", V6, &params);
    let client = run("udp-stream", V6, server.port(), &params).unwrap();
    assert_eq!((number(&client, "sent"), number(&client, "refused")), (0, 20));
    assert_eq!((&client["send_errors"], &client["errors"]), (&json!({}), &json!({})));
}

#[test]
fn both_ends_can_send_them() {
    let params = json!({"direction": "both", "datagram_bytes": 500, "count": 30, "rate_pps": 3000, "df": "atomic"});
    let (client, server) = trial("udp-stream", V6, &params);
    for (sender, receiver) in [
        (&client["forward_sender"], &server["forward_receiver"]),
        (&server["reverse_sender"], &client["reverse_receiver"]),
    ] {
        assert_eq!((number(sender, "sent"), number(receiver, "unique")), (30, 30));
    }
}

#[test]
fn errors_about_them_come_to_the_flow() {
    let params = json!({"datagram_bytes": 100, "count": 5, "rate_pps": 1000, "df": "atomic"});
    let server = serve("udp-stream", V6, &params);
    let port = server.port();
    server.finish(&Finish { sent: Some(0), timeout_ns: 0, first_silence_ns: Some(MS) }).unwrap();
    let client = run("udp-stream", V6, port, &params).unwrap();
    assert_eq!((number(&client, "sent"), &client["errors"]), (5, &json!({"destination-unreachable": 5})));
}

fn with_atomic(params: &Value) -> Value {
    let mut params = params.clone();
    params["df"] = "atomic".into();
    params
}

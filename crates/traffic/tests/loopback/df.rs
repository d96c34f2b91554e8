//! Datagrams that may not be fragmented, on loopback: its MTU is 65536, so that only IPv6 has datagrams that do not
//! fit.

use crate::common::{FAMILIES, MS, V6, number, run, serve, trial};
use serde_json::json;
use sixbench_traffic::Finish;

#[test]
fn a_flow_of_refused_datagrams_ends_and_has_sent_nothing() {
    for df in ["set", "probe"] {
        let params = json!({"datagram_bytes": 65_527, "count": 20, "rate_pps": 1000, "warmup_ns": 5 * MS, "df": df});
        let server = serve("udp-stream", V6, &params);
        let client = run("udp-stream", V6, server.port(), &params).unwrap();
        assert_eq!((number(&client, "sent"), number(&client, "refused")), (0, 20), "{df}");
        assert_eq!((&client["send_errors"], &client["errors"]), (&json!({}), &json!({})));
        drop(server);
        let unpaced = json!({"datagram_bytes": 65_527, "duration_ns": 20 * MS, "df": df});
        let client = run("udp-stream", V6, 9, &unpaced).unwrap();
        assert_eq!(number(&client, "sent"), 0);
        assert!(number(&client, "refused") > 0);
    }
}

#[test]
fn what_fits_goes_whatever_the_policy() {
    for address in FAMILIES {
        for df in ["clear", "set", "probe", "kernel"] {
            let params = json!({"datagram_bytes": 1400, "count": 50, "df": df});
            let (client, server) = trial("udp-stream", address, &params);
            assert_eq!((number(&client, "sent"), number(&server, "unique")), (50, 50));
            assert_eq!(client.get("refused").is_some(), df != "clear");
            let (client, _) = trial("udp-rr", address, &json!({"message_bytes": 1400, "count": 5, "df": df}));
            assert_eq!((number(&client, "transactions"), number(&client, "lost")), (5, 0));
        }
    }
}

#[test]
fn a_request_that_is_refused_is_not_lost() {
    let params = json!({"message_bytes": 65_527, "response_bytes": 64, "count": 3, "df": "set"});
    let (client, server) = trial("udp-rr", V6, &params);
    assert_eq!((number(&client, "transactions"), number(&client, "lost"), number(&client, "refused")), (0, 0, 3));
    assert_eq!((number(&server, "transactions"), &client["errors"]), (0, &json!({})));
    // The answer may be refused too; then the request is lost.
    let params = json!({"response_bytes": 65_527, "count": 2, "df": "set", "timeout_ns": 10 * MS});
    let (client, server) = trial("udp-rr", V6, &params);
    assert_eq!((number(&client, "lost"), number(&client, "refused"), number(&server, "unanswered")), (2, 0, 2));
}

#[test]
fn errors_of_a_peer_that_is_gone_have_their_icmp_names() {
    for address in FAMILIES {
        let server = serve("udp-rr", address, &json!({"count": 1}));
        let port = server.port();
        server.finish(&Finish::default()).unwrap();
        let params = json!({"count": 2, "timeout_ns": 5 * MS, "df": "probe"});
        let client = run("udp-rr", address, port, &params).unwrap();
        assert_eq!(number(&client, "lost"), 2);
        assert_eq!(client["errors"], json!({"destination-unreachable": 2}));
    }
}

#[test]
fn echo_requests_that_are_refused_end_the_ping() {
    for (df, refused) in [("set", 4), ("probe", 4), ("kernel", 0)] {
        let params = json!({"payload_bytes": 65_527, "count": 4, "interval_ns": MS, "df": df});
        let client = run("ping", V6, 0, &params).unwrap();
        assert_eq!((number(&client, "sent"), number(&client, "refused")), (4 - refused, refused), "{df}");
        assert_eq!(client["send_errors"], json!({}));
    }
}

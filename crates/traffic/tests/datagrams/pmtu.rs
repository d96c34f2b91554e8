//! `pmtu` on loopback, in both families: nothing is narrower than the interface.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use crate::common::{FAMILIES, TOKEN, endpoint, number, run, serve, stranger, trial};
use serde_json::{Value, json};
use sixbench_traffic::{Cancel, Finish, find};

const MS: u64 = 1_000_000;

#[test]
fn a_path_that_carries_what_its_interface_does() {
    // The largest packet of IPv4 is smaller than the MTU of loopback.
    for (address, largest) in FAMILIES.into_iter().zip([65_535, 65_536]) {
        let (client, server) = trial("pmtu", address, &json!({"forget": false}));
        for (result, direction) in [(&client, "forward"), (&server, "reverse")] {
            let found = &result[direction];
            assert_eq!(number(found, "probed_bytes"), largest, "{found}");
            assert_eq!(number(found, "interface_bytes"), largest);
            assert_eq!((number(found, "routers"), &found["probed"]["state"]), (0, &json!("search-complete")));
            assert!(number(found, "tcp_bytes") > 1500, "{found}");
            assert_eq!((&found["tcp"]["stalled"], &found["forgotten"]), (&json!(false), &json!(false)));
            assert!(found.get("limiting_hop").is_none() && found.get("black_hole").is_none());
            assert_eq!(number(result, "received_bytes"), 200 << 10);
            assert_eq!(result["strays"], json!({"connections": 0, "datagrams": 0}));
            assert!(result["cpu"]["to"].is_object());
        }
    }
}

#[test]
fn strangers_are_counted_and_disturb_nothing() {
    for address in FAMILIES {
        let params = json!({"forget": false});
        let server = serve("pmtu", address, &params);
        let socket = stranger(address, server.port());
        // Too short, of another token, of a kind that there is not.
        let mut message = [0; 100];
        for length in [0, 31, 32, 100] {
            socket.send(&message[..length]).unwrap();
        }
        message[..8].copy_from_slice(&TOKEN.0[..8]);
        socket.send(&message[..32]).unwrap();
        let mut silent = TcpStream::connect(SocketAddr::new(address, server.port())).unwrap();
        let mut other = TcpStream::connect(SocketAddr::new(address, server.port())).unwrap();
        other.write_all(&[7; 32]).unwrap();
        silent.write_all(&[1]).unwrap();
        let client = run("pmtu", address, server.port(), &params).unwrap();
        assert!(number(&client["forward"], "probed_bytes") > 65_000);
        let result = server.finish(&Finish { sent: None, timeout_ns: 10_000 * MS, first_silence_ns: None }).unwrap();
        assert_eq!(result["strays"], json!({"connections": 2, "datagrams": 5}));
        assert!(number(&result["reverse"], "probed_bytes") > 65_000);
    }
}

#[test]
fn cancel_ends_both_sides() {
    for address in FAMILIES {
        let cancel = Cancel::default();
        let workload = find("pmtu").unwrap();
        let params = json!({"transfer_bytes": 1 << 30, "forget": false});
        let server = workload.serve(&endpoint(address, 0), &params, &cancel).unwrap();
        let port = server.port();
        std::thread::scope(|scope| {
            let client = scope.spawn(|| workload.run(&endpoint(address, port), &params, &cancel));
            cancel.raise();
            assert_eq!(client.join().unwrap().unwrap_err().code(), "cancelled");
        });
        let finish = Finish { sent: None, timeout_ns: u64::MAX, first_silence_ns: None };
        assert_eq!(server.finish(&finish).unwrap_err().code(), "cancelled");
    }
}

#[test]
fn a_server_whose_client_never_comes_ends_at_its_timeout() {
    let server = serve("pmtu", FAMILIES[0], &Value::Object(Default::default()));
    let error = server.finish(&Finish { sent: None, timeout_ns: MS, first_silence_ns: None }).unwrap_err();
    assert_eq!(error.code(), "timeout");
    // One that nobody finishes ends when it is dropped.
    drop(serve("pmtu", FAMILIES[0], &Value::Object(Default::default())));
}

#[test]
fn a_client_whose_server_goes_has_lost_its_peer() {
    for address in FAMILIES {
        let server = serve("pmtu", address, &json!({}));
        let port = server.port();
        drop(server);
        let error = run("pmtu", address, port, &json!({"forget": false})).unwrap_err();
        assert_eq!(error.code(), "system");
        assert!(error.to_string().contains("connecting to"), "{error}");
    }
}

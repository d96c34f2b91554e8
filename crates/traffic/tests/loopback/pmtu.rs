//! `pmtu` on loopback, in both families: nothing is narrower than the interface.

use crate::common::{FAMILIES, TOKEN, finish, number, run, serve, stranger, trial};
use crate::peers::connect_saying;
use serde_json::json;

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
        let _silent = connect_saying(address, server.port(), &[1]);
        let _other = connect_saying(address, server.port(), &[7; 32]);
        let client = run("pmtu", address, server.port(), &params).unwrap();
        assert!(number(&client["forward"], "probed_bytes") > 65_000);
        let result = finish(server, None);
        assert_eq!(result["strays"], json!({"connections": 2, "datagrams": 5}));
        assert!(number(&result["reverse"], "probed_bytes") > 65_000);
    }
}

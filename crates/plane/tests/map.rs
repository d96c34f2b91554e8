//! MAP-E without a device: what a customer edge sends comes out of the border relay as it was, and nothing that the
//! rule does not allow.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use sixbench_plane::abi::Outcome;
use sixbench_plane::whole::{Node, Verdict, Whole};
use sixbench_wire::addresses::Net;
use sixbench_wire::map::Rule;
use sixbench_wire::{checksum, ipv4, protocol};

/// RFC 7597 appendix A, example 1.
const RULE: Rule = Rule {
    ipv6: Net { address: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), bits: 40 },
    ipv4: Net { address: Ipv4Addr::new(192, 0, 2, 0), bits: 24 },
    ea_bits: 16,
    psid_offset: 6,
    psid: None,
};
const SHARED: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 18);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const RELAY: &str = "2001:db8:ffff::1";

fn rule() -> Value {
    json!({"ipv6": "2001:db8::/40", "ipv4": "192.0.2.0/24", "ea_bits": 16, "psid_offset": 6})
}

fn end(local: &str, mapping: &Value) -> Result<Whole, String> {
    let tunnel = json!({
        "device": "t", "underlay": ["u"], "mtu_bytes": 1460, "outer": "ipv6", "payload": "ipv4", "local": local, "mapping": mapping,
    });
    let spec = serde_json::from_value(tunnel).expect("a tunnel");
    Whole::new(&spec, Node::default()).map_err(|error| error.to_string())
}

fn relay() -> Whole {
    end(RELAY, &json!({"kind": "map", "rules": [rule()]})).expect("a border relay")
}

fn edge(psid: u16, meshed: bool) -> Whole {
    let address = RULE.address(SHARED, psid);
    let prefix = Ipv6Addr::from_bits(address.to_bits() >> 72 << 72);
    let own = json!({
        "ipv6": format!("{prefix}/56"), "ipv4": format!("{SHARED}/32"), "ea_bits": 0, "psid_offset": 6,
        "psid": {"bits": 8, "value": psid},
    });
    let rules = if meshed { vec![rule()] } else { Vec::new() };
    end(&address.to_string(), &json!({"kind": "map", "own": own, "rules": rules, "border_relay": RELAY}))
        .expect("an edge")
}

/// TCP, UDP, or an echo request.
fn packet(ends: [Ipv4Addr; 2], number: u8, ports: [u16; 2], offset_bytes: u16) -> Vec<u8> {
    let mut message = vec![0; 24];
    if number == protocol::ICMP {
        message[0] = 8;
        message[4..6].copy_from_slice(&ports[0].to_be_bytes());
        let computed = checksum::checksum(&message);
        message[2..4].copy_from_slice(&computed.to_be_bytes());
    } else {
        message[..2].copy_from_slice(&ports[0].to_be_bytes());
        message[2..4].copy_from_slice(&ports[1].to_be_bytes());
    }
    let header = ipv4::Repr {
        identification: 7,
        offset_bytes,
        hop_limit: 60,
        ..ipv4::Repr::new([ends[0], ends[1]], number, message.len())
    };
    [&header.emit()[..], &message].concat()
}

fn through(end: &mut Whole, packet: &[u8]) -> Vec<u8> {
    match end.carry(packet).verdict {
        Verdict::Through(packets) => <[_; 1]>::try_from(packets).map(|[packet]| packet).expect("one packet"),
        other => panic!("{other:?}"),
    }
}

fn ends_of(outer: &[u8]) -> [Ipv6Addr; 2] {
    [8, 24].map(|at| Ipv6Addr::from(<[u8; 16]>::try_from(&outer[at..at + 16]).expect("an address")))
}

fn outcome(end: &mut Whole, packet: &[u8]) -> (Outcome, Option<&'static str>) {
    let carried = end.carry(packet);
    (carried.outcome, carried.section)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn packets_of_an_edge_come_out_of_the_relay_and_answers_come_back(
        psid in 0..256_u16,
        port in any::<Index>(),
        far: u16,
        number in select(vec![protocol::TCP, protocol::UDP, protocol::ICMP]),
    ) {
        let ports: Vec<u16> = RULE.ports(psid).flatten().collect();
        let port = *port.get(&ports);
        let sent = packet([SHARED, OUTSIDE], number, [port, far], 0);
        let carried = through(&mut edge(psid, false), &sent);
        prop_assert_eq!(ends_of(&carried), [RULE.address(SHARED, psid), RELAY.parse().unwrap()]);
        prop_assert_eq!(through(&mut relay(), &carried), sent);
        let ports = if number == protocol::ICMP { [port, 0] } else { [far, port] };
        let answer = packet([OUTSIDE, SHARED], number, ports, 0);
        let carried = through(&mut relay(), &answer);
        prop_assert_eq!(ends_of(&carried), [RELAY.parse().unwrap(), RULE.address(SHARED, psid)]);
        prop_assert_eq!(through(&mut edge(psid, false), &carried), answer);
    }

    #[test]
    fn the_relay_takes_only_what_the_rule_says(psid in 0..256_u16, port: u16, flip in prop::option::of(64..128_u32)) {
        let ports: Vec<u16> = RULE.ports(psid).flatten().collect();
        let mut carried = through(&mut edge(psid, false), &packet([SHARED, OUTSIDE], protocol::UDP, [ports[0], 9], 0));
        carried[60..62].copy_from_slice(&port.to_be_bytes());
        if let Some(bit) = flip {
            let source = ends_of(&carried)[0].to_bits() ^ (1 << bit);
            carried[8..24].copy_from_slice(&source.to_be_bytes());
        }
        let is_inside = RULE.ipv6.contains(ends_of(&carried)[0]);
        let wanted = match (flip, RULE.psid_of(port) == Some(psid)) {
            (None, true) => Outcome::Decapsulated,
            _ if is_inside => Outcome::InnerSourceMismatch,
            _ => Outcome::SourceNotPeer,
        };
        prop_assert_eq!(outcome(&mut relay(), &carried), (wanted, Some("RFC 7597 section 8.1")));
    }
}

#[test]
fn edges_of_a_mesh_need_no_relay_and_others_go_by_it() {
    let sent = packet([SHARED, SHARED], protocol::UDP, [1232, 1236], 0);
    let carried = through(&mut edge(0x34, true), &sent);
    assert_eq!(ends_of(&carried)[1], RULE.address(SHARED, 0x35));
    assert_eq!(through(&mut edge(0x35, true), &carried), sent);
    assert_eq!(outcome(&mut edge(0x35, false), &carried).0, Outcome::SourceNotPeer);
    assert_eq!(ends_of(&through(&mut edge(0x34, false), &sent))[1], RELAY.parse::<Ipv6Addr>().unwrap());
}

#[test]
fn what_is_nobodys_is_dropped() {
    let mut one = edge(0x34, false);
    assert_eq!(
        outcome(&mut one, &packet([SHARED, OUTSIDE], protocol::UDP, [1236, 9], 0)).0,
        Outcome::InnerSourceMismatch
    );
    assert_eq!(
        outcome(&mut one, &packet([OUTSIDE, OUTSIDE], protocol::UDP, [1232, 9], 0)).0,
        Outcome::InnerSourceMismatch
    );
    assert_eq!(outcome(&mut relay(), &packet([OUTSIDE, SHARED], protocol::UDP, [9, 80], 0)).0, Outcome::NoMapping);
    assert_eq!(outcome(&mut relay(), &packet([OUTSIDE, SHARED], 50, [9, 1232], 0)).0, Outcome::NoMapping);
    assert_eq!(outcome(&mut relay(), &packet([SHARED, OUTSIDE], protocol::UDP, [9, 9], 0)).0, Outcome::NoMapping);
}

#[test]
fn later_fragments_go_by_their_addresses_from_an_edge_and_have_no_port_to_one() {
    let later = packet([SHARED, OUTSIDE], protocol::UDP, [1232, 9], 8);
    let carried = through(&mut edge(0x34, false), &later);
    assert_eq!(through(&mut relay(), &carried), later);
    assert_eq!(outcome(&mut relay(), &packet([OUTSIDE, SHARED], protocol::UDP, [9, 1232], 8)).0, Outcome::NoMapping);
}

#[test]
fn a_node_that_cannot_be_is_refused() {
    let own = json!({"ipv6": "2001:db8:1:2::/64", "ipv4": "192.0.2.1/32", "ea_bits": 0, "psid_offset": 0});
    let local = "2001:db8:1:2:0:c000:201:0";
    for (local, mapping, words) in [
        (RELAY, json!({}), "a border relay has a rule of its domain at least"),
        (RELAY, json!({"rules": [rule()], "border_relay": "2001:db9::2"}), "a border relay has no other one"),
        ("2001:db8::2", json!({"rules": [rule()]}), "is in 2001:db8::/40, which customer edges have"),
        (local, json!({"own": own}), "a customer edge knows its border relay"),
        (RELAY, json!({"own": own, "border_relay": "2001:db8::2"}), "and the rule gives 2001:db8:1:2:0:c000:201:0"),
        (local, json!({"own": own, "border_relay": local}), "which customer edges have"),
        (local, json!({"own": rule(), "border_relay": RELAY}), "and no EA bits"),
    ] {
        let mut mapping = mapping;
        mapping["kind"] = json!("map");
        let Err(error) = end(local, &mapping) else { panic!("{words}") };
        assert!(error.contains(words), "{error}");
    }
}

//! A VLAN on a link between nodes: real namespaces, real packets, below everything that a node does on an interface.

mod common;

use common::chain::{Chain, HOST_1, HOST_2, ROUTER_1, ROUTER_2};
use serde_json::{Value, json};

fn begin(chain: &mut Chain, router: usize, vlan_id: u16) {
    chain.nodes[router].ok("vlan-begin", json!({"interface": "e1", "vlan_id": vlan_id}));
}

/// The packets that arrive at the second router while the first one pings it, and true if it answers.
fn pinged(chain: &mut Chain) -> (Vec<Value>, bool) {
    let start = json!({"capture": "c", "interface": "e1", "max_packets": 64, "max_ns": 60_000_000_000_u64, "snaplen_bytes": 128});
    chain.nodes[ROUTER_2].ok("capture-start", start);
    // The neighbour is known, so that it is the packets that do not arrive.
    chain.shell(ROUTER_1, "ip neighbour replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev e1");
    chain.shell(ROUTER_2, "ip link set e1 address 02:00:00:00:00:02");
    let ping =
        chain.nodes[ROUTER_1].ok("exec", json!({"argv": ["ping", "-c", "3", "-i", "0.01", "-W", "1", "10.0.0.2"]}));
    let seen = chain.nodes[ROUTER_2].ok("capture-stop", json!({"capture": "c"}))["packets"].take();
    (seen.as_array().expect("a list").clone(), ping["exit"] == 0)
}

fn requests(seen: &[Value]) -> Vec<&Value> {
    seen.iter().filter(|one| one["outgoing"] == false && one["layers"].to_string().contains(r#""icmp""#)).collect()
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn packets_have_the_tag_on_the_wire_and_nowhere_else() {
    let Some(mut chain) = Chain::build() else { return };
    for router in [ROUTER_1, ROUTER_2] {
        begin(&mut chain, router, 4094);
    }
    let (seen, is_answered) = pinged(&mut chain);
    assert!(is_answered);
    let requests = requests(&seen);
    assert_eq!(requests.len(), 3, "{seen:?}");
    for one in requests {
        // 84 bytes of IPv4, 14 of Ethernet, 4 of the tag.
        assert_eq!(one["wire_bytes"], 102);
        assert_eq!(one["layers"][1], json!({"kind": "vlan", "bytes": 4, "vlan_id": 4094, "priority": 0}));
        assert_eq!(one["layers"][2]["kind"], "ipv4");
        assert_eq!(&one["data"].as_str().expect("hex")[24..32], "81000ffe");
    }
    // A link beside it has none.
    chain.shell(HOST_1, "ping -c 1 -W 5 10.2.0.2");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn what_has_another_tag_or_none_is_not_let_in() {
    let Some(mut chain) = Chain::build() else { return };
    begin(&mut chain, ROUTER_2, 200);
    let (seen, is_answered) = pinged(&mut chain);
    assert!(!is_answered && requests(&seen).len() == 3, "{seen:?}");
    begin(&mut chain, ROUTER_1, 100);
    let (seen, is_answered) = pinged(&mut chain);
    assert!(!is_answered);
    let numbers: Vec<_> = requests(&seen).iter().map(|one| one["layers"][1]["vlan_id"].clone()).collect();
    assert_eq!(numbers, [100, 100, 100]);
    let refused = chain.nodes[ROUTER_1].error("vlan-begin", json!({"interface": "e1", "vlan_id": 200}));
    assert!(refused.to_string().contains("e1 carries a VLAN already"), "{refused}");
    let refused = chain.nodes[ROUTER_1].error("vlan-begin", json!({"interface": "e7", "vlan_id": 200}));
    assert!(refused.to_string().contains("e7"), "{refused}");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_tunnel_over_it_sees_packets_without_the_tag() {
    for engine in ["ebpf", "user"] {
        let Some(mut chain) = Chain::build() else { return };
        chain.engine = engine;
        for router in [ROUTER_1, ROUTER_2] {
            begin(&mut chain, router, 100);
        }
        chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
        chain.tunnel_between_routers("10.0.0.", "ipv6", 1480, &json!({}));
        chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1480);
        chain.agrees("sb0");
    }
}

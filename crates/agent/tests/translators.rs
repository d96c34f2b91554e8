//! Translators of a node: packets through them, and what is refused.

mod common;

use common::{Agent, join, with};
use serde_json::{Value, json};

fn translator(engine: &str) -> Value {
    json!({
        "device": "t0", "mtu_bytes": 1500, "engine": engine,
        "mapping": {"kind": "siit", "prefixes": ["64:ff9b:1::/96"], "explicit": [["192.0.2.1/32", "2001:db8::1/128"]],
            "own4": "198.51.100.1", "own6": "2001:db8::2"},
    })
}

/// A node that translates for itself: its own IPv6 address is 192.0.2.1 to the IPv4 host beyond.
fn pair(engine: &str) -> Option<[Agent; 2]> {
    let mut nodes = [Agent::node()?, Agent::node()?];
    let [translating, host] = &mut nodes;
    join((translating, "e0", &["198.51.100.1/24"]), (host, "e0", &["198.51.100.2/24"]));
    translating.shell("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
    translating.shell("ip address add 2001:db8::1/128 dev lo");
    host.shell("ip route add 192.0.2.1 via 198.51.100.1");
    // A link that has just come up loses packets until the kernel has noticed.
    translating.shell("for n in $(seq 100); do ping -c 1 -W 1 198.51.100.2 && exit 0; done; exit 1");
    translating.ok("translator-add", translator(engine));
    translating.shell("ip route add 192.0.2.1 dev t0");
    // The kernel makes an address usable after it has answered.
    let route = "ip -6 route add 64:ff9b:1::/96 dev t0 src 2001:db8::1";
    translating.shell(&format!("for n in $(seq 500); do {route} && exit 0; sleep 0.01; done; exit 1"));
    Some(nodes)
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn echoes_go_through_and_are_counted() {
    for engine in ["ebpf", "user"] {
        let Some([mut node, _host]) = pair(engine) else { return };
        node.exec(&["ping", "-c", "5", "-i", "0.01", "-W", "5", "64:ff9b:1::198.51.100.2"]);
        let counted = node.ok("translator-counters", json!({}))["translators"]["t0"].clone();
        assert!(counted["to_ipv4"]["packets"].as_u64() >= Some(5), "{counted}");
        assert!(counted["to_ipv6"]["packets"].as_u64() >= Some(5), "{counted}");
        assert!(counted["to_ipv4"]["bytes"].as_u64() >= Some(5 * 104), "{counted}");
        if engine == "user" {
            assert_eq!(counted["slow"]["to-ipv4"], counted["to_ipv4"], "{counted}");
        }
        // A packet that nothing maps is dropped, by a clause that is counted.
        node.shell("ip -6 route add 2001:db8:9::/64 dev t0; ping -c 1 -W 1 2001:db8:9::1 || true");
        let removed = node.ok("translator-remove", json!({"device": "t0"}));
        assert_eq!(removed["drops"]["no-mapping"]["packets"], 1, "{removed}");
        assert_eq!(node.error("translator-counters", json!({"device": "t0"}))["code"], "no-translator");
        assert_eq!(node.shell("ip -o link show t0 2>/dev/null | wc -l").trim(), "0");
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn translators_that_cannot_be_are_refused() {
    let Some(mut node) = Agent::in_own_namespace() else { return };
    for (change, words) in [
        (json!({"mtu_bytes": 1000}), "mtu_bytes is 1000"),
        (json!({"device": "a-name-that-is-long"}), "a name of 1 to 11"),
        (json!({"mapping": {"kind": "siit", "prefixes": ["64:ff9b:1::/95"]}}), "none of the lengths"),
        (json!({"mapping": {"kind": "siit", "prefixes": ["64:ff9b:1::/96"], "tos": 0}}), "does not support tos"),
    ] {
        let error = node.error("translator-add", with(translator("ebpf"), change));
        assert_eq!(error["code"], "bad-params", "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{error}");
        assert_eq!(node.shell("ip -o link show type tun | wc -l").trim(), "0", "nothing is left");
    }
    node.ok("translator-add", translator("user"));
    assert_eq!(node.error("translator-add", translator("user"))["code"], "translator-exists");
}

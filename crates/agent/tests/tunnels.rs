//! Tunnels between nodes, by each mapping and each engine: real namespaces, real packets.

mod common;

use common::chain::{Chain, HOST_1, HOST_2, ROUTER_1, ROUTER_2, fixed, packets, tunnel};
use common::{Agent, with};
use serde_json::{Value, json};

/// Makes a tunnel between the routers.
type Setup = fn(&mut Chain) -> Proof;

/// The property to be proved after the setup.
struct Proof {
    client: usize,
    to: Vec<&'static str>,
    mtu_bytes: u32,
}

impl Proof {
    fn between_hosts(to: &'static str, mtu_bytes: u32) -> Self {
        Self { client: HOST_1, to: vec![to], mtu_bytes }
    }
}

const SETUPS: [(&str, Setup); 8] = [
    ("6in4", configured),
    ("4in6", ipv4_in_ipv6),
    ("gre", gre),
    ("gre6 with a key", gre_with_a_key),
    ("6to4", six_to_four),
    ("6rd", six_rd),
    ("isatap", isatap),
    ("6over4", six_over_four),
];

fn prove(setup: Setup, engine: &'static str) -> Option<Chain> {
    let mut chain = Chain::build()?;
    chain.engine = engine;
    let proof = setup(&mut chain);
    for to in proof.to {
        chain.proves_itself(proof.client, HOST_2, to, proof.mtu_bytes);
    }
    chain.agrees("sb0");
    Some(chain)
}

fn configured(chain: &mut Chain) -> Proof {
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    chain.tunnel_between_routers("10.0.0.", "ipv6", 1480, &json!({}));
    Proof::between_hosts("2001:db8:2::2", 1480)
}

fn ipv4_in_ipv6(chain: &mut Chain) -> Proof {
    chain.tunnel_between_routers("2001:db8::", "ipv4", 1460, &json!({}));
    Proof::between_hosts("10.2.0.2", 1460)
}

fn gre(chain: &mut Chain) -> Proof {
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    chain.tunnel_between_routers("10.0.0.", "gre", 1476, &json!({}));
    Proof { client: HOST_1, to: vec!["2001:db8:2::2", "10.2.0.2"], mtu_bytes: 1476 }
}

fn gre_with_a_key(chain: &mut Chain) -> Proof {
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    chain.tunnel_between_routers("2001:db8::", "gre", 1452, &json!({"gre_key": 7}));
    Proof { client: HOST_1, to: vec!["2001:db8:2::2", "10.2.0.2"], mtu_bytes: 1452 }
}

fn six_to_four(chain: &mut Chain) -> Proof {
    chain.number_hosts(["2002:a00:1:1::", "2002:a00:2:1::"]);
    for (router, number) in [(ROUTER_1, 1), (ROUTER_2, 2)] {
        let local = format!("10.0.0.{number}");
        let mapping = json!({"kind": "6to4", "relay": null, "allow_private": false});
        let error = chain.nodes[router].error("tunnel-add", tunnel("sb0", &local, &mapping));
        assert_eq!(error["code"], "bad-params");
        chain.add(router, tunnel("sb0", &local, &json!({"kind": "6to4", "relay": null, "allow_private": true})));
        chain.shell(router, "ip route add 2002::/16 dev sb0");
    }
    Proof::between_hosts("2002:a00:2:1::2", 1480)
}

fn six_rd(chain: &mut Chain) -> Proof {
    // 10.0/16 is common to the domain, so that 16 bits are embedded: 2001:db8:1::/48 is the site of 10.0.0.1.
    chain.number_hosts(["2001:db8:1:1::", "2001:db9:2::"]);
    let domain = json!({"kind": "6rd", "prefix": "2001:db8::/32", "ipv4_mask_bits": 16, "border_relay": "10.0.0.2"});
    chain.add(ROUTER_1, tunnel("sb0", "10.0.0.1", &domain));
    let mut relay = domain.clone();
    relay["is_border_relay"] = json!(true);
    chain.add(ROUTER_2, tunnel("sb0", "10.0.0.2", &relay));
    chain.shell(ROUTER_1, "ip -6 route add default dev sb0");
    chain.shell(ROUTER_2, "ip route add 2001:db8::/32 dev sb0");
    Proof::between_hosts("2001:db9:2::2", 1480)
}

fn isatap(chain: &mut Chain) -> Proof {
    // The first router is the ISATAP host here.
    let mut host = tunnel("sb0", "10.0.0.1", &json!({"kind": "isatap", "routers": ["10.0.0.2"]}));
    host["mtu_bytes"] = json!(1400);
    let mut router = tunnel("sb0", "10.0.0.2", &json!({"kind": "isatap"}));
    router["mtu_bytes"] = json!(1400);
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    chain.add(ROUTER_1, host);
    chain.add(ROUTER_2, router);
    chain.shell(
        ROUTER_1,
        "ip address add 2001:db8:5::5efe:10.0.0.1/64 dev sb0 nodad; ip -6 route add default via fe80::5efe:10.0.0.2 dev sb0",
    );
    chain.shell(ROUTER_1, "ping -c 1 -W 5 fe80::5efe:10.0.0.2%sb0");
    chain.shell(ROUTER_1, "until ip -6 route show table local | grep -q 2001:db8:5::5efe:a00:1; do :; done");
    // The host's prefix is not the router's yet: RFC 5214 section 7.3.
    chain.shell(ROUTER_1, "ping -c 1 -W 0.2 2001:db8:2::2 && exit 1 || true");
    let counters = chain.counters(ROUTER_2, "sb0");
    assert_eq!(packets(&counters, "drops.inner-source-off-link"), 1, "{counters}");
    chain.shell(ROUTER_2, "ip address add 2001:db8:5::5efe:10.0.0.2/64 dev sb0 nodad");
    // The kernel knows an address as the node's own a little later than it answers.
    chain.shell(ROUTER_2, "until ip -6 route show table local | grep -q 2001:db8:5::5efe:a00:2; do :; done");
    Proof { client: ROUTER_1, to: vec!["2001:db8:2::2"], mtu_bytes: 1400 }
}

fn six_over_four(chain: &mut Chain) -> Proof {
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
        chain.shell(router, "ip route add 239.192.0.0/16 dev e1");
        let mapping = json!({"kind": "6over4", "groups": [format!("239.192.7.{from}")]});
        chain.add(router, tunnel("sb0", &format!("10.0.0.{from}"), &mapping));
        chain.shell(router, &format!("ip address add 2001:db8:5::{from}/64 dev sb0 nodad"));
        chain.shell(router, &format!("ip route add 2001:db8:{to}::/64 via fe80::a00:{to} dev sb0"));
        // The groups are all nodes, that of the device's link-local address, and that of the address asked for; as the
        // kernel writes them.
        let groups = chain.shell(router, "cat /proc/net/igmp");
        for group in ["0100C0EF".to_owned(), format!("{from:02X}00C0EF"), format!("{from:02X}07C0EF")] {
            assert!(groups.contains(&group), "{group}: {groups}");
        }
    }
    chain.shell(ROUTER_1, "ping -c 1 -W 5 fe80::a00:2%sb0");
    let neighbours = chain.shell(ROUTER_1, "ip -6 neighbour show dev sb0");
    assert!(neighbours.contains("fe80::a00:2 lladdr 00:00:0a:00:00:02"), "{neighbours}");
    Proof::between_hosts("2001:db8:2::2", 1480)
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn configured_tunnels_carry_ipv6() {
    let Some(mut chain) = prove(configured, "ebpf") else { return };
    let last = chain.nodes[ROUTER_1].ok("tunnel-remove", json!({"device": "sb0"}));
    assert!(packets(&last, "encapsulated") > 1000, "{last}");
    assert_eq!(chain.nodes[ROUTER_1].error("tunnel-remove", json!({"device": "sb0"}))["code"], "no-tunnel");
    let devices = chain.shell(ROUTER_1, "ip -o link");
    assert!(!devices.contains("sb0"), "{devices}");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn ipv4_goes_through_ipv6() {
    prove(ipv4_in_ipv6, "ebpf");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn gre_carries_both_in_both() {
    prove(gre, "ebpf");
    prove(gre_with_a_key, "ebpf");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn sites_find_each_other_by_6to4() {
    prove(six_to_four, "ebpf");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn customers_of_6rd_reach_the_world_behind_the_relay() {
    prove(six_rd, "ebpf");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn isatap_hosts_reach_the_world_behind_their_router() {
    prove(isatap, "ebpf");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn neighbours_find_each_other_over_ipv4_multicast() {
    prove(six_over_four, "ebpf");
}

#[test]
fn every_mapping_needs_no_programs() {
    for (name, setup) in SETUPS {
        println!("{name}");
        prove(setup, "user");
    }
}

/// The programs leave checksums to devices; a raw socket hears of that only by what stands in the packet.
#[test]
#[ignore = "needs root: it loads BPF programs"]
fn engines_understand_each_other() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    chain.add(ROUTER_1, fixed("sb0", ["10.0.0.1", "10.0.0.2"], "ipv6", 1480));
    chain.engine = "user";
    chain.add(ROUTER_2, fixed("sb0", ["10.0.0.2", "10.0.0.1"], "ipv6", 1480));
    chain.shell(ROUTER_1, "ip route add 2001:db8:2::/64 dev sb0");
    chain.shell(ROUTER_2, "ip route add 2001:db8:1::/64 dev sb0");
    chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1480);
    let (one, other) = (chain.counters(ROUTER_1, "sb0"), chain.counters(ROUTER_2, "sb0"));
    assert!(packets(&one, "encapsulated") > 1000 && packets(&other, "slow_decapsulated") > 1000, "{one} {other}");
}

fn on_loopback() -> Value {
    with(fixed("sb0", ["192.0.2.1", "192.0.2.2"], "ipv6", 1480), json!({"underlay": ["lo"]}))
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn tunnels_are_refused_with_reasons() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["sh", "-c", "ip link set lo up; ip address add 192.0.2.1/32 dev lo"]);
    let cases = [
        ("mtu_bytes", json!(1279), "bad-params"),
        ("local", json!("2001:db8::1"), "bad-params"),
        ("mapping", json!({"kind": "fixed", "remote": "192.0.2.1"}), "bad-params"),
        ("mapping", json!({"kind": "6rd", "prefix": "2001:db8::/48", "ipv4_mask_bits": 8}), "bad-params"),
        ("mapping", json!({"kind": "6rd", "prefix": "2001:db8::1/32"}), "bad-request"),
        ("mapping", json!({"kind": "sorcery"}), "bad-request"),
        ("device", json!("longer-than-11"), "bad-params"),
        ("ttl", json!(0), "bad-request"),
        ("underlay", json!(["eth9"]), "system"),
    ];
    agent.refuses("tunnel-add", on_loopback, cases);
    agent.ok("tunnel-add", on_loopback());
    assert_eq!(agent.error("tunnel-add", on_loopback())["code"], "tunnel-exists");
    assert_eq!(agent.error("tunnel-counters", json!({"device": "sb1"}))["code"], "no-tunnel");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn run_time_is_measured_from_start_to_stop() {
    let Some(mut chain) = Chain::build() else { return };
    configured(&mut chain);
    let ask = |chain: &mut Chain, run_time: &str| {
        chain.nodes[ROUTER_1].ask("tunnel-counters", json!({"device": "sb0", "run_time": run_time}))
    };
    let error = ask(&mut chain, "stop");
    assert_eq!(error["error"]["code"], "bad-params", "{error}");
    let runs = |answer: Value| {
        answer["ok"]["tunnels"]["sb0"]["programs"]["encapsulate"]["runs"].as_u64().unwrap_or_else(|| panic!("{answer}"))
    };
    for window in [10, 20] {
        runs(ask(&mut chain, "start"));
        chain.shell(HOST_1, &format!("ping -c {window} -i 0.002 -W 5 2001:db8:2::2"));
        let measured = runs(ask(&mut chain, "stop"));
        // Neighbours may be asked for, too.
        assert!((window..window + 10).contains(&measured), "{measured}");
        chain.shell(HOST_1, "ping -c 50 -i 0.002 -W 5 2001:db8:2::2");
    }
    let plain = chain.counters(ROUTER_1, "sb0");
    assert!(plain.get("programs").is_none(), "{plain}");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn without_bpf_there_is_a_reason_and_another_engine() {
    let Some(mut agent) = Agent::in_own_namespace_without("-bpf,-sys_admin") else { return };
    agent.exec(&["sh", "-c", "ip link set lo up; ip address add 192.0.2.1/32 dev lo"]);
    let mut tunnel = on_loopback();
    let error = agent.error("tunnel-add", tunnel.clone());
    assert_eq!(error["code"], "system", "{error}");
    assert_eq!(error["context"]["missing_capabilities"], json!(["CAP_BPF"]), "{error}");
    assert_eq!(error["context"]["call"], "bpf", "{error}");
    assert!(error["message"].as_str().expect("text").contains("no CAP_BPF here; engine \"user\""), "{error}");
    assert!(!agent.exec(&["ip", "-o", "link"]).contains("sb0"));
    tunnel["engine"] = json!("user");
    agent.ok("tunnel-add", tunnel);
}

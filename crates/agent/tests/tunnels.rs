//! Tunnels between nodes: real namespaces, real packets.

mod common;

use common::Agent;
use serde_json::{Value, json};

/// A host, two routers and a host; IPv4 and IPv6 on every link, and no IPv6 route between the hosts but through tunnels.
struct Chain {
    nodes: [Agent; 4],
}

const HOST_1: usize = 0;
const ROUTER_1: usize = 1;
const ROUTER_2: usize = 2;
const HOST_2: usize = 3;

impl Chain {
    fn build() -> Option<Self> {
        let nodes = [
            Agent::in_own_namespace()?,
            Agent::in_own_namespace()?,
            Agent::in_own_namespace()?,
            Agent::in_own_namespace()?,
        ];
        let mut chain = Self { nodes };
        for node in 0..4 {
            // Without duplicate address detection addresses can be used at once.
            chain.shell(
                node,
                "ip link set lo up; sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0",
            );
        }
        for (one, interface, other, peer) in [(0, "e0", 1, "e0"), (1, "e1", 2, "e1"), (2, "e0", 3, "e0")] {
            let pid = chain.nodes[other].pid();
            chain.shell(
                one,
                &format!("ip link add {interface} type veth peer name {peer} netns {pid}; ip link set {interface} up"),
            );
            chain.shell(other, &format!("ip link set {peer} up"));
        }
        for (host, router, number) in [(HOST_1, ROUTER_1, 1), (HOST_2, ROUTER_2, 2)] {
            chain.shell(router, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
            chain.shell(
                router,
                &format!("ip address add 10.0.0.{number}/24 dev e1; ip address add 2001:db8::{number}/64 dev e1 nodad"),
            );
            chain.shell(
                router,
                &format!(
                    "ip address add 10.{number}.0.1/24 dev e0; ip route add 10.{}.0.0/24 via 10.0.0.{}",
                    3 - number,
                    3 - number
                ),
            );
            chain.shell(
                host,
                &format!("ip address add 10.{number}.0.2/24 dev e0; ip route add default via 10.{number}.0.1"),
            );
        }
        Some(chain)
    }

    fn shell(&mut self, node: usize, command: &str) -> String {
        self.nodes[node].exec(&["sh", "-ec", command])
    }

    /// Gives the hosts addresses in these networks, behind their routers.
    fn number_hosts(&mut self, networks: [&str; 2]) {
        for (host, router, network) in [(HOST_1, ROUTER_1, networks[0]), (HOST_2, ROUTER_2, networks[1])] {
            self.shell(router, &format!("ip address add {network}1/64 dev e0 nodad"));
            self.shell(
                host,
                &format!("ip address add {network}2/64 dev e0 nodad; ip -6 route add default via {network}1"),
            );
        }
    }

    fn add(&mut self, node: usize, tunnel: Value) {
        let answer = self.nodes[node].ok("tunnel-add", tunnel);
        assert!(answer["ifindex"].as_u64() > Some(0), "{answer}");
    }

    /// Pings there, with the longest packets that fit the tunnel and with some that do not, and sends TCP both ways, with offloads on and off.
    fn proves_itself(&mut self, client: usize, server: usize, to: &str, mtu_bytes: u32) {
        let is_ipv6 = to.contains(':');
        let headers = if is_ipv6 { 48 } else { 28 };
        let fits = mtu_bytes - headers;
        self.shell(client, &format!("ping -c 3 -i 0.01 -W 5 {to}; ping -c 1 -W 5 -M do -s {fits} {to}"));
        let too_big = format!("ping -c 1 -W 5 -M do -s {} {to} && exit 1 || true", fits + 1);
        let words = self.nodes[client].ok("exec", json!({"argv": ["sh", "-c", too_big]}));
        let told = ["mtu=", "mtu = ", "mtu: "].map(|words| format!("{words}{mtu_bytes}"));
        assert!(told.iter().any(|told| words.to_string().contains(told)), "{words}");
        for offloads in ["on", "off"] {
            for node in 0..4 {
                self.shell(node, &format!("for d in e0 e1; do ethtool -K $d tso {offloads} gso {offloads} gro {offloads} tx {offloads} >/dev/null 2>&1 || true; done"));
            }
            for direction in ["forward", "reverse"] {
                self.carries_tcp(client, server, to, direction, mtu_bytes - headers);
            }
        }
    }

    fn carries_tcp(&mut self, client: usize, server: usize, to: &str, direction: &str, most_bytes: u32) {
        let from = self.shell(client, &format!("ip -o route get {to} | sed 's/.* src //; s/ .*//'"));
        let from = from.trim();
        let token = "00112233445566778899aabbccddeeff";
        let params = json!({"bytes": 4 << 20, "direction": direction});
        let session = |address: &str, peer: &str| json!({"session": "s", "workload": "tcp-stream", "address": address, "peer": peer, "token": token, "params": params});
        let port = self.nodes[server].ok("serve", session(to, from))["port"].clone();
        let mut run = session(from, to);
        run["port"] = port;
        let result = self.nodes[client].ok("run", run);
        let receiver = self.nodes[server].ok("finish", json!({"session": "s", "timeout_ns": 5_000_000_000_u64}));
        let received = if direction == "forward" { &receiver["forward_receiver"] } else { &result["reverse_receiver"] };
        assert_eq!(received["received_bytes"], 4 << 20, "{direction}");
        assert!(received["socket"]["mss_bytes"].as_u64() <= Some(u64::from(most_bytes)), "{received}");
    }

    fn counters(&mut self, node: usize, device: &str) -> Value {
        self.nodes[node].ok("tunnel-counters", json!({"device": device}))["tunnels"][device].clone()
    }

    /// What one end sent, the other received, and nothing was dropped or slow. Packets of the nodes themselves may have been
    /// dropped before a tunnel had its other end, so that only reasons that must not be are looked at.
    fn agrees(&mut self, device: &str) {
        let (one, other) = (self.counters(ROUTER_1, device), self.counters(ROUTER_2, device));
        for (sender, receiver) in [(&one, &other), (&other, &one)] {
            // The slow path may have taken what came before the program was attached.
            let packets = |counters: &Value, name: &str| counters[name]["packets"].as_u64().expect("a number");
            let sent = packets(sender, "encapsulated") + packets(sender, "slow_encapsulated");
            let received = packets(receiver, "decapsulated") + packets(receiver, "slow_decapsulated");
            // A multicast listener report may have gone before the other end was there.
            assert!(received > 2000 && received <= sent && sent - received < 8, "{sender} {receiver}");
            assert_eq!(receiver["slow"], json!({}));
        }
    }
}

fn tunnel(device: &str, local: &str, mapping: &Value) -> Value {
    json!({"device": device, "mtu_bytes": 1480, "outer": "ipv4", "payload": "ipv6", "local": local, "underlay": ["e1"], "mapping": mapping})
}

fn fixed(device: &str, ends: [&str; 2], payload: &str, mtu_bytes: u32) -> Value {
    let outer = if ends[0].contains(':') { "ipv6" } else { "ipv4" };
    let mut tunnel = tunnel(device, ends[0], &json!({"kind": "fixed", "remote": ends[1]}));
    tunnel["payload"] = json!(payload);
    tunnel["outer"] = json!(outer);
    tunnel["mtu_bytes"] = json!(mtu_bytes);
    tunnel
}

#[test]
fn configured_tunnels_carry_ipv6() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
        let ends = [format!("10.0.0.{from}"), format!("10.0.0.{to}")];
        chain.add(router, fixed("sb0", [&ends[0], &ends[1]], "ipv6", 1480));
        chain.shell(router, &format!("ip route add 2001:db8:{to}::/64 dev sb0"));
    }
    chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1480);
    chain.agrees("sb0");
    let last = chain.nodes[ROUTER_1].ok("tunnel-remove", json!({"device": "sb0"}));
    assert!(last["encapsulated"]["packets"].as_u64() > Some(1000), "{last}");
    assert_eq!(chain.nodes[ROUTER_1].error("tunnel-remove", json!({"device": "sb0"}))["code"], "no-tunnel");
    let devices = chain.shell(ROUTER_1, "ip -o link");
    assert!(!devices.contains("sb0"), "{devices}");
}

#[test]
fn ipv4_goes_through_ipv6() {
    let Some(mut chain) = Chain::build() else { return };
    for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
        let ends = [format!("2001:db8::{from}"), format!("2001:db8::{to}")];
        chain.add(router, fixed("sb0", [&ends[0], &ends[1]], "ipv4", 1460));
        chain.shell(router, &format!("ip route replace 10.{to}.0.0/24 dev sb0"));
    }
    chain.proves_itself(HOST_1, HOST_2, "10.2.0.2", 1460);
    chain.agrees("sb0");
}

#[test]
fn gre_carries_both_in_both() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    for (outer, overhead, key) in [("10.0.0.", 24, None), ("2001:db8::", 48, Some(7))] {
        for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
            let ends = [format!("{outer}{from}"), format!("{outer}{to}")];
            let mut tunnel = fixed("sb0", [&ends[0], &ends[1]], "gre", 1500 - overhead);
            if let Some(key) = key {
                tunnel["gre_key"] = json!(key);
            }
            chain.add(router, tunnel);
            chain.shell(
                router,
                &format!("ip route replace 10.{to}.0.0/24 dev sb0; ip route replace 2001:db8:{to}::/64 dev sb0"),
            );
        }
        for to in ["2001:db8:2::2", "10.2.0.2"] {
            chain.proves_itself(HOST_1, HOST_2, to, 1500 - overhead);
        }
        chain.agrees("sb0");
        for router in [ROUTER_1, ROUTER_2] {
            chain.nodes[router].ok("tunnel-remove", json!({"device": "sb0"}));
        }
    }
}

#[test]
fn sites_find_each_other_by_6to4() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2002:a00:1:1::", "2002:a00:2:1::"]);
    for (router, number) in [(ROUTER_1, 1), (ROUTER_2, 2)] {
        let local = format!("10.0.0.{number}");
        let mapping = json!({"kind": "6to4", "relay": null, "allow_private": false});
        let error = chain.nodes[router].error("tunnel-add", tunnel("sb0", &local, &mapping));
        assert_eq!(error["code"], "bad-params");
        chain.add(router, tunnel("sb0", &local, &json!({"kind": "6to4", "relay": null, "allow_private": true})));
        chain.shell(router, "ip route add 2002::/16 dev sb0");
    }
    chain.proves_itself(HOST_1, HOST_2, "2002:a00:2:1::2", 1480);
    chain.agrees("sb0");
}

#[test]
fn customers_of_6rd_reach_the_world_behind_the_relay() {
    let Some(mut chain) = Chain::build() else { return };
    // 10.0/16 is common to the domain, so that 16 bits are embedded: 2001:db8:1::/48 is the site of 10.0.0.1.
    chain.number_hosts(["2001:db8:1:1::", "2001:db9:2::"]);
    let domain = json!({"kind": "6rd", "prefix": "2001:db8::/32", "ipv4_mask_bits": 16, "border_relay": "10.0.0.2"});
    chain.add(ROUTER_1, tunnel("sb0", "10.0.0.1", &domain));
    let mut relay = domain.clone();
    relay["is_border_relay"] = json!(true);
    chain.add(ROUTER_2, tunnel("sb0", "10.0.0.2", &relay));
    chain.shell(ROUTER_1, "ip -6 route add default dev sb0");
    chain.shell(ROUTER_2, "ip route add 2001:db8::/32 dev sb0");
    chain.proves_itself(HOST_1, HOST_2, "2001:db9:2::2", 1480);
    chain.agrees("sb0");
}

#[test]
fn isatap_hosts_reach_the_world_behind_their_router() {
    let Some(mut chain) = Chain::build() else { return };
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
        "ip address add 2001:db8:5::5efe:10.0.0.1/64 dev sb0; ip -6 route add default via fe80::5efe:10.0.0.2 dev sb0",
    );
    chain.shell(ROUTER_2, "ip address add 2001:db8:5::5efe:10.0.0.2/64 dev sb0");
    chain.shell(ROUTER_1, "ping -c 1 -W 5 fe80::5efe:10.0.0.2%sb0");
    chain.proves_itself(ROUTER_1, HOST_2, "2001:db8:2::2", 1400);
    chain.agrees("sb0");
}

#[test]
fn neighbours_find_each_other_over_ipv4_multicast() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
        chain.shell(router, "ip route add 239.192.0.0/16 dev e1");
        chain.add(router, tunnel("sb0", &format!("10.0.0.{from}"), &json!({"kind": "6over4"})));
        chain.shell(router, &format!("ip address add 2001:db8:5::{from}/64 dev sb0 nodad"));
        chain.shell(router, &format!("ip route add 2001:db8:{to}::/64 via fe80::a00:{to} dev sb0"));
    }
    chain.shell(ROUTER_1, "ping -c 1 -W 5 fe80::a00:2%sb0");
    chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1480);
    let neighbours = chain.shell(ROUTER_1, "ip -6 neighbour show dev sb0");
    assert!(neighbours.contains("fe80::a00:2 lladdr 00:00:0a:00:00:02"), "{neighbours}");
    chain.agrees("sb0");
}

#[test]
fn strangers_are_dropped_and_counted() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    chain.add(ROUTER_1, fixed("sb0", ["10.0.0.1", "10.0.0.2"], "ipv6", 1480));
    // Its peer is another one.
    chain.add(ROUTER_2, fixed("sb0", ["10.0.0.2", "10.0.0.9"], "ipv6", 1480));
    chain.shell(ROUTER_1, "ip route add 2001:db8:2::/64 dev sb0");
    chain.shell(HOST_1, "ping -c 1 -W 1 2001:db8:2::2 && exit 1 || true");
    let counters = chain.counters(ROUTER_2, "sb0");
    assert!(counters["drops"]["source-not-peer"]["packets"].as_u64() > Some(0), "{counters}");
    // A second tunnel between the right ends finds its packets, although the first one has the same local address.
    chain.add(ROUTER_2, fixed("sb1", ["10.0.0.2", "10.0.0.1"], "ipv6", 1480));
    chain.shell(ROUTER_2, "ip route add 2001:db8:1::/64 dev sb1");
    chain.shell(HOST_1, "ping -c 1 -W 5 2001:db8:2::2");
}

#[test]
fn tunnels_are_refused_with_reasons() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["sh", "-c", "ip link set lo up; ip address add 192.0.2.1/32 dev lo"]);
    let good = || {
        let mut tunnel = tunnel("sb0", "192.0.2.1", &json!({"kind": "fixed", "remote": "192.0.2.2"}));
        tunnel["underlay"] = json!(["lo"]);
        tunnel
    };
    for (key, value, code) in [
        ("mtu_bytes", json!(1279), "bad-params"),
        ("local", json!("2001:db8::1"), "bad-params"),
        ("mapping", json!({"kind": "fixed", "remote": "192.0.2.1"}), "bad-params"),
        ("mapping", json!({"kind": "6rd", "prefix": "2001:db8::/48", "ipv4_mask_bits": 8}), "bad-params"),
        ("mapping", json!({"kind": "6rd", "prefix": "2001:db8::1/32"}), "bad-request"),
        ("mapping", json!({"kind": "sorcery"}), "bad-request"),
        ("device", json!("longer-than-11"), "bad-params"),
        ("ttl", json!(0), "bad-request"),
        ("underlay", json!(["eth9"]), "system"),
    ] {
        let mut tunnel = good();
        tunnel[key] = value;
        let error = agent.error("tunnel-add", tunnel);
        assert_eq!(error["code"], code, "{key}: {error}");
    }
    agent.ok("tunnel-add", good());
    assert_eq!(agent.error("tunnel-add", good())["code"], "tunnel-exists");
    let counters = agent.ok("tunnel-counters", json!({"run_time": true}));
    assert!(counters["tunnels"]["sb0"]["programs"]["encapsulate"]["runs"].is_u64(), "{counters}");
}

/// A configured tunnel between the routers, over a link that is narrower than it.
fn over_a_narrow_link(pmtu: &str) -> Option<Chain> {
    let mut chain = Chain::build()?;
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
        let ends = [format!("10.0.0.{from}"), format!("10.0.0.{to}")];
        let mut tunnel = fixed("sb0", [&ends[0], &ends[1]], "ipv6", 1480);
        tunnel["pmtu"] = json!(pmtu);
        chain.add(router, tunnel);
        chain.shell(router, &format!("ip route add 2001:db8:{to}::/64 dev sb0; ip link set e1 mtu 1400"));
    }
    Some(chain)
}

#[test]
fn outer_packets_are_fragmented_and_reassembled_where_df_is_clear() {
    let Some(mut chain) = over_a_narrow_link("static") else { return };
    chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1480);
    let (one, other) = (chain.counters(ROUTER_1, "sb0"), chain.counters(ROUTER_2, "sb0"));
    for (sender, receiver) in [(&one, &other), (&other, &one)] {
        let slow = sender["slow_encapsulated"]["packets"].as_u64();
        assert!(slow > Some(1000), "{sender}");
        assert_eq!(sender["slow"]["outer-too-big"]["packets"].as_u64(), slow);
        // The last ones may be under way.
        let missing =
            slow.zip(receiver["slow_decapsulated"]["packets"].as_u64()).map(|(sent, received)| sent.abs_diff(received));
        assert!(missing < Some(8), "{sender} {receiver}");
        assert_eq!(sender["drops"], json!({}));
    }
}

#[test]
fn sources_are_told_of_the_path_mtu_where_df_is_set() {
    let Some(mut chain) = over_a_narrow_link("dynamic") else { return };
    // 1400 less the outer header: the tunnel's own MTU would be 1480.
    chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1380);
    let counters = chain.counters(ROUTER_1, "sb0");
    assert!(counters["drops"]["outer-too-big"]["packets"].as_u64() > Some(0), "{counters}");
    assert_eq!(counters["slow_encapsulated"]["packets"], 0, "{counters}");
}

#[test]
fn errors_of_the_carrier_reach_the_source() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    // The other end is behind the second router, which has no way there.
    chain.shell(ROUTER_1, "ip route add 192.0.2.0/24 via 10.0.0.2");
    chain.add(ROUTER_1, fixed("sb0", ["10.0.0.1", "192.0.2.1"], "ipv6", 1480));
    chain.shell(ROUTER_1, "ip route add 2001:db8:2::/64 dev sb0");
    let words = chain.shell(HOST_1, "ping -c 3 -i 0.1 -W 5 2001:db8:2::2 || true");
    assert!(words.contains("Address unreachable"), "{words}");
    let counters = chain.counters(ROUTER_1, "sb0");
    assert!(counters["drops"]["carrier-unreachable"]["packets"].as_u64() > Some(0), "{counters}");
}

#[test]
fn a_tunnel_may_follow_a_tunnel() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    let mut first =
        [fixed("sb1", ["10.1.0.2", "10.1.0.1"], "ipv6", 1480), fixed("sb1", ["10.1.0.1", "10.1.0.2"], "ipv6", 1480)];
    first.iter_mut().for_each(|tunnel| tunnel["underlay"] = json!(["e0"]));
    let [at_host, at_router] = first;
    chain.add(HOST_1, at_host);
    chain.add(ROUTER_1, at_router);
    chain.add(ROUTER_1, fixed("sb0", ["10.0.0.1", "10.0.0.2"], "ipv6", 1480));
    chain.add(ROUTER_2, fixed("sb0", ["10.0.0.2", "10.0.0.1"], "ipv6", 1480));
    chain.shell(HOST_1, "ip address add 2001:db8:9::2/64 dev sb1; ip -6 route replace default dev sb1");
    chain.shell(ROUTER_1, "ip route add 2001:db8:9::/64 dev sb1; ip route add 2001:db8:2::/64 dev sb0");
    chain.shell(ROUTER_2, "ip route add 2001:db8:9::/64 dev sb0");
    chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", 1480);
    let counters = chain.counters(ROUTER_1, "sb0");
    assert!(counters["slow_encapsulated"]["packets"].as_u64() > Some(0), "{counters}");
}

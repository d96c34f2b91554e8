//! Nodes in a row, for tunnels between the two in the middle.

use serde_json::{Value, json};

use super::{Agent, join, trial, with};

/// A host, two routers and a host; IPv4 and IPv6 on every link, and no IPv6 route between the hosts but through
/// tunnels.
pub struct Chain {
    pub nodes: [Agent; 4],
    /// The engine of the tunnels that are added.
    pub engine: &'static str,
}

pub const HOST_1: usize = 0;
pub const ROUTER_1: usize = 1;
pub const ROUTER_2: usize = 2;
pub const HOST_2: usize = 3;

impl Chain {
    pub fn build() -> Option<Self> {
        let mut nodes = [Agent::node()?, Agent::node()?, Agent::node()?, Agent::node()?];
        let [host_1, router_1, router_2, host_2] = &mut nodes;
        join((host_1, "e0", &["10.1.0.2/24"]), (router_1, "e0", &["10.1.0.1/24"]));
        join(
            (router_1, "e1", &["10.0.0.1/24", "2001:db8::1/64"]),
            (router_2, "e1", &["10.0.0.2/24", "2001:db8::2/64"]),
        );
        join((host_2, "e0", &["10.2.0.2/24"]), (router_2, "e0", &["10.2.0.1/24"]));
        for (host, router, number, other) in [(host_1, router_1, 1, 2), (host_2, router_2, 2, 1)] {
            router.shell("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
            router.shell(&format!("ip route add 10.{other}.0.0/24 via 10.0.0.{other}"));
            host.shell(&format!("ip route add default via 10.{number}.0.1"));
        }
        Some(Self { nodes, engine: "ebpf" })
    }

    pub fn shell(&mut self, node: usize, command: &str) -> String {
        self.nodes[node].shell(command)
    }

    /// Gives the hosts addresses in these networks, behind their routers.
    pub fn number_hosts(&mut self, networks: [&str; 2]) {
        for (host, router, network) in [(HOST_1, ROUTER_1, networks[0]), (HOST_2, ROUTER_2, networks[1])] {
            self.shell(router, &format!("ip address add {network}1/64 dev e0 nodad"));
            self.shell(
                host,
                &format!("ip address add {network}2/64 dev e0 nodad; ip -6 route add default via {network}1"),
            );
        }
    }

    /// A configured tunnel between the routers, whose addresses begin so, as the way to what is behind them; `changes`
    /// of its keys.
    pub fn tunnel_between_routers(&mut self, outer: &str, payload: &str, mtu_bytes: u32, changes: &Value) {
        for (router, from, to) in [(ROUTER_1, 1, 2), (ROUTER_2, 2, 1)] {
            let ends = [format!("{outer}{from}"), format!("{outer}{to}")];
            self.add(router, with(fixed("sb0", [&ends[0], &ends[1]], payload, mtu_bytes), changes.clone()));
            if payload != "ipv6" {
                self.shell(router, &format!("ip route replace 10.{to}.0.0/24 dev sb0"));
            }
            if payload != "ipv4" {
                self.shell(router, &format!("ip route replace 2001:db8:{to}::/64 dev sb0"));
            }
        }
    }

    pub fn add(&mut self, node: usize, mut tunnel: Value) {
        tunnel["engine"] = json!(self.engine);
        let answer = self.nodes[node].ok("tunnel-add", tunnel);
        assert!(answer["ifindex"].as_u64() > Some(0), "{answer}");
    }

    /// Pings there, with the longest packets that fit the tunnel and with some that do not, and sends TCP both ways,
    /// with offloads on and off.
    pub fn proves_itself(&mut self, client: usize, server: usize, to: &str, mtu_bytes: u32) {
        let is_ipv6 = to.contains(':');
        let headers = if is_ipv6 { 48 } else { 28 };
        let fits = mtu_bytes - headers;
        self.shell(client, &format!("ping -c 3 -i 0.01 -W 5 {to}; ping -c 1 -W 5 -M do -s {fits} {to}"));
        let too_big = format!("ping -c 1 -W 5 -M do -s {} {to} && exit 1 || true", fits + 1);
        let words = self.nodes[client].ok("exec", json!({"argv": ["sh", "-c", too_big]}));
        let reports = ["mtu=", "mtu = ", "mtu: "].map(|words| format!("{words}{mtu_bytes}"));
        // About a link of its own, ping tells the MTU or, from iputils 2024 on, only that the packet is too long for
        // it.
        let is_refused = |words: &str| words.contains("sendmsg: Message too long");
        let words = words.to_string();
        assert!(reports.iter().any(|reports| words.contains(reports)) || is_refused(&words), "{words}");
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
        let params = json!({"bytes": 4 << 20, "direction": direction});
        let ends = [from, to];
        let (result, receiver) = trial(&mut self.nodes, [client, server], "tcp-stream", ends, from, &params);
        let received = if direction == "forward" { &receiver["forward_receiver"] } else { &result["reverse_receiver"] };
        assert_eq!(received["received_bytes"], 4 << 20, "{direction}");
        assert!(received["socket"]["mss_bytes"].as_u64() <= Some(u64::from(most_bytes)), "{received}");
    }

    pub fn counters(&mut self, node: usize, device: &str) -> Value {
        self.nodes[node].ok("tunnel-counters", json!({"device": device}))["tunnels"][device].clone()
    }

    /// Checks that each end received the packets that the other one sent, and that the programs left nothing over but
    /// packets whose next hop was still unknown. Packets of the nodes themselves may have been dropped before a tunnel
    /// had its other end, so that only reasons that must not be are looked at.
    pub fn agrees(&mut self, device: &str) {
        let (one, other) = (self.counters(ROUTER_1, device), self.counters(ROUTER_2, device));
        for (sender, receiver) in [(&one, &other), (&other, &one)] {
            let sent = packets(sender, "encapsulated") + packets(sender, "slow_encapsulated");
            let received = packets(receiver, "decapsulated") + packets(receiver, "slow_decapsulated");
            // A multicast listener report may have gone before the other end was there.
            assert!(received > 2000 && received <= sent && sent - received < 8, "{sender} {receiver}");
            if self.engine == "user" {
                assert_eq!(packets(sender, "encapsulated") + packets(sender, "decapsulated"), 0, "{sender}");
                assert_eq!(sender["slow"], json!({}));
                continue;
            }
            let mut slow = sender["slow"].as_object().expect("an object").clone();
            let unresolved =
                slow.remove("neighbour-unresolved").map_or(0, |count| count["packets"].as_u64().expect("a number"));
            assert!(
                slow.is_empty() && packets(sender, "slow_encapsulated") <= unresolved && unresolved < 100,
                "{sender}"
            );
        }
    }
}

/// Number of packets of a counter, or of a path of names.
pub fn packets(counters: &Value, name: &str) -> u64 {
    name.split('.').fold(counters, |value, name| &value[name])["packets"].as_u64().unwrap_or(0)
}

pub fn tunnel(device: &str, local: &str, mapping: &Value) -> Value {
    json!({"device": device, "mtu_bytes": 1480, "outer": "ipv4", "payload": "ipv6", "local": local, "underlay": ["e1"], "mapping": mapping})
}

pub fn fixed(device: &str, ends: [&str; 2], payload: &str, mtu_bytes: u32) -> Value {
    let outer = if ends[0].contains(':') { "ipv6" } else { "ipv4" };
    let tunnel = tunnel(device, ends[0], &json!({"kind": "fixed", "remote": ends[1]}));
    with(tunnel, json!({"payload": payload, "outer": outer, "mtu_bytes": mtu_bytes}))
}

//! Nodes in a row, for tunnels between the two in the middle.

use serde_json::{Value, json};

use super::Agent;

/// A host, two routers and a host; IPv4 and IPv6 on every link, and no IPv6 route between the hosts but through tunnels.
pub struct Chain {
    pub nodes: [Agent; 4],
    /// Who carries the tunnels that are added.
    pub engine: &'static str,
}

pub const HOST_1: usize = 0;
pub const ROUTER_1: usize = 1;
pub const ROUTER_2: usize = 2;
pub const HOST_2: usize = 3;

impl Chain {
    pub fn build() -> Option<Self> {
        let nodes = [
            Agent::in_own_namespace()?,
            Agent::in_own_namespace()?,
            Agent::in_own_namespace()?,
            Agent::in_own_namespace()?,
        ];
        let mut chain = Self { nodes, engine: "ebpf" };
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

    pub fn shell(&mut self, node: usize, command: &str) -> String {
        self.nodes[node].exec(&["sh", "-ec", command])
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

    pub fn add(&mut self, node: usize, mut tunnel: Value) {
        tunnel["engine"] = json!(self.engine);
        let answer = self.nodes[node].ok("tunnel-add", tunnel);
        assert!(answer["ifindex"].as_u64() > Some(0), "{answer}");
    }

    /// Pings there, with the longest packets that fit the tunnel and with some that do not, and sends TCP both ways, with offloads on and off.
    pub fn proves_itself(&mut self, client: usize, server: usize, to: &str, mtu_bytes: u32) {
        let is_ipv6 = to.contains(':');
        let headers = if is_ipv6 { 48 } else { 28 };
        let fits = mtu_bytes - headers;
        self.shell(client, &format!("ping -c 3 -i 0.01 -W 5 {to}; ping -c 1 -W 5 -M do -s {fits} {to}"));
        let too_big = format!("ping -c 1 -W 5 -M do -s {} {to} && exit 1 || true", fits + 1);
        let words = self.nodes[client].ok("exec", json!({"argv": ["sh", "-c", too_big]}));
        let told = ["mtu=", "mtu = ", "mtu: "].map(|words| format!("{words}{mtu_bytes}"));
        // Of a link of its own, ping tells the MTU or, from iputils 2024 on, only that the packet is too long for it.
        let is_refused = |words: &str| words.contains("sendmsg: Message too long");
        let words = words.to_string();
        assert!(told.iter().any(|told| words.contains(told)) || is_refused(&words), "{words}");
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

    pub fn counters(&mut self, node: usize, device: &str) -> Value {
        self.nodes[node].ok("tunnel-counters", json!({"device": device}))["tunnels"][device].clone()
    }

    /// What one end sent, the other received, and the programs left nothing over but packets whose next hop was still unknown. Packets of the nodes
    /// themselves may have been dropped before a tunnel had its other end, so that only reasons that must not be are looked at.
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

/// Of a counter, or of a path of names.
pub fn packets(counters: &Value, name: &str) -> u64 {
    name.split('.').fold(counters, |value, name| &value[name])["packets"].as_u64().unwrap_or(0)
}

pub fn tunnel(device: &str, local: &str, mapping: &Value) -> Value {
    json!({"device": device, "mtu_bytes": 1480, "outer": "ipv4", "payload": "ipv6", "local": local, "underlay": ["e1"], "mapping": mapping})
}

pub fn fixed(device: &str, ends: [&str; 2], payload: &str, mtu_bytes: u32) -> Value {
    let outer = if ends[0].contains(':') { "ipv6" } else { "ipv4" };
    let mut tunnel = tunnel(device, ends[0], &json!({"kind": "fixed", "remote": ends[1]}));
    tunnel["payload"] = json!(payload);
    tunnel["outer"] = json!(outer);
    tunnel["mtu_bytes"] = json!(mtu_bytes);
    tunnel
}

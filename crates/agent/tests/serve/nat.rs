//! A client behind a masquerading router, and a server whose address is the router's: neither knows how the other sees it.

use serde_json::{Value, json};

use crate::common::Agent;
use crate::server::{KeyFile, Server, TOKEN, in_namespace_of, session};

/// Where the client reaches the server, and the server's own address.
const PUBLIC: [&str; 2] = ["10.1.0.9", "2001:db8:1::9"];

fn build() -> Option<[Agent; 3]> {
    let mut nodes = [Agent::in_own_namespace()?, Agent::in_own_namespace()?, Agent::in_own_namespace()?];
    let pids = nodes.each_ref().map(Agent::pid);
    let [client, router, server] = &mut nodes;
    let shell = |node: &mut Agent, command: &str| node.exec(&["sh", "-ec", command]);
    for node in [&mut *client, &mut *router, &mut *server] {
        shell(node, "ip link set lo up; sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0");
    }
    shell(client, &format!("ip link add e0 type veth peer name e0 netns {}; ip link set e0 up", pids[1]));
    shell(server, &format!("ip link add e0 type veth peer name e1 netns {}; ip link set e0 up", pids[1]));
    shell(
        router,
        "ip link set e0 up; ip link set e1 up; sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; \
         for a in 10.1.0.1/24 10.1.0.9/24; do ip address add $a dev e0; done; ip address add 10.2.0.1/24 dev e1; \
         for a in 2001:db8:1::1/64 2001:db8:1::9/64; do ip address add $a dev e0 nodad; done; \
         ip address add 2001:db8:2::1/64 dev e1 nodad; nft add table inet nat; \
         nft add chain inet nat in '{ type nat hook prerouting priority dstnat; }'; \
         nft add chain inet nat out '{ type nat hook postrouting priority srcnat; }'; \
         nft add rule inet nat in ip daddr 10.1.0.9 dnat ip to 10.2.0.2; \
         nft add rule inet nat in ip6 daddr 2001:db8:1::9 dnat ip6 to 2001:db8:2::2; \
         nft add rule inet nat out oifname e1 masquerade random",
    );
    shell(client, "ip address add 10.1.0.2/24 dev e0; ip address add 2001:db8:1::2/64 dev e0 nodad");
    // The server has no way to the client's network: it answers the router, or nobody.
    shell(server, "ip address add 10.2.0.2/24 dev e0; ip address add 2001:db8:2::2/64 dev e0 nodad");
    Some(nodes)
}

#[test]
fn both_families_and_directions_pass_translators_on_both_sides() {
    let Some([mut local, _router, far]) = build() else { return };
    let key = KeyFile::new('9');
    let listen = ["--listen", "0.0.0.0,::"];
    let server = Server::start_as(in_namespace_of(far.pid()), &listen, Some(&key.0));
    let mut connect = in_namespace_of(local.pid());
    connect.args(["connect", PUBLIC[0], &server.port.to_string(), "--key"]).arg(&key.0);
    let mut remote = Agent::spawn(&mut connect).greeted();
    // Over one control connection of IPv4; the server can tell neither address of its own that the client uses.
    for (public, own) in PUBLIC.into_iter().zip(["10.1.0.2", "2001:db8:1::2"]) {
        for (workload, params) in [
            ("tcp-stream", json!({"bytes": 200_000, "direction": "both", "streams": 2})),
            ("tcp-crr", json!({"count": 20})),
            ("udp-rr", json!({"count": 20})),
            ("udp-stream", json!({"datagram_bytes": 500, "count": 100, "rate_bps": 20_000_000, "direction": "both"})),
            ("pmtu", json!({"transfer_bytes": 20_000})),
        ] {
            let served = remote.ok("serve", session("s", workload, public, &params));
            let run: Value = json!({
                "session": "c", "workload": workload, "address": own, "peer": public, "token": TOKEN, "params": params,
                "port": served["port"], "cookie": served["cookie"],
            });
            let result = local.ok("run", run);
            let finish =
                json!({"session": "s", "sent": result["forward_sender"]["sent"], "timeout_ns": 20_000_000_000_u64});
            let finished = remote.ok("finish", finish);
            let (found, expected) = match workload {
                "tcp-stream" => (&result["reverse_receiver"]["received_bytes"], 200_000),
                "udp-stream" => (&result["reverse_receiver"]["unique"], 100),
                "pmtu" => (&finished["reverse"]["probed_bytes"], 1500),
                _ => (&finished["transactions"], 20),
            };
            assert_eq!(*found, expected, "{workload} to {public}: {result} {finished}");
        }
    }
}

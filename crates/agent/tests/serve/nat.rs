//! A client behind a masquerading router, and a server whose address is the router's: neither knows how the other sees
//! it.

use serde_json::json;

use crate::common::{Agent, in_namespace_of, join, session, with};
use crate::server::{KeyFile, Server, run};

/// The addresses at which the client reaches the server: those of the NAT, and not the server's own.
const PUBLIC: [&str; 2] = ["10.1.0.9", "2001:db8:1::9"];

fn build() -> Option<[Agent; 3]> {
    let mut nodes = [Agent::node()?, Agent::node()?, Agent::node()?];
    let [client, router, server] = &mut nodes;
    let outside = ["10.1.0.1/24", "10.1.0.9/24", "2001:db8:1::1/64", "2001:db8:1::9/64"];
    join((client, "e0", &["10.1.0.2/24", "2001:db8:1::2/64"]), (router, "e0", &outside));
    // The server has no way to the client's network: it answers the router, or nobody.
    join((server, "e0", &["10.2.0.2/24", "2001:db8:2::2/64"]), (router, "e1", &["10.2.0.1/24", "2001:db8:2::1/64"]));
    router.shell(
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; nft add table inet nat; \
         nft add chain inet nat in '{ type nat hook prerouting priority dstnat; }'; \
         nft add chain inet nat out '{ type nat hook postrouting priority srcnat; }'; \
         nft add rule inet nat in ip daddr 10.1.0.9 dnat ip to 10.2.0.2; \
         nft add rule inet nat in ip6 daddr 2001:db8:1::9 dnat ip6 to 2001:db8:2::2; \
         nft add rule inet nat out oifname e1 masquerade random",
    );
    Some(nodes)
}

#[test]
fn both_families_and_directions_pass_translators_on_both_sides() {
    let Some([mut local, _router, far]) = build() else { return };
    let key = KeyFile::new('9');
    let listen = ["--listen", "0.0.0.0,::"];
    let server = Server::start_as(in_namespace_of(&far), &listen, Some(&key.0));
    let mut connect = in_namespace_of(&local);
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
            ("tls", json!({"count": 20})),
            ("quic-connect", json!({"count": 20})),
            ("dns", json!({"count": 20})),
        ] {
            let served = remote.ok("serve", session("s", workload, public, &params));
            let run = with(run("c", workload, public, &served, &params), json!({"address": own}));
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

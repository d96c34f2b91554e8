//! Path MTUs over chains of routers: real namespaces, real ICMP.

mod common;

use std::thread;

use common::{Agent, join, trial};
use serde_json::{Value, json};
use sixbench_wire::family::Family::{self, Ipv4, Ipv6};

const MS: u64 = 1_000_000;
/// Long enough for a machine that has other things to do.
const PROBE_TIMEOUT_NS: u64 = 60 * MS;

/// A host, routers and a host, in a line. Link k joins nodes k and k + 1; router k is node k, and sends on link k to
/// the last.
struct Chain {
    nodes: Vec<Agent>,
}

impl Chain {
    /// A chain with a link for each of these MTUs. `None`, with the reason printed, where the machine does not permit
    /// it.
    fn build(mtus: &[u32]) -> Option<Self> {
        let nodes = (0..=mtus.len()).map(|_| Agent::node()).collect::<Option<Vec<_>>>()?;
        let mut chain = Self { nodes };
        let last = mtus.len() - 1;
        for (link, mtu) in mtus.iter().enumerate() {
            let (before, after) = chain.nodes.split_at_mut(link + 1);
            let addresses = [1, 2].map(|end| [format!("10.0.{link}.{end}/24"), format!("2001:db8:{link}::{end}/64")]);
            let [near, far] = addresses.each_ref().map(|addresses| addresses.each_ref().map(String::as_str));
            join((&mut before[link], "right", &near), (&mut after[0], "left", &far));
            chain.set_mtu(link, *mtu);
        }
        for node in 0..=mtus.len() {
            let mut script = "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; true".to_owned();
            if node < last {
                script += &format!(
                    "; ip route add 10.0.{last}.0/24 via 10.0.{node}.2; ip route add 2001:db8:{last}::/64 via 2001:db8:{node}::2"
                );
            }
            if node > 1 {
                let before = node - 1;
                script += &format!(
                    "; ip route add 10.0.0.0/24 via 10.0.{before}.1; ip route add 2001:db8:0::/64 via 2001:db8:{before}::1"
                );
            }
            chain.shell(node, &script);
        }
        Some(chain)
    }

    fn shell(&mut self, node: usize, command: &str) -> String {
        self.nodes[node].shell(command)
    }

    /// Makes a router pass no message, and send none, that tells of an MTU.
    fn filter(&mut self, router: usize) {
        self.shell(
            router,
            "for hook in output forward; do \
             nft add table inet f_$hook; nft add chain inet f_$hook c \"{ type filter hook $hook priority 0; }\"; \
             nft add rule inet f_$hook c icmp type destination-unreachable drop; \
             nft add rule inet f_$hook c icmpv6 type packet-too-big drop; done",
        );
    }

    /// Makes a router send no error about packets that expire.
    fn silence(&mut self, router: usize) {
        self.shell(
            router,
            "nft add table inet silent; nft add chain inet silent c '{ type filter hook output priority 0; }'; \
             nft add rule inet silent c icmp type time-exceeded drop; \
             nft add rule inet silent c icmpv6 type time-exceeded drop",
        );
    }

    fn set_mtu(&mut self, link: usize, mtu: u32) {
        self.shell(link, &format!("ip link set right mtu {mtu}"));
        self.shell(link + 1, &format!("ip link set left mtu {mtu}"));
    }

    /// The addresses of the two hosts.
    fn ends(&self, family: Family) -> [String; 2] {
        let last = self.nodes.len() - 2;
        match family {
            Ipv4 => ["10.0.0.1".into(), format!("10.0.{last}.2")],
            Ipv6 => ["2001:db8:0::1".into(), format!("2001:db8:{last}::2")],
        }
    }

    /// The address with which a router answers the first host.
    fn towards_client(family: Family, router: usize) -> String {
        match family {
            Ipv4 => format!("10.0.{}.2", router - 1),
            Ipv6 => format!("2001:db8:{}::2", router - 1).replace(":0:", ":"),
        }
    }

    /// A session of the workload between the hosts; `seen` is the client's address as the server sees it.
    fn trial(&mut self, workload: &str, ends: [&str; 2], seen: &str, params: Value) -> (Value, Value) {
        let server = self.nodes.len() - 1;
        trial(&mut self.nodes, [0, server], workload, ends, seen, &params)
    }

    /// The results of `pmtu`, there and back.
    fn measure(&mut self, family: Family, stall_timeout_ns: u64) -> [Value; 2] {
        let ends = self.ends(family);
        let params = json!({"probe_timeout_ns": PROBE_TIMEOUT_NS, "stall_timeout_ns": stall_timeout_ns});
        let (mut client, mut server) = self.trial("pmtu", [&ends[0], &ends[1]], &ends[0], params);
        let found = [client["forward"].take(), server["reverse"].take()];
        for direction in &found {
            println!("{family:?} {direction}");
            assert_eq!(direction["forgotten"], true);
            assert_eq!(direction["routers"], self.nodes.len() - 2);
        }
        found
    }
}

/// Checks that all three ways give this MTU.
fn agree(found: &Value, mtu: u32) {
    for way in ["kernel_bytes", "probed_bytes", "tcp_bytes"] {
        assert_eq!(found[way], mtu, "{way}");
    }
    assert_eq!(found["kernel"]["confirmed"], true);
    for way in ["kernel", "probed", "tcp"] {
        assert!(found["converged_ns"][way].is_u64(), "{way}");
    }
    assert!(found.get("black_hole").is_none());
}

#[test]
fn nothing_is_narrower() {
    let Some(mut chain) = Chain::build(&[1500, 9000, 1500]) else { return };
    for family in [Ipv4, Ipv6] {
        for found in chain.measure(family, 10_000 * MS) {
            agree(&found, 1500);
            assert_eq!((&found["lost_probes"], &found["interface_bytes"]), (&json!(0), &json!(1500)));
            assert!(found.get("limiting_hop").is_none());
        }
    }
}

#[test]
fn routers_tell_of_a_path_that_becomes_narrower_and_again() {
    let Some(mut chain) = Chain::build(&[1500, 1450, 1400, 1500]) else { return };
    for family in [Ipv4, Ipv6] {
        // The kernel forgets the MTU after each trial, so that the next one learns it again.
        for _ in 0..2 {
            let [forward, reverse] = chain.measure(family, 10_000 * MS);
            agree(&forward, 1400);
            agree(&reverse, 1400);
            let reported: Vec<_> = forward["kernel"]["errors"].as_array().expect("a list").iter().collect();
            assert_eq!(reported.len(), 2, "{forward}");
            for (error, (router, mtu)) in reported.iter().zip([(1, 1450), (2, 1400)]) {
                assert_eq!(error["reported_mtu_bytes"], mtu);
                assert_eq!(error["address"], Chain::towards_client(family, router));
            }
            let hop = &forward["limiting_hop"];
            assert_eq!((&hop["index"], &hop["reported_mtu_bytes"]), (&json!(2), &json!(1400)));
            assert_eq!(hop["address"], Chain::towards_client(family, 2));
            // It is the first router as seen from the other end.
            assert_eq!(
                (&reverse["limiting_hop"]["index"], &reverse["limiting_hop"]["reported_mtu_bytes"]),
                (&json!(1), &json!(1400))
            );
        }
    }
}

#[test]
fn a_router_that_does_not_tell_is_named_wherever_it_is() {
    // Most of the time is waiting for answers that do not come.
    thread::scope(|scope| {
        for router in 1..=10 {
            scope.spawn(move || it_is_named(router));
        }
    });
}

fn it_is_named(router: usize) {
    let Some(mut chain) = Chain::build(&[1500; 11]) else { return };
    chain.set_mtu(router, 1400);
    chain.filter(router);
    for family in [Ipv4, Ipv6] {
        let [forward, reverse] = chain.measure(family, 300 * MS);
        assert_eq!((&forward["kernel_bytes"], &forward["kernel"]["silent"]), (&json!(1500), &json!(true)));
        assert_eq!(forward["probed_bytes"], 1400);
        // The server is behind the last router, and its TCP tells the MSS of its own interface.
        let tcp_bytes = if router == 10 { json!(1400) } else { Value::Null };
        assert_eq!((&forward["tcp_bytes"], &forward["tcp"]["stalled"]), (&tcp_bytes, &json!(router != 10)));
        let hole = &forward["black_hole"];
        assert_eq!((&hole["index"], &hole["packet_bytes"]), (&json!(router), &json!(1500)), "{forward}");
        assert_eq!(hole["before"], Chain::towards_client(family, router));
        let after =
            if router == 10 { chain.ends(family)[1].clone() } else { Chain::towards_client(family, router + 1) };
        assert_eq!(hole["after"], after);
        assert_eq!(forward["limiting_hop"]["index"], router);
        assert!(forward["limiting_hop"].get("reported_mtu_bytes").is_none());
        // The other end of the link does tell; of the last link it is the server, whose interface is narrow.
        assert_eq!(reverse["probed_bytes"], 1400);
        assert!(reverse.get("black_hole").is_none(), "{reverse}");
    }
}

#[test]
fn lost_packets_make_no_black_hole() {
    let Some(mut chain) = Chain::build(&[1500; 4]) else { return };
    // Every fifth datagram is lost, whatever its size.
    chain.shell(
        2,
        "nft add table inet loss; nft add chain inet loss c '{ type filter hook forward priority 0; }'; \
         nft add rule inet loss c meta l4proto udp numgen inc mod 5 == 0 drop",
    );
    for family in [Ipv4, Ipv6] {
        for found in chain.measure(family, 10_000 * MS) {
            agree(&found, 1500);
            assert!(found.get("limiting_hop").is_none());
        }
    }
}

#[test]
fn where_packets_vanish_is_named_and_not_where_the_message_does() {
    let Some(mut chain) = Chain::build(&[1500, 1500, 1500, 1500, 1400, 1500]) else { return };
    // Router 4 tells, and router 2 drops what it says.
    chain.filter(2);
    for family in [Ipv4, Ipv6] {
        let [forward, _] = chain.measure(family, 300 * MS);
        assert_eq!(forward["black_hole"]["index"], 4, "{forward}");
    }
    // Router 1 tells, and what the kernel has learned from it leads it into a black hole at router 4.
    chain.shell(2, "nft flush ruleset");
    chain.set_mtu(1, 1450);
    chain.filter(4);
    for family in [Ipv4, Ipv6] {
        let [forward, _] = chain.measure(family, 300 * MS);
        assert_eq!((&forward["kernel_bytes"], &forward["probed_bytes"]), (&json!(1450), &json!(1400)));
        assert_eq!(
            (&forward["black_hole"]["index"], &forward["black_hole"]["packet_bytes"]),
            (&json!(4), &json!(1450))
        );
        assert_eq!(forward["kernel"]["errors"][0]["reported_mtu_bytes"], 1450);
    }
}

#[test]
fn routers_that_say_nothing_of_expired_packets_leave_it_unknown() {
    let Some(mut chain) = Chain::build(&[1500, 1500, 1400, 1500]) else { return };
    chain.filter(2);
    chain.silence(2);
    for family in [Ipv4, Ipv6] {
        let [forward, _] = chain.measure(family, 300 * MS);
        assert_eq!(forward["black_hole"]["between"], json!([1, 2]), "{forward}");
        assert!(forward["black_hole"].get("index").is_none());
    }
    chain.silence(1);
    chain.silence(3);
    for family in [Ipv4, Ipv6] {
        let [forward, _] = chain.measure(family, 300 * MS);
        let hole = forward["black_hole"].as_object().expect("it is one");
        assert_eq!(hole.keys().collect::<Vec<_>>(), ["packet_bytes"]);
        assert_eq!(forward["probed_bytes"], 1400);
    }
}

#[test]
fn the_directions_may_differ() {
    let Some(mut chain) = Chain::build(&[1500, 1500, 1500]) else { return };
    chain.shell(1, "ip route replace 10.0.2.0/24 via 10.0.1.2 mtu lock 1300");
    chain.shell(1, "ip route replace 2001:db8:2::/64 via 2001:db8:1::2 mtu lock 1300");
    for family in [Ipv4, Ipv6] {
        let [forward, reverse] = chain.measure(family, 10_000 * MS);
        agree(&forward, 1300);
        agree(&reverse, 1500);
        assert_eq!(forward["limiting_hop"]["index"], 1);
        assert!(reverse.get("limiting_hop").is_none());
    }
}

#[test]
fn less_than_the_base_is_found_too() {
    let Some(mut chain) = Chain::build(&[1500; 3]) else { return };
    chain.set_mtu(1, 400);
    // The kernel does not believe in less than `net.ipv4.route.min_pmtu`, 552, and then fragments.
    let [forward, reverse] = chain.measure(Ipv4, 10_000 * MS);
    for found in [&forward, &reverse] {
        assert_eq!((&found["probed_bytes"], &found["kernel_bytes"]), (&json!(400), &json!(552)));
        assert_eq!((&found["kernel"]["confirmed"], &found["kernel"]["silent"]), (&json!(false), &json!(false)));
        assert_eq!(
            (&found["limiting_hop"]["index"], &found["limiting_hop"]["reported_mtu_bytes"]),
            (&json!(1), &json!(400))
        );
        assert!(found.get("black_hole").is_none());
    }
}

#[test]
fn the_way_back_is_found_through_a_router_that_masquerades() {
    let Some(mut chain) = Chain::build(&[1500, 1500, 1400]) else { return };
    chain.shell(
        1,
        "nft add table inet nat; nft add chain inet nat post '{ type nat hook postrouting priority 100; }'; \
         nft add rule inet nat post oifname right masquerade",
    );
    // Nobody but router 1 knows the way to the client.
    for node in [2, 3] {
        chain.shell(node, "ip route del 10.0.0.0/24; ip -6 route del 2001:db8:0::/64");
        let before = node - 1;
        if node == 3 {
            chain.shell(node, &format!("ip route add 10.0.1.0/24 via 10.0.{before}.1; ip route add 2001:db8:1::/64 via 2001:db8:{before}::1"));
        }
    }
    for (family, seen) in [(Ipv4, "10.0.1.1"), (Ipv6, "2001:db8:1::1")] {
        let ends = chain.ends(family);
        let (client, server) =
            chain.trial("pmtu", [&ends[0], &ends[1]], seen, json!({"probe_timeout_ns": PROBE_TIMEOUT_NS}));
        println!("{client} {server}");
        agree(&client["forward"], 1400);
        assert_eq!(client["forward"]["limiting_hop"]["index"], 2);
        agree(&server["reverse"], 1400);
        assert_eq!(server["reverse"]["routers"], 2);
    }
}

#[test]
fn tcp_that_probes_gets_out_of_a_black_hole() {
    let Some(mut chain) = Chain::build(&[1500, 1300, 1500]) else { return };
    chain.filter(1);
    chain.shell(0, "sysctl -qw net.ipv4.tcp_mtu_probing=1");
    let [forward, _] = chain.measure(Ipv6, 60_000 * MS);
    assert_eq!((&forward["tcp"]["stalled"], &forward["black_hole"]["index"]), (&json!(false), &json!(1)));
    // It is content with what gets through.
    assert!(forward["tcp_bytes"].as_u64() <= Some(1300), "{forward}");
}

#[test]
fn each_df_policy_has_its_ledger() {
    let Some(mut chain) = Chain::build(&[1500, 1400, 1500]) else { return };
    for family in [Ipv4, Ipv6] {
        let ends = chain.ends(family);
        let reported = if family == Ipv4 { "fragmentation-needed" } else { "packet-too-big" };
        for df in ["clear", "kernel", "probe", "set"] {
            chain.shell(0, "ip route flush cache; ip -6 route flush cache");
            let params = json!({"datagram_bytes": 1430, "count": 20, "rate_pps": 200, "df": df});
            let (client, server) = chain.trial("udp-stream", [&ends[0], &ends[1]], &ends[0], params);
            println!("{family:?} {df} {client} {server}");
            let number = |value: &Value| value.as_u64().expect("a number");
            let (sent, unique, lost) = (
                number(&client["sent"]),
                number(&server["unique"]),
                number(&server["lost_tail"]) + number(&server["lost_middle"]),
            );
            assert_eq!(unique + lost, sent);
            match df {
                "clear" => assert!(client.get("refused").is_none() && unique >= 19, "{df}"),
                "kernel" => assert!(client["refused"] == 0 && unique >= 15 && number(&client["errors"][reported]) >= 1),
                "probe" => assert_eq!((sent, unique, &client["errors"]), (20, 0, &json!({reported: 20}))),
                _ => {
                    assert_eq!((unique, sent + number(&client["refused"])), (0, 20));
                    assert_eq!(client["errors"], json!({reported: sent}));
                }
            }
            assert_eq!(client["send_errors"], json!({}));
        }
    }
}

//! Tunnels over paths that are narrow, unknown, shared or hostile.

mod common;

use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use common::chain::{Chain, HOST_1, HOST_2, ROUTER_1, ROUTER_2, fixed, packets, tunnel};
use common::{Agent, PATIENCE, within};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};
use serde_json::json;

#[test]
#[ignore = "needs root: it loads BPF programs"]
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

/// A configured tunnel between the routers, over a link that is narrower than it.
fn over_a_narrow_link(engine: &'static str, outer: &str, pmtu: &str) -> Option<Chain> {
    let mut chain = Chain::build()?;
    chain.engine = engine;
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    let mtu_bytes = 1500 - if outer == "10.0.0." { 24 } else { 44 };
    chain.tunnel_between_routers(outer, "gre", mtu_bytes, &json!({"pmtu": pmtu}));
    for router in [ROUTER_1, ROUTER_2] {
        chain.shell(router, "ip link set e1 mtu 1400");
    }
    Some(chain)
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn outer_packets_are_fragmented_and_reassembled_where_that_is_allowed() {
    for (outer, mtu_bytes) in [("10.0.0.", 1476), ("2001:db8::", 1456)] {
        let Some(mut chain) = over_a_narrow_link("ebpf", outer, "static") else { return };
        chain.proves_itself(HOST_1, HOST_2, "2001:db8:2::2", mtu_bytes);
        // The last ones may be under way: on a busy machine they wait for the threads of the slow path.
        let until = Instant::now() + PATIENCE;
        let (one, other) = loop {
            let (one, other) = (chain.counters(ROUTER_1, "sb0"), chain.counters(ROUTER_2, "sb0"));
            let is_over = |sender, receiver| {
                let lost = packets(sender, "slow.neighbour-unresolved");
                packets(sender, "slow_encapsulated").abs_diff(packets(receiver, "slow_decapsulated")) < 8 + lost
            };
            if is_over(&one, &other) && is_over(&other, &one) || Instant::now() > until {
                break (one, other);
            }
            thread::sleep(Duration::from_millis(10));
        };
        for (sender, receiver) in [(&one, &other), (&other, &one)] {
            let slow = packets(sender, "slow.outer-too-big");
            assert!(slow > 1000, "{sender}");
            // Other packets were slow, too, while the next hop was unknown.
            let unresolved = packets(sender, "slow.neighbour-unresolved");
            assert!(packets(sender, "slow_encapsulated") <= slow + unresolved, "{sender}");
            let received = packets(receiver, "slow_decapsulated");
            assert!(packets(sender, "slow_encapsulated").abs_diff(received) < 8 + unresolved, "{sender} {receiver}");
            assert_eq!(packets(sender, "drops.outer-too-big"), 0, "{sender}");
        }
    }
}

/// The other end has a larger MTU: what it sends is reassembled and goes on by the MTU of the next link, whatever that
/// of the tunnel is (RFC 4213 section 3.2, RFC 2473 section 3.3). Linux's own tunnels take it likewise.
#[test]
#[ignore = "needs root: it loads BPF programs"]
fn what_is_reassembled_may_be_longer_than_the_device() {
    for engine in ["ebpf", "user"] {
        for (outer, payload, to) in
            [("10.0.0.", "ipv6", "2001:db8:2::"), ("2001:db8::", "ipv4", "10.2.0."), ("10.0.0.", "gre", "10.2.0.")]
        {
            let Some(mut chain) = Chain::build() else { return };
            chain.engine = engine;
            chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
            for (router, mtu_bytes, from, peer) in [(ROUTER_1, 9000, 1, 2), (ROUTER_2, 1280, 2, 1)] {
                let ends = [format!("{outer}{from}"), format!("{outer}{peer}")];
                chain.add(router, fixed("sb0", [&ends[0], &ends[1]], payload, mtu_bytes));
                chain.shell(
                    router,
                    &format!(
                        "ip link set e0 mtu 9000; ip route add 2001:db8:{peer}::/64 dev sb0 || true; ip route replace 10.{peer}.0.0/24 dev sb0"
                    ),
                );
            }
            for host in [HOST_1, HOST_2] {
                chain.shell(host, "ip link set e0 mtu 9000");
            }
            // Echoes come back in fragments, as the way back is narrow: DF is for requests alone.
            let headers = if to.contains(':') { 48 } else { 28 };
            let echoes = "nstat -asz IcmpInEchos Icmp6InEchos | awk '/InEchos/ {sum += $2} END {print sum}'";
            let heard = |chain: &mut Chain| chain.shell(HOST_2, echoes).trim().parse::<u64>().expect("a number");
            for most in [1400 - headers, 8000] {
                let before = heard(&mut chain);
                chain.shell(HOST_1, &format!("ping -c 2 -i 0.01 -W 1 -M do -s {most} {to}2 || true"));
                assert_eq!(heard(&mut chain), before + 2, "{engine} {outer} {to}");
            }
            // The node itself may be meant, too.
            chain.shell(HOST_1, &format!("ping -c 1 -W 1 -M do -s 8000 {to}1 || true"));
            let counters = chain.counters(ROUTER_2, "sb0");
            assert!(packets(&counters, "slow_decapsulated") >= 3, "{counters}");
            assert_eq!(
                packets(&counters, "drops.inner-too-long") + packets(&counters, "drops.no-room"),
                0,
                "{counters}"
            );
            // The source is told of a next link that is too narrow, as by any router.
            chain.shell(ROUTER_2, "ip link set e0 mtu 1400");
            let output = chain.shell(HOST_1, &format!("ping -c 2 -i 0.2 -W 1 -M do -s 8000 {to}2 || true"));
            assert!(
                output.contains("mtu = 1400") || output.contains("mtu=1400") || output.contains("mtu: 1400"),
                "{output}"
            );
        }
    }
}

/// RFC 4213 section 3.2.2, RFC 2473 sections 7.1 and 7.2.
#[test]
#[ignore = "needs root: it loads BPF programs"]
fn sources_are_told_of_the_path_mtu_where_outer_packets_must_stay_whole() {
    for (outer, overhead) in [("10.0.0.", 24), ("2001:db8::", 44)] {
        for engine in ["ebpf", "user"] {
            let Some(mut chain) = over_a_narrow_link(engine, outer, "dynamic") else { return };
            for to in ["2001:db8:2::2", "10.2.0.2"] {
                chain.proves_itself(HOST_1, HOST_2, to, 1400 - overhead);
            }
            let counters = chain.counters(ROUTER_1, "sb0");
            assert!(packets(&counters, "drops.outer-too-big") > 0, "{counters}");
            if engine == "ebpf" {
                let unresolved = packets(&counters, "slow.neighbour-unresolved");
                assert!(packets(&counters, "slow_encapsulated") <= unresolved, "{counters}");
            }
            // Packets that may be fragmented are: IPv4 without DF, and those that every IPv6 link carries.
            chain.shell(HOST_1, "ping -c 1 -W 5 -M dont -s 1400 10.2.0.2");
            for router in [ROUTER_1, ROUTER_2] {
                chain.shell(router, "ip link set e1 mtu 1300");
            }
            chain.shell(HOST_1, "ping -c 1 -W 5 -M do -s 1232 2001:db8:2::2");
        }
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn the_first_packets_wait_for_their_next_hop() {
    for outer in ["10.0.0.", "2001:db8::"] {
        let Some(mut chain) = over_a_narrow_link("ebpf", outer, "static") else { return };
        for _ in 0..10 {
            for router in [ROUTER_1, ROUTER_2] {
                chain.shell(router, "ip neighbour flush dev e1");
            }
            let words = chain.shell(HOST_1, "ping -c 20 -i 0.002 -w 10 2001:db8:2::2");
            assert!(has_answers(&words, 20), "{words}");
        }
        let counters = chain.counters(ROUTER_1, "sb0");
        assert!(packets(&counters, "slow.neighbour-unresolved") >= 10, "{counters}");
        assert!(packets(&counters, "encapsulated") > 100, "{counters}");
    }
}

/// True if the first echoes are all answered. With a deadline (`-w`), ping waits for late answers, and sends on
/// meanwhile.
fn has_answers(words: &str, count: u32) -> bool {
    (1..=count).all(|number| words.contains(&format!("icmp_seq={number} ")))
}

/// A tunnel with a peer and one without, or with other keys, at the same address.
#[test]
#[ignore = "needs root: it loads BPF programs"]
fn every_packet_is_one_tunnels() {
    for engine in ["ebpf", "user"] {
        let Some(mut chain) = Chain::build() else { return };
        chain.engine = engine;
        chain.number_hosts(["2002:a00:1:1::", "2001:db8:2::"]);
        // The one without a peer is the first.
        let mapping = json!({"kind": "6to4", "allow_private": true});
        chain.add(ROUTER_2, tunnel("sb1", "10.0.0.2", &mapping));
        chain.add(ROUTER_2, fixed("sb0", ["10.0.0.2", "10.0.0.1"], "ipv6", 1480));
        chain.add(ROUTER_1, fixed("sb0", ["10.0.0.1", "10.0.0.2"], "ipv6", 1480));
        chain.shell(ROUTER_1, "ip route add 2001:db8:2::/64 dev sb0");
        chain.shell(ROUTER_2, "ip route add 2002:a00:1::/48 dev sb0");
        let words = chain.shell(HOST_1, "ping -c 10 -i 0.01 -w 10 2001:db8:2::2");
        for router in [ROUTER_1, ROUTER_2] {
            chain.shell(router, "ip link set e1 mtu 1300");
        }
        // These packets come in fragments, which only the kernel puts together.
        let long = chain.shell(HOST_1, "ping -c 10 -i 0.01 -w 10 -s 1400 2001:db8:2::2");
        for words in [words, long] {
            assert!(has_answers(&words, 10) && !words.contains("duplicates"), "{words}");
        }
        let counters = chain.counters(ROUTER_2, "sb1");
        assert_eq!(packets(&counters, "decapsulated") + packets(&counters, "slow_decapsulated"), 0, "{counters}");
        // Packets that the node itself sends to groups have no mapping.
        let reasons: Vec<&String> = counters["drops"].as_object().expect("an object").keys().collect();
        assert!(
            reasons.iter().all(|reason| ["no-mapping", "carrier-unreachable"].contains(&reason.as_str())),
            "{reasons:?}"
        );

        for router in [ROUTER_1, ROUTER_2] {
            let end = if router == ROUTER_1 { ["10.0.0.1", "10.0.0.2"] } else { ["10.0.0.2", "10.0.0.1"] };
            for key in [1, 2] {
                let mut keyed = fixed(&format!("key{key}"), end, "gre", 1400);
                keyed["gre_key"] = json!(key);
                chain.add(router, keyed);
                chain.shell(router, &format!("ip address add 10.9.{key}.{router}/24 dev key{key}"));
            }
        }
        for key in [1, 2] {
            chain.shell(
                ROUTER_1,
                &format!("ping -c 3 -i 0.01 -W 5 10.9.{key}.{ROUTER_2}; ping -c 1 -W 5 -s 1372 10.9.{key}.{ROUTER_2}"),
            );
        }
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn errors_of_the_carrier_reach_the_source() {
    let Some(mut chain) = Chain::build() else { return };
    chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
    // Errors are limited to one a second, and the device's own multicast provokes the first ones.
    for router in [ROUTER_1, ROUTER_2] {
        chain.shell(router, "sysctl -q -w net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0");
    }
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
#[ignore = "needs root: it loads BPF programs"]
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

/// First fragments of packets whose rest never comes, from a peer.
fn send_incomplete_fragments(from: &Agent, count: u16) {
    within(from, move || {
        let socket =
            socket(AddressFamily::Inet, SockType::Raw, SockFlag::empty(), SockProtocol::Raw).expect("a raw socket");
        for identification in 1..=count {
            let [high, low] = identification.to_be_bytes();
            let mut packet = vec![0x45, 0, 0, 0, high, low, 0x20, 0, 64, 41, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            packet.extend([0x60; 64]);
            let to = SockaddrIn::new(10, 0, 0, 2, 0);
            sendto(socket.as_raw_fd(), &packet, &to, MsgFlags::empty()).expect("it is sent");
        }
    });
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn fragments_that_never_complete_take_bounded_memory() {
    for engine in ["ebpf", "user"] {
        let Some(mut chain) = Chain::build() else { return };
        chain.engine = engine;
        chain.number_hosts(["2001:db8:1::", "2001:db8:2::"]);
        chain.tunnel_between_routers("10.0.0.", "ipv6", 1480, &json!({}));
        for router in [ROUTER_1, ROUTER_2] {
            chain.shell(router, "ip link set e1 mtu 1300");
        }
        // Fragments that are long enough to be sent so, and reassembled, before.
        chain.shell(HOST_1, "ping -c 1 -W 5 -s 1400 2001:db8:2::2");
        chain.shell(ROUTER_2, "sysctl -qw net.ipv4.ipfrag_time=2");
        send_incomplete_fragments(&chain.nodes[ROUTER_1], 10_000);
        chain.shell(HOST_1, "ping -c 10 -i 0.01 -W 5 2001:db8:2::2");
        let held = chain.shell(ROUTER_2, "sed -n 's/^FRAG: inuse [0-9]* memory //p' /proc/net/sockstat");
        let most = chain.shell(ROUTER_2, "cat /proc/sys/net/ipv4/ipfrag_high_thresh");
        let [held, most] = [held, most].map(|number| number.trim().parse::<u64>().expect("a number"));
        // The last one may begin below the threshold.
        assert!(held < most + 10_000, "{held} {most}");
        // The fragments are given up when their time is over, and others have room again.
        let recovered = "until ping -c 1 -W 1 -s 1400 2001:db8:2::2 >/dev/null; do :; done";
        chain.shell(HOST_1, recovered);
        let failed = "awk '/^Ip: [0-9]/ {print $17}' /proc/net/snmp";
        let failed: u64 = chain.shell(ROUTER_2, failed).trim().parse().expect("a number");
        assert!(failed >= 10_000, "{failed}");
        if engine == "ebpf" {
            let counters = chain.counters(ROUTER_2, "sb0");
            assert!(packets(&counters, "slow.outer-fragment") >= 10_000, "{counters}");
        }
    }
}

//! A route is looked up once a tick of the kernel's clock.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{Bench, Ran};
use serde_json::json;
use sixbench_plane::Spec;
use sixbench_plane::abi::Outcome;

/// Far more than a tick. A packet takes some microseconds.
const PACKETS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(5);

fn tunnel(outer: &str, payload: &str) -> Spec {
    let [local, remote] = if outer == "ipv4" { ["192.0.2.1", "192.0.2.2"] } else { ["2001:db8::1", "2001:db8::2"] };
    serde_json::from_value(json!({
        "device": "sb0", "mtu_bytes": 1440, "outer": outer, "payload": payload, "local": local, "underlay": ["c0"],
        "mapping": {"kind": "fixed", "remote": remote}
    }))
    .expect("a tunnel")
}

fn ipv6_packet(payload_bytes: u16) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(payload_bytes.to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(std::net::Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1).octets());
    packet.extend(std::net::Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2).octets());
    packet.extend(vec![0; payload_bytes.into()]);
    packet
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

/// Until a packet has that outcome: the tick is over in which the route was looked up.
fn until(outcome: Outcome, mut run: impl FnMut() -> Ran) {
    let end = Instant::now() + PATIENCE;
    while run().outcome != outcome {
        assert!(Instant::now() < end, "no packet was {outcome:?} within {PATIENCE:?}");
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn packets_of_a_tick_are_alike_and_go_to_the_same_neighbour() {
    let Some(bench) = Bench::build() else { return };
    for outer in ["ipv4", "ipv6"] {
        let loaded = bench.load(&tunnel(outer, "gre"));
        let sent: Vec<Ran> = (0..PACKETS).map(|_| loaded.encapsulate(&ipv6_packet(64))).collect();
        let without_identification = |ran: &Ran| {
            let mut packet = ran.packet.clone().expect("a packet");
            if outer == "ipv4" {
                packet.drain(..20);
            }
            packet
        };
        for ran in &sent {
            assert_eq!(ran.outcome, Outcome::Encapsulated);
            assert_eq!(without_identification(ran), without_identification(&sent[0]));
        }
        let ethertype = if outer == "ipv4" { [0x08, 0x00] } else { [0x86, 0xdd] };
        let header = [&[2, 0, 0, 0, 0, 2][..], &[2, 0, 0, 0, 0, 1], &ethertype].concat();
        let ready = sent.iter().filter(|ran| ran.ethernet == header).count();
        assert!(ready > PACKETS / 2, "{ready} of {PACKETS} had their Ethernet header");
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_route_that_goes_is_noticed_and_so_is_one_that_comes() {
    let Some(bench) = Bench::build() else { return };
    let loaded = bench.load(&tunnel("ipv4", "ipv6"));
    let packet = ipv6_packet(64);
    assert_eq!(loaded.encapsulate(&packet).outcome, Outcome::Encapsulated);
    ip("route del default");
    until(Outcome::NoRoute, || loaded.encapsulate(&packet));
    ip("route add default via 192.0.2.200");
    until(Outcome::Encapsulated, || loaded.encapsulate(&packet));
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_longer_packet_is_looked_up_by_its_own_length() {
    let Some(bench) = Bench::build() else { return };
    let loaded = bench.load(&tunnel("ipv4", "ipv6"));
    ip("link set c0 mtu 1300");
    for _ in 0..PACKETS {
        assert_eq!(loaded.encapsulate(&ipv6_packet(64)).outcome, Outcome::Encapsulated);
        assert_eq!(loaded.encapsulate(&ipv6_packet(1300)).outcome, Outcome::OuterTooBig);
    }
}

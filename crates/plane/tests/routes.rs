//! A route is looked up once a tick of the kernel's clock.

mod common;

use std::net::Ipv6Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Bench, ON_LINK, Ran};
use serde_json::json;
use sixbench_plane::abi::Outcome;
use sixbench_plane::features::Features;
use sixbench_plane::translators::Program;
use sixbench_plane::{Spec, sys};
use sixbench_wire::addresses::Net;
use sixbench_wire::checksum;
use sixbench_wire::siit::Settings;

/// Far more than a tick. A packet takes some microseconds.
const PACKETS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(300);

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
    packet.extend(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1).octets());
    packet.extend(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2).octets());
    packet.extend(vec![0; payload_bytes.into()]);
    packet
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

/// Runs until a packet has that outcome: then the tick is over in which the route was looked up.
fn until<T: PartialEq + std::fmt::Debug>(outcome: T, mut run: impl FnMut() -> T) {
    let end = Instant::now() + PATIENCE;
    while run() != outcome {
        assert!(Instant::now() < end, "no packet was {outcome:?} within {PATIENCE:?}");
    }
}

/// A translator's program, and where its packets are routed from.
struct Translating(Program, u32);

/// The program's return values: TC_ACT_UNSPEC and TC_ACT_REDIRECT.
const LEFT: i32 = -1;
const SENT: i32 = 7;

impl Translating {
    fn new(bench: &Bench) -> Self {
        let settings = Settings {
            prefixes: vec![Net { address: Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0, 0), bits: 96 }],
            ..Settings::default()
        };
        let ifindex = bench.far_ifindex();
        let program = Program::load("sb0", &settings, ifindex, false, Features::here());
        Self(program.unwrap_or_else(|error| panic!("{error}")), ifindex)
    }

    /// Runs the program on a datagram to 198.51.100.HOST. Returns its verdict, and the frame that it makes.
    fn run(&self, host: u16, payload_bytes: u16) -> (i32, Vec<u8>) {
        let mut packet = ipv6_packet(payload_bytes);
        packet[8..24].copy_from_slice(&Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x0221).octets());
        packet[24..40].copy_from_slice(&Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc633, 0x6400 | host).octets());
        packet[46] = 1; // UDP without a checksum is for the slow path.
        let frame = [&[2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x86, 0xdd][..], &packet].concat();
        let descriptor = self.0.descriptor().expect("a descriptor");
        let run = sys::test_run(descriptor.as_fd(), &frame, self.1, 1).expect("a test run");
        (run.action, run.packet)
    }

    fn action(&self, payload_bytes: u16) -> i32 {
        self.run(7, payload_bytes).0
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
    until(Outcome::NoRoute, || loaded.encapsulate(&packet).outcome);
    ip("route add default via 192.0.2.200");
    until(Outcome::Encapsulated, || loaded.encapsulate(&packet).outcome);
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

/// A packet from 192.0.2.2 to 192.0.2.1, with a datagram in it whose source is the ISATAP address of the sender in that
/// network.
fn isatap_packet(network: u16) -> Vec<u8> {
    let mut inner = ipv6_packet(64);
    inner[8..24].copy_from_slice(&Ipv6Addr::new(0x2001, 0xdb8, network, 0, 0, 0x5efe, 0xc000, 0x0202).octets());
    let mut packet = vec![0x45, 0, 0, 20 + inner.len() as u8, 0, 0, 0, 0, 64, 41, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1];
    let sum = checksum::checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    [packet, inner].concat()
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn an_isatap_source_that_leaves_the_link_is_noticed_and_each_source_is_asked_for() {
    let Some(bench) = Bench::build() else { return };
    let mut spec = tunnel("ipv4", "ipv6");
    spec.mapping = serde_json::from_value(json!({"kind": "isatap", "routers": ["192.0.2.9"]})).expect("a mapping");
    let loaded = bench.load(&spec);
    for _ in 0..PACKETS {
        assert_eq!(loaded.decapsulate(&isatap_packet(5)).outcome, Outcome::Decapsulated);
        assert_eq!(loaded.decapsulate(&isatap_packet(6)).outcome, Outcome::InnerSourceOffLink);
    }
    ip(&format!("-6 route del {ON_LINK} dev sb0"));
    until(Outcome::InnerSourceOffLink, || loaded.decapsulate(&isatap_packet(5)).outcome);
    ip(&format!("-6 route add {ON_LINK} dev sb0"));
    until(Outcome::Decapsulated, || loaded.decapsulate(&isatap_packet(5)).outcome);
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_translator_notices_routes_that_go_and_come() {
    let Some(bench) = Bench::build() else { return };
    let translating = Translating::new(&bench);
    assert_eq!(translating.action(64), SENT);
    ip("route del default");
    until(LEFT, || translating.action(64));
    ip("route add default via 192.0.2.200");
    until(SENT, || translating.action(64));
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_translator_looks_up_each_destination_and_each_longer_packet() {
    let Some(bench) = Bench::build() else { return };
    let translating = Translating::new(&bench);
    ip("link set c0 mtu 1300");
    ip("route add 198.51.100.8 via 192.0.2.201 dev c0 onlink");
    ip("neighbour add 192.0.2.201 lladdr 02:00:00:00:00:03 dev c0");
    for _ in 0..PACKETS {
        for (host, neighbour) in [(7, 2), (8, 3)] {
            let (action, frame) = translating.run(host, 64);
            assert_eq!((action, &frame[..6]), (SENT, &[2, 0, 0, 0, 0, neighbour][..]));
        }
        assert_eq!(translating.action(1300), LEFT);
    }
}

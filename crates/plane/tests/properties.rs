//! Properties that hold for any packet.

mod common;

use std::net::{Ipv4Addr, Ipv6Addr};

use common::Bench;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use sixbench_plane::Spec;
use sixbench_plane::abi::{Address, Outcome};
use sixbench_plane::slow::rules;
use sixbench_wire::{Span, checksum, ipv4};

/// The two ends of a tunnel.
fn ends(outer: &str, payload: &str) -> [Spec; 2] {
    let addresses = if outer == "ipv4" { ["192.0.2.1", "192.0.2.2"] } else { ["2001:db8::1", "2001:db8::2"] };
    [(0, 1), (1, 0)].map(|(local, remote)| {
        serde_json::from_value(json!({
            "device": "sb0", "mtu_bytes": 1440, "outer": outer, "payload": payload, "local": addresses[local], "underlay": ["c0"],
            "mapping": {"kind": "fixed", "remote": addresses[remote]}
        }))
        .expect("a tunnel")
    })
}

/// An IPv6 packet that a node may send, which is not a tunnel's.
fn ipv6_packet() -> impl Strategy<Value = Vec<u8>> {
    let address = (0x2000_u16..0x4000, any::<[u8; 14]>()).prop_map(|(first, rest)| {
        let mut octets = [0; 16];
        octets[..2].copy_from_slice(&first.to_be_bytes());
        octets[2..].copy_from_slice(&rest);
        Ipv6Addr::from(octets)
    });
    (any::<u32>(), any::<u8>(), address.clone(), address, vec(any::<u8>(), 0..1400)).prop_map(
        |(first, hop_limit, source, destination, payload)| {
            let mut packet = ((6 << 28) | (first >> 4)).to_be_bytes().to_vec();
            packet.extend((payload.len() as u16).to_be_bytes());
            packet.extend([17, hop_limit]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
            packet.extend(payload);
            packet
        },
    )
}

/// An IPv4 packet likewise, with options.
fn ipv4_packet() -> impl Strategy<Value = Vec<u8>> {
    let address = (1_u32..0x7f00_0000).prop_filter("0/8", |bits| bits >> 24 != 0).prop_map(Ipv4Addr::from_bits);
    (any::<[u8; 6]>(), 0_usize..=10, address.clone(), address, vec(any::<u8>(), 0..1380)).prop_map(
        |([tos, id, id2, flags, offset, ttl], option_words, source, destination, payload)| {
            let mut packet = vec![0x45 + option_words as u8, tos];
            packet.extend(((20 + 4 * option_words + payload.len()) as u16).to_be_bytes());
            packet.extend([id, id2, flags & 0x7f, offset, ttl, 17, 0, 0]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
            packet.extend(vec![1; 4 * option_words]);
            let sum = checksum::checksum(&packet);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            packet.extend(payload);
            packet
        },
    )
}

fn check(
    cases: u32,
    strategy: impl Strategy<Value = Vec<u8>>,
    property: impl Fn(Vec<u8>) -> Result<(), TestCaseError>,
) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner.run(&strategy, property).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn decapsulation_undoes_encapsulation() {
    let Some(bench) = Bench::build() else { return };
    for (outer, payload, is_ipv6) in [
        ("ipv4", "ipv6", true),
        ("ipv6", "ipv4", false),
        ("ipv4", "gre", true),
        ("ipv4", "gre", false),
        ("ipv6", "gre", true),
        ("ipv6", "gre", false),
    ] {
        let [one, other] = ends(outer, payload).map(|spec| bench.load(&spec));
        let is_identity = |packet: Vec<u8>| {
            let sent = one.encapsulate(&packet);
            prop_assert_eq!(sent.outcome, Outcome::Encapsulated);
            let received = other.decapsulate(&sent.packet.unwrap_or_default());
            prop_assert_eq!(received.outcome, Outcome::Decapsulated);
            prop_assert_eq!(received.packet, Some(packet));
            Ok(())
        };
        if is_ipv6 {
            check(256, ipv6_packet(), is_identity);
        } else {
            check(256, ipv4_packet(), is_identity);
        }
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn outer_headers_are_right_and_identifications_differ() {
    let Some(bench) = Bench::build() else { return };
    let [one, _] = ends("ipv4", "ipv6");
    let one = bench.load(&one);
    let seen = std::cell::RefCell::new(std::collections::HashSet::new());
    check(256, ipv6_packet(), |packet| {
        let sent = one.encapsulate(&packet).packet.unwrap_or_default();
        prop_assert!(checksum::is_valid(&sent[..20]));
        let outer = ipv4::Packet::parse(Span::whole(&sent)).expect("an IPv4 packet");
        prop_assert_eq!(outer.total_bytes(), packet.len() + 20);
        prop_assert_eq!(outer.traffic_class(), (packet[0] << 4) | (packet[1] >> 4));
        prop_assert!(!outer.dont_fragment());
        prop_assert!(seen.borrow_mut().insert([sent[4], sent[5]]), "an identification twice");
        Ok(())
    });
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn whatever_arrives_has_one_outcome() {
    let Some(bench) = Bench::build() else { return };
    for (outer, payload) in [("ipv4", "ipv6"), ("ipv6", "ipv4"), ("ipv4", "gre"), ("ipv6", "gre")] {
        let [end, _] = ends(outer, payload).map(|spec| bench.load(&spec));
        let header = if outer == "ipv4" { 20 } else { 40 };
        // A good packet of the peer's, with bytes behind its outer header that may be anything.
        let [_, peer] = ends(outer, payload).map(|spec| bench.load(&spec));
        let inner = if payload == "ipv4" {
            vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
        } else {
            let mut packet = vec![0x60, 0, 0, 0, 0, 0, 59, 64];
            packet.extend([0x20; 32]);
            packet
        };
        let good = peer.encapsulate(&inner).packet.expect("it is sent");
        check(512, vec(any::<u8>(), 0..200), |mut garbage| {
            let mut packet = good[..header].to_vec();
            // Lengths that are right, so that the inner headers are reached.
            if outer == "ipv4" {
                packet[2..4].copy_from_slice(&((header + garbage.len()) as u16).to_be_bytes());
                packet[10..12].fill(0);
                let sum = checksum::checksum(&packet);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            } else {
                packet[4..6].copy_from_slice(&(garbage.len() as u16).to_be_bytes());
            }
            if let Some(first) = garbage.first_mut().filter(|_| payload != "gre") {
                *first = inner[0];
            }
            packet.extend(&garbage);
            let ran = end.decapsulate(&packet);
            prop_assert!(![Outcome::Undecided, Outcome::NotOurs].contains(&ran.outcome), "{:?}", ran.outcome);
            Ok(())
        });
    }
}

/// Hostile packets in the slow path: any bytes, and good packets with some bytes changed.
#[test]
fn the_slow_path_takes_any_bytes() {
    let mappings = [
        json!({"kind": "6to4"}),
        json!({"kind": "6rd", "prefix": "2001:db8::/32", "ipv4_mask_bits": 8, "border_relay": "192.0.2.9"}),
        json!({"kind": "isatap", "routers": ["192.0.2.9"]}),
    ];
    let mut tunnels: Vec<Spec> = mappings
        .into_iter()
        .map(|mapping| {
            let [mut spec, _] = ends("ipv4", "ipv6");
            spec.mapping = serde_json::from_value(mapping).expect("a mapping");
            spec
        })
        .collect();
    for (outer, payload) in [("ipv4", "ipv6"), ("ipv6", "ipv4"), ("ipv4", "gre"), ("ipv6", "gre")] {
        tunnels.extend(ends(outer, payload));
    }
    let changed = (
        prop_oneof![ipv4_packet(), ipv6_packet(), vec(any::<u8>(), 0..100)],
        vec((any::<u8>(), any::<u8>()), 0..4),
        0..1500_usize,
    )
        .prop_map(|(mut packet, changes, length)| {
            packet.truncate(length);
            for (at, value) in changes {
                if let Some(byte) = packet.get_mut(usize::from(at)) {
                    *byte = value;
                }
            }
            packet
        });
    check(20_000, changed, |packet| {
        for tunnel in &tunnels {
            let source = Address::from(tunnel.mapping.peer().unwrap_or(Ipv4Addr::new(192, 0, 2, 9).into()));
            let mut payload = packet.clone();
            if let Ok(range) =
                rules::decapsulate(tunnel, &source, packet.len() as u8, &mut payload, None, &mut |_| true)
            {
                prop_assert!(rules::Inner::read(&payload[range]).is_ok());
            }
            if let Ok(inner) = rules::Inner::read(&packet) {
                let _ = rules::encapsulate(tunnel, &inner, &packet, [0; 6]);
            }
            let _ = rules::quoted(tunnel, &packet);
        }
        Ok(())
    });
}

//! The slow path's rules on hostile packets: a million of them, each from a number, so that a failure can be repeated.

#[path = "common/rules.rs"]
mod held;
#[path = "../../wire/tests/common/seeded.rs"]
mod seeded;

use std::net::Ipv4Addr;

use held::check;
use seeded::{Random, a_million, spoil};
use serde_json::{Value, json};
use sixbench_plane::Spec;
use sixbench_plane::abi::Address;
use sixbench_plane::slow::{offload, rules};
use sixbench_plane::spec::Mapping;
use sixbench_wire::checksum;

/// Tunnels of every mapping, payload and family.
fn tunnels() -> Vec<Spec> {
    let mut specs: Vec<Value> = Vec::new();
    for mapping in [
        json!({"kind": "6to4"}),
        json!({"kind": "6to4", "relay": "192.0.2.2", "allow_private": true}),
        json!({"kind": "6rd", "prefix": "2001:db8::/32", "ipv4_mask_bits": 8, "border_relay": "192.0.2.2"}),
        json!({"kind": "6rd", "prefix": "2001:db8::/32", "is_border_relay": true}),
        json!({"kind": "isatap", "routers": ["192.0.2.2"]}),
        json!({"kind": "6over4"}),
    ] {
        specs.push(json!({"outer": "ipv4", "payload": "ipv6", "local": "192.0.2.1", "mapping": mapping}));
    }
    for (outer, payload, key) in [
        ("ipv4", "ipv6", None),
        ("ipv4", "ipv4", None),
        ("ipv6", "ipv4", None),
        ("ipv6", "ipv6", None),
        ("ipv4", "gre", None),
        ("ipv6", "gre", None),
        ("ipv4", "gre", Some(7)),
    ] {
        let [local, remote] = if outer == "ipv4" { ["192.0.2.1", "192.0.2.2"] } else { ["2001:db8::1", "2001:db8::2"] };
        let mapping = json!({"kind": "fixed", "remote": remote});
        let ttl = json!("inherit");
        specs.push(json!({"outer": outer, "payload": payload, "local": local, "mapping": mapping, "gre_key": key, "ttl": ttl, "df": "inherit"}));
    }
    let rule = json!({"ipv6": "2001:db8::/40", "ipv4": "192.0.2.0/24", "ea_bits": 16, "psid_offset": 6});
    let own = json!({"ipv6": "2001:db8:1:2::/64", "ipv4": "192.0.2.1/32", "ea_bits": 0, "psid_offset": 0});
    for (local, mapping) in [
        ("2001:db8:1:2:0:c000:201:0", json!({"own": own, "border_relay": "2001:db9::2"})),
        ("2001:db8:1:2:0:c000:201:0", json!({"own": own, "rules": [rule], "border_relay": "2001:db9::2"})),
    ] {
        let mut mapping = mapping;
        mapping["kind"] = json!("map");
        specs.push(json!({"outer": "ipv6", "payload": "ipv4", "local": local, "mapping": mapping}));
    }
    let tunnel = |mut spec: Value| {
        spec["device"] = json!("sb0");
        spec["underlay"] = json!(["c0"]);
        spec["mtu_bytes"] = json!(1400);
        let spec: Spec = serde_json::from_value(spec).expect("a tunnel");
        spec.compile().map(|_| spec).expect("a tunnel")
    };
    specs.into_iter().map(tunnel).collect()
}

/// First halves of addresses that the mappings take, and of some that they must not take.
const IPV6_HEADS: [[u8; 8]; 10] = [
    [0x20, 0x02, 0xc0, 0x00, 0x02, 0x01, 0, 1],
    [0x20, 0x02, 0xc0, 0x00, 0x02, 0x02, 0, 1],
    [0x20, 0x02, 0x7f, 0x00, 0x00, 0x01, 0, 1],
    [0x20, 0x01, 0x0d, 0xb8, 0xc0, 0x00, 0x02, 0x01],
    [0x20, 0x01, 0x0d, 0xb8, 0xc0, 0x00, 0x02, 0x02],
    [0x20, 0x01, 0x0d, 0xb8, 0x00, 0x02, 0x01, 0x00],
    [0xfe, 0x80, 0, 0, 0, 0, 0, 0],
    [0xff, 0x02, 0, 0, 0, 0, 0, 0],
    [0; 8],
    [0x20, 0x01, 0, 0, 0, 0, 0, 0],
];
const IPV6_TAILS: [[u8; 8]; 5] = [
    [0x02, 0, 0x5e, 0xfe, 0xc0, 0, 0x02, 0x02],
    [0, 0, 0x5e, 0xfe, 0xc0, 0, 0x02, 0x01],
    [0, 0, 0, 0, 0, 0, 0, 2],
    [0, 0, 0xff, 0xff, 0xc0, 0, 0x02, 0x02],
    [0; 8],
];

fn ipv6_address(random: &mut Random) -> [u8; 16] {
    let mut address = [0; 16];
    address[..8].copy_from_slice(&random.of(&IPV6_HEADS));
    address[8..].copy_from_slice(&random.of(&IPV6_TAILS));
    address
}

/// A packet of headers within headers, whose lengths are right.
fn nested(random: &mut Random, depth: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let payload_bytes = if random.one_in(50) { 1400 } else { random.below(64) };
    let mut protocol = match random.below(4) {
        0 => 17_u8,
        1 => 6,
        2 => 58,
        _ => 59,
    };
    packet.extend(random.bytes(payload_bytes));
    for _ in 0..depth {
        if random.one_in(4) && matches!(protocol, 4 | 41) {
            packet = gre(random, protocol, &packet);
            protocol = 47;
        }
        let is_ipv6 = random.one_in(2);
        packet = if is_ipv6 { ipv6(random, protocol, &packet) } else { ipv4(random, protocol, &packet) };
        protocol = if is_ipv6 { 41 } else { 4 };
    }
    // Some packets are the payload of a GRE tunnel's outer packet.
    if depth > 0 && random.one_in(4) { gre(random, protocol, &packet) } else { packet }
}

fn gre(random: &mut Random, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let flags = random.of(&[0_u8, 0x20, 0x80, 0xa0]);
    let mut packet = vec![flags, 0];
    packet.extend(if protocol == 41 { [0x86, 0xdd] } else { [0x08, 0x00] });
    packet.extend(if flags & 0x80 != 0 { vec![0; 4] } else { vec![] });
    packet.extend(if flags & 0x20 != 0 { vec![0, 0, 0, 7] } else { vec![] });
    packet.extend(payload);
    if flags & 0x80 != 0 {
        let sum = checksum::checksum(&packet);
        packet[4..6].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

fn ipv6(random: &mut Random, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60 | random.next() as u8 & 0xf, random.next() as u8, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([protocol, random.next() as u8]);
    packet.extend(ipv6_address(random));
    packet.extend(ipv6_address(random));
    packet.extend(payload);
    packet
}

fn ipv4(random: &mut Random, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let option_words = if random.one_in(8) { random.below(11) } else { 0 };
    let fragment = if random.one_in(8) { random.next() as u16 & 0x3fff } else { random.of(&[0, 0x4000]) };
    let mut packet = vec![0x45 + option_words as u8, random.next() as u8];
    packet.extend(((20 + 4 * option_words + payload.len()) as u16).to_be_bytes());
    packet.extend([0, 1, (fragment >> 8) as u8, fragment as u8, random.next() as u8, protocol, 0, 0]);
    packet.extend(random.of(&[[192, 0, 2, 1], [192, 0, 2, 2], [127, 0, 0, 1], [10, 0, 0, 1], [224, 0, 0, 1]]));
    packet.extend(random.of(&[[192, 0, 2, 1], [192, 0, 2, 2], [127, 0, 0, 1], [10, 0, 0, 1], [255; 4]]));
    packet.extend(vec![1; 4 * option_words]);
    packet.extend(payload);
    packet
}

fn hostile(seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    if random.one_in(8) {
        let count = random.below(120);
        return random.bytes(count);
    }
    let depth = if random.one_in(16) { 20 } else { 1 + random.below(6) };
    let mut packet = nested(&mut random, depth);
    spoil(&mut random, &mut packet);
    packet
}

#[test]
fn no_packet_breaks_the_rules() {
    let tunnels = tunnels();
    a_million(|seed| {
        let packet = hostile(seed);
        // Two of them a packet: as it is, and in a frame that a far end may give.
        let index = seed as usize;
        check(&tunnels[index % tunnels.len()], &packet, seed);
        check(&tunnels[(index >> 8) % tunnels.len()], &packet, seed >> 3);
        let _ = offload::complete(&mut packet.clone()).map(|frame| frame.packet.len());
    });
}

/// The generator does not only make what is dropped at once.
#[test]
fn many_hostile_packets_get_far() {
    let tunnels = tunnels();
    let (mut taken, mut sent) = (vec![0; tunnels.len()], vec![0; tunnels.len()]);
    for seed in 0..50_000 {
        let packet = hostile(seed);
        for (index, tunnel) in tunnels.iter().enumerate() {
            let source = Address::from(match &tunnel.mapping {
                Mapping::Map(domain) => domain.border_relay.expect("a customer edge").into(),
                mapping => mapping.peer().unwrap_or(Ipv4Addr::new(192, 0, 2, 2).into()),
            });
            taken[index] += u32::from(rules::inspect(tunnel, &source, 0, &packet, None, &mut |_| true).is_ok());
            let outer = rules::Inner::read(&packet)
                .and_then(|inner| rules::encapsulate(tunnel, &inner, &packet, [0, 0, 192, 0, 2, 9]));
            sent[index] += u32::from(outer.is_ok());
        }
    }
    assert!(taken.iter().chain(&sent).all(|&count| count > 50), "{taken:?} {sent:?}");
}

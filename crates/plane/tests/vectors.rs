//! `vectors/tunnel`: one file a rule, run by the programs in the kernel.

mod common;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use common::Bench;
use serde::Deserialize;
use serde_json::{Value, json};
use sixbench_plane::Spec;
use sixbench_plane::abi::{Address, Outcome};
use sixbench_plane::features::Features;
use sixbench_plane::slow::rules;
use sixbench_plane::spec::{Mapping, Payload};
use sixbench_plane::whole::{Node, Verdict, Whole};
use sixbench_wire::family::Family;
use sixbench_wire::{ipv4, ipv6};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    #[serde(rename = "description")]
    _description: String,
    tunnel: Value,
    program: String,
    /// The destination in the Ethernet header, if the mechanism depends on it or it is not the device's own.
    #[serde(default)]
    ethernet_destination: Option<String>,
    packet: String,
    outcome: String,
    #[serde(default)]
    packet_out: Option<String>,
}

/// All vectors, with their names.
fn vectors() -> Vec<(String, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/tunnel");
    let vector = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("text");
        let vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, vector)
    };
    fs::read_dir(folder).expect("a folder").map(|entry| vector(entry.expect("an entry").path())).collect()
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn every_vector_has_its_outcome() {
    all_vectors_have_their_outcome(Features::here(), 101, Some);
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn every_vector_has_its_outcome_on_linux_5_10() {
    let features = Features { fetch_and_add: false, decap_flags: false, ..Features::here() };
    all_vectors_have_their_outcome(features, 72, |vector| {
        let left_bytes = vector.packet_out.as_ref()?.len() / 2;
        if vector.outcome != "decapsulated" || vector.tunnel["outer"] == "ipv4" || left_bytes >= 40 {
            return Some(vector);
        }
        let packet_out = Some(vector.packet.clone());
        Some(Vector { outcome: "kernel-refused".to_owned(), packet_out, ..vector })
    });
}

/// Checks the vectors that have an expected outcome, of which there are at least so many.
fn all_vectors_have_their_outcome(features: Features, least: usize, expected: impl Fn(Vector) -> Option<Vector>) {
    let Some(bench) = Bench::build() else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, vector) in vectors() {
        let Some(vector) = expected(vector) else { continue };
        if let Err(difference) = check(&bench, &vector, features) {
            wrong.push(format!("{name}: {difference}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} vectors:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= least, "{count} vectors");
}

fn check(bench: &Bench, vector: &Vector, features: Features) -> Result<(), String> {
    let ran = bench.load_with(&specification(vector), features).run_to(
        ethernet_destination(vector),
        &vector.program,
        &bytes(&vector.packet),
        1,
    );
    if ran.outcome.reason() != vector.outcome {
        return Err(format!("{} instead of {}", ran.outcome.reason(), vector.outcome));
    }
    match ran.packet.map(|packet| hex(&packet)) {
        out if out == vector.packet_out => Ok(()),
        out => Err(format!("\n  gives {out:?}\n     not {:?}", vector.packet_out)),
    }
}

fn ethernet_destination(vector: &Vector) -> [u8; 6] {
    let given = vector.ethernet_destination.as_deref().map(bytes);
    given.map_or([0x02, 0, 0, 0, 0, 0x01], |octets| octets.try_into().expect("six octets"))
}

fn specification(vector: &Vector) -> Spec {
    let mut tunnel = vector.tunnel.clone();
    tunnel["device"] = json!("sb0");
    tunnel["underlay"] = json!(["c0"]);
    serde_json::from_value(tunnel).expect("a tunnel")
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal"))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// The slow path's own rules, against the same vectors: all but those about what the kernel does for it.
#[test]
fn the_slow_path_agrees() {
    let not_for_it =
        ["not-ours", "outer-fragment", "outer-checksum", "outer-truncated", "outer-options", "gre-checksum"];
    let mut count = 0;
    for (name, vector) in vectors() {
        if not_for_it.contains(&vector.outcome.as_str()) {
            continue;
        }
        let tunnel = specification(&vector);
        let packet = bytes(&vector.packet);
        let outcome = match vector.program.as_str() {
            "encapsulate" => slowly_encapsulated(&tunnel, &packet, ethernet_destination(&vector)),
            _ => slowly_decapsulated(&tunnel, &packet),
        };
        let expected = match vector.outcome.as_str() {
            "encapsulated" => Ok(bytes(&vector.packet_out.expect("a packet"))),
            // Padding is gone already.
            "decapsulated" => Ok(without_padding(bytes(&vector.packet_out.expect("a packet")))),
            reason => Err(reason),
        };
        assert_eq!(outcome.map_err(Outcome::reason), expected, "{name}");
        count += 1;
    }
    assert!(count > 90, "{count} vectors");
}

fn without_padding(mut packet: Vec<u8>) -> Vec<u8> {
    packet.truncate(rules::Inner::read(&packet).expect("a packet").bytes);
    packet
}

/// Encapsulates by the slow path, with the outer header that the kernel would write.
fn slowly_encapsulated(tunnel: &Spec, packet: &[u8], ethernet_destination: [u8; 6]) -> Result<Vec<u8>, Outcome> {
    let inner = rules::Inner::read(packet)?;
    let outer = rules::encapsulate(tunnel, &inner, packet, ethernet_destination)?;
    let gre = outer.gre.as_bytes();
    let protocol = match tunnel.payload {
        Payload::Ipv6 => 41,
        Payload::Ipv4 => 4,
        Payload::Gre => 47,
    };
    let bytes = gre.len() + packet.len();
    let header = match (tunnel.local, outer.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let plain = ipv4::Repr::new([source, destination], protocol, bytes);
            let (traffic_class, hop_limit, dont_fragment) = (outer.tos, outer.ttl, outer.dont_fragment);
            ipv4::Repr { traffic_class, hop_limit, dont_fragment, ..plain }.emit().to_vec()
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let plain = ipv6::Repr::new([source, destination], protocol, bytes);
            ipv6::Repr { traffic_class: outer.tos, hop_limit: outer.ttl, ..plain }.emit().to_vec()
        }
        _ => panic!("ends of two families"),
    };
    Ok([&header, gre, packet].concat())
}

/// Decapsulates by the slow path, without the outer header that the kernel would take off.
fn slowly_decapsulated(tunnel: &Spec, packet: &[u8]) -> Result<Vec<u8>, Outcome> {
    let (source, tos, header, bytes) = if tunnel.outer == Family::Ipv4 {
        let mut source = Address::default();
        source.0[..4].copy_from_slice(&packet[12..16]);
        (source, packet[1], 20, usize::from(u16::from_be_bytes([packet[2], packet[3]])))
    } else {
        let mut source = Address::default();
        source.0.copy_from_slice(&packet[8..24]);
        (source, (packet[0] << 4) | (packet[1] >> 4), if packet[6] == 60 { 48 } else { 40 }, packet.len())
    };
    let mut payload = packet[header..bytes].to_vec();
    let mut is_on_link = |address: &Address| address.0.starts_with(&[0x20, 0x01, 0x0d, 0xb8, 0, 5, 0, 0]);
    let range = rules::decapsulate(tunnel, &source, tos, &mut payload, None, &mut is_on_link)?;
    Ok(payload[range].to_vec())
}

/// A packet alone, against the same vectors: all but those of mappings that ask a link or a node.
#[test]
fn whole_packets_agree() {
    let mut count = 0;
    for (name, vector) in vectors() {
        let tunnel = specification(&vector);
        if matches!(tunnel.mapping, Mapping::Isatap { .. } | Mapping::SixOverFour { .. }) {
            assert!(Whole::new(&tunnel, Node::default()).is_err());
            continue;
        }
        let packet = bytes(&vector.packet);
        let carried = Whole::new(&tunnel, Node::default()).expect("a tunnel").carry(&packet);
        assert!(carried.words().ends_with('.'), "{name}");
        let (reason, verdict) = match vector.outcome.as_str() {
            "encapsulated" => ("encapsulated", Verdict::Through(vec![bytes(&vector.packet_out.expect("a packet"))])),
            "decapsulated" => {
                ("decapsulated", Verdict::Through(vec![without_padding(bytes(&vector.packet_out.expect("a packet")))]))
            }
            // The programs leave them to the slow path, which carries them.
            "outer-options" => ("decapsulated", Verdict::Through(vec![without_padding(packet[24..].to_vec())])),
            // The checksum in that packet is wrong, which only the slow path looks at.
            "gre-checksum" => ("gre-flags", Verdict::Dropped),
            // The tunnel carries no IPv4, so that a packet of it can only be an outer one.
            "inner-family" => ("not-ours", Verdict::Dropped),
            reason => (reason, Verdict::Dropped),
        };
        assert_eq!((carried.outcome.reason(), carried.verdict), (reason, verdict), "{name}");
        assert!(carried.section.is_some() || carried.outcome == Outcome::SourceNotPeer, "{name}");
        count += 1;
    }
    assert!(count > 80, "{count} vectors");
}

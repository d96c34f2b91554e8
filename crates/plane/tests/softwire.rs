//! An lwAFTR that hostile packets come to: its packets are whole, and nothing panics. Its treatment of right packets is
//! in `vectors/softwires`.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use sixbench_plane::Spec;
use sixbench_plane::whole::{Verdict, Whole};
use sixbench_wire::{Span, checksum, ipv4, ipv6, protocol};

/// Each vector's node, and the packets that come to it.
fn vectors() -> &'static [(Whole, Vec<Vec<u8>>)] {
    static VECTORS: OnceLock<Vec<(Whole, Vec<Vec<u8>>)>> = OnceLock::new();
    VECTORS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/softwires");
        let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        files.map(|path| read(&fs::read_to_string(path).expect("text"))).collect()
    })
}

fn read(text: &str) -> (Whole, Vec<Vec<u8>>) {
    let vector: Value = serde_json::from_str(text).expect("a vector");
    let softwire = &vector["softwire"];
    let spec = |tunnel: &Value| -> Spec {
        let mut tunnel = tunnel.clone();
        tunnel["device"] = json!("t");
        tunnel["underlay"] = json!(["u"]);
        serde_json::from_value(tunnel).expect("a tunnel")
    };
    let others = softwire["others"].as_array().into_iter().flatten();
    let ends = std::iter::once(&softwire["tunnel"]).chain(others).map(spec).collect();
    let node = serde_json::from_value(softwire["node"].clone()).expect("a node");
    let before = vector["before"].as_array().into_iter().flatten().map(|before| &before["packet"]);
    let packets = before.chain(std::iter::once(&vector["packet"]));
    let packets = packets.map(|packet| bytes(packet.as_str().expect("hexadecimal"))).collect();
    (Whole::with_ends(ends, node).expect("an lwAFTR"), packets)
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let pairs = hexadecimal.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("a byte")).collect()
}

/// Checks that a packet's lengths fit it, and that an answer's checksums are right.
fn check(packet: &[u8], is_answer: bool) {
    match packet[0] >> 4 {
        4 => {
            let parsed = ipv4::Packet::parse(Span::whole(packet)).expect("IPv4");
            assert_eq!(parsed.total_bytes(), packet.len());
            if is_answer {
                assert!(checksum::is_valid(&packet[..parsed.header_bytes()]) && parsed.protocol() == protocol::ICMP);
                assert!(checksum::is_valid(&packet[parsed.header_bytes()..]));
            }
        }
        _ => {
            let parsed = ipv6::Packet::parse(Span::whole(packet)).expect("IPv6");
            assert_eq!(parsed.total_bytes(), packet.len());
            if is_answer && parsed.next_header() == protocol::IPV4 {
                check(&packet[ipv6::HEADER_BYTES..], true);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn what_goes_out_is_whole(
        which in any::<Index>(),
        damage in prop::collection::vec((any::<Index>(), any::<u8>()), 0..4),
        length in prop::option::of(any::<Index>()),
    ) {
        let (node, packets) = which.get(vectors());
        let mut node = node.clone();
        for packet in packets {
            let mut packet = packet.clone();
            for (at, value) in &damage {
                // Headers more often than what follows them.
                let at = at.index(packet.len()).min(at.index(100));
                packet[at] = *value;
            }
            if let Some(length) = length {
                packet.truncate(length.index(packet.len()));
            }
            let carried = node.carry(&packet);
            match &carried.verdict {
                Verdict::Through(packets) => packets.iter().for_each(|packet| check(packet, false)),
                Verdict::Answered(packets) => packets.iter().for_each(|packet| check(packet, true)),
                Verdict::Dropped => {}
            }
            prop_assert!(carried.words().ends_with('.'));
            let _ = (node.joins(&packet), node.needs_ports(&packet), node.inner_of(&packet));
        }
    }
}

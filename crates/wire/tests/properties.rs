//! Properties that hold whatever the bytes are.

use proptest::collection::vec;
use proptest::prelude::*;
use sixbench_wire::Span;
use sixbench_wire::checksum::{self, checksum, is_valid, pseudo_header_v4, pseudo_header_v6, update, upper_layer};
use sixbench_wire::layers::{Layer, Layers, Link, MAX_LAYERS};

/// Headers that lead on to one another, so that random packets are deep and not just refused at the first byte.
const FRAGMENTS_OF_PACKETS: [&[u8]; 9] = [
    &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00],
    &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd],
    &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0x00, 0, 1, 0x86, 0xdd],
    &[0x45, 0, 0, 80, 0, 0, 0x20, 0, 64, 41, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2],
    &[0x46, 0, 0, 90, 0, 0, 0, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 1, 1, 1, 1],
    &[
        0x60, 0, 0, 0, 0, 60, 0, 64, 32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 32, 1, 13, 184, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 2,
    ],
    &[44, 0, 1, 4, 0, 0, 0, 0],
    &[4, 0, 0, 1, 0, 0, 0, 1],
    &[0xb0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2],
];

fn likely_packets() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => (0..FRAGMENTS_OF_PACKETS.len()).prop_map(|index| FRAGMENTS_OF_PACKETS[index].to_vec()),
        1 => vec(any::<u8>(), 0..40),
    ];
    (vec(part, 1..10), vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(|(parts, changes)| {
        let mut packet = parts.concat();
        for (index, value) in changes.into_iter().filter(|_| !packet.is_empty()).collect::<Vec<_>>() {
            let at = index.index(packet.len());
            packet[at] = value;
        }
        packet
    })
}

fn check_layers(link: Link, captured: &[u8], length: usize) -> Result<(), TestCaseError> {
    let layers: Vec<Layer> = Layers::new(link, Span::new(captured, length)).collect();
    prop_assert!(!layers.is_empty() && layers.len() <= MAX_LAYERS + 1);
    let list = serde_json::to_value(&layers).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut sum = 0;
    for layer in list.as_array().into_iter().flatten() {
        prop_assert!(layer["kind"].is_string());
        sum += layer["bytes"].as_u64().ok_or_else(|| TestCaseError::fail(format!("no bytes in {layer}")))?;
    }
    prop_assert!(sum <= captured.len().min(length) as u64, "{sum} bytes of {}: {list}", captured.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8_000) })]

    #[test]
    fn layers_of_any_bytes(bytes in vec(any::<u8>(), 0..200), cut_or_added in 0..200_usize) {
        for link in [Link::Ethernet, Link::Ip] {
            check_layers(link, &bytes, cut_or_added)?;
            check_layers(link, &bytes, bytes.len() + cut_or_added)?;
        }
    }

    #[test]
    fn layers_of_likely_packets(packet in likely_packets(), added in prop_oneof![Just(0_usize), Just(2000), Just(100_000)]) {
        for link in [Link::Ethernet, Link::Ip] {
            check_layers(link, &packet, packet.len() + added)?;
        }
    }

    #[test]
    fn a_truncated_capture_tells_no_other_layers_than_the_whole_packet(packet in likely_packets(), keep in any::<prop::sample::Index>()) {
        let keep = keep.index(packet.len() + 1);
        let of = |captured| Layers::new(Link::Ethernet, Span::new(captured, packet.len())).collect::<Vec<_>>();
        let (whole, cut) = (of(&packet[..]), of(&packet[..keep]));
        let is_header = |layer: &&Layer| layer.addresses().is_some() || matches!(layer, Layer::Tcp { .. } | Layer::Udp { .. });
        for layer in cut.iter().filter(is_header) {
            // The extension headers that were captured may be fewer.
            let is_ipv6 = matches!(layer, Layer::Ipv6 { .. });
            prop_assert!(is_ipv6 || whole.contains(layer), "{layer:?} is not in {whole:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn bytes_with_their_checksum_are_valid(mut bytes in vec(any::<u8>(), 2..100)) {
        bytes[0..2].fill(0);
        let sum = checksum(&bytes);
        bytes[0..2].copy_from_slice(&sum.to_be_bytes());
        prop_assert!(is_valid(&bytes));
    }

    #[test]
    fn an_update_is_the_checksum_of_the_changed_bytes(
        mut bytes in vec(any::<u8>(), 4..100),
        new in vec(any::<u8>(), 0..16),
        at in any::<prop::sample::Index>(),
    ) {
        bytes[0] = 0x45; // Only of all zeros is the sum the other zero.
        let at = 2 + at.index(bytes.len() - 2) / 2 * 2;
        let at = at.min(bytes.len());
        let count = (new.len().min(bytes.len() - at)) / 2 * 2;
        let before = checksum(&bytes);
        let old = bytes[at..at + count].to_vec();
        bytes[at..at + count].copy_from_slice(&new[..count]);
        prop_assert_eq!(update(before, &old, &new[..count]), checksum(&bytes));
    }

    #[test]
    fn an_update_may_replace_the_addresses_of_one_family_by_those_of_the_other(
        v4 in any::<([u8; 4], [u8; 4])>(),
        v6 in any::<([u8; 16], [u8; 16])>(),
        segment in vec(any::<u8>(), 8..60),
    ) {
        let length = segment.len() as u16;
        let over_v4 = upper_layer(pseudo_header_v4(v4.0.into(), v4.1.into(), 17, length), &segment);
        let over_v6 = upper_layer(pseudo_header_v6(v6.0.into(), v6.1.into(), 17, u32::from(length)), &segment);
        let old = [v4.0, v4.1].concat();
        let new = [v6.0, v6.1].concat();
        prop_assert_eq!(update(over_v4, &old, &new), over_v6);
    }

    #[test]
    fn a_sum_is_that_of_its_even_parts(bytes in vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let at = at.index(bytes.len() / 2 + 1) * 2;
        let (head, tail) = bytes.split_at(at);
        prop_assert_eq!(checksum::add(checksum::sum(head), checksum::sum(tail)), checksum::sum(&bytes));
    }

    #[test]
    fn one_changed_bit_is_found(mut bytes in vec(any::<u8>(), 4..100), bit in any::<prop::sample::Index>()) {
        bytes[0..2].fill(0);
        let sum = checksum(&bytes);
        bytes[0..2].copy_from_slice(&sum.to_be_bytes());
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!is_valid(&bytes));
    }
}

//! Properties of the slow path's rules, whatever the packet.

use std::net::Ipv4Addr;

use sixbench_plane::Spec;
use sixbench_plane::abi::Address;
use sixbench_plane::slow::{icmp, offload, rules};

/// Checks the properties that hold for any packet, in one tunnel.
pub fn check(spec: &Spec, packet: &[u8], seed: u64) {
    let source = match (seed % 4, spec.mapping.peer()) {
        (0, _) => Ipv4Addr::from_bits(seed as u32).into(),
        (_, Some(peer)) => peer.into(),
        (_, None) => Address::from(Ipv4Addr::new(192, 0, 2, 2)),
    };
    let mut payload = packet.to_vec();
    let is_on_link = |_: &Address| seed & 8 == 0;
    let seen = rules::inspect(spec, &source, seed as u8, packet, None, &mut { is_on_link });
    let taken = rules::decapsulate(spec, &source, seed as u8, &mut payload, None, &mut { is_on_link });
    assert_eq!(seen.as_ref().err(), taken.as_ref().err());
    if let (Ok((at, before)), Ok(range)) = (seen, taken) {
        let after = rules::Inner::read(&payload[range.clone()]);
        assert_eq!(at, range.start);
        // The ECN field alone changes, and nothing outside the header.
        assert_eq!(after.map(|after| (after.bytes, after.tos & !3)), Ok((before.bytes, before.tos & !3)));
        assert_eq!(&payload[at + before.header_bytes..], &packet[at + before.header_bytes..]);
        let _ = offload::virtual_header(&payload[range], &before, 1400);
    }
    let quoted = rules::quoted(spec, packet);
    if let Ok(inner) = rules::Inner::read(packet) {
        let link_layer = [0, 0, 192, 0, 2, seed as u8];
        if let Ok(outer) = rules::encapsulate(spec, &inner, &packet[..inner.bytes], link_layer) {
            assert!(outer.destination != spec.local || spec.mapping.uses_groups());
            assert!(outer.gre.as_bytes().len() as u32 <= spec.overhead_bytes());
        }
    }
    for (quote, inner) in quoted.into_iter().chain(rules::Inner::read_quoted(packet).ok().map(|inner| (packet, inner)))
    {
        for error in [icmp::too_big(seed as u32), icmp::UNREACHABLE] {
            let message = error.message(quote, &inner);
            let most = if inner.version == 6 { 1280 - 40 } else { 576 - 20 };
            assert!(message.len() <= most && message.len() >= 8);
        }
    }
}

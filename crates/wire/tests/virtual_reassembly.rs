//! Virtual reassembly: fragments in any order have the ports of the first one, nothing overlaps, and nothing grows
//! without bound.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use proptest::prelude::*;
use sixbench_wire::ipv4::Fragment;
use sixbench_wire::ipv6::{self, FragmentHeader};
use sixbench_wire::siit::{Clause, Port, Ports};
use sixbench_wire::virtual_reassembly::{
    Amount, MAX_FRAGMENTS, MAX_PACKETS, MAX_WAITING_BYTES, TIMEOUT, Taken, VirtualReassembly,
};
use sixbench_wire::{ipv4, protocol};

const START: Duration = Duration::from_secs(1_700_000_000);
const PORTS: Ports = Ports([Port::Known(1232), Port::Known(53)]);
/// 1232 and 53, and what else a header of UDP has.
const UDP: [u8; 8] = [0x04, 0xd0, 0, 53, 0, 0, 0x12, 0x34];

/// A fragment of a datagram, with so many bytes of data.
fn fragment(is_ipv6: bool, identification: u16, offset_bytes: u16, bytes: usize, more: bool) -> Vec<u8> {
    let mut data = vec![0; bytes];
    if offset_bytes == 0 {
        data[..8].copy_from_slice(&UDP);
    }
    if is_ipv6 {
        let fragment = Fragment { offset_bytes: offset_bytes.into(), more, identification: identification.into() };
        let header = ipv6::Repr::new([Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST], protocol::FRAGMENT, bytes + 8);
        let between = FragmentHeader { next_header: protocol::UDP, fragment };
        return [&header.emit()[..], &between.emit(), &data].concat();
    }
    let header = ipv4::Repr {
        identification,
        more_fragments: more,
        offset_bytes,
        ..ipv4::Repr::new([Ipv4Addr::new(198, 51, 100, 2), Ipv4Addr::new(192, 0, 2, 18)], protocol::UDP, bytes)
    };
    [&header.emit()[..], &data].concat()
}

fn take(fragments: &mut VirtualReassembly, packet: &[u8], now: Duration) -> Taken {
    fragments.take(packet, packet, now)
}

#[test]
fn what_is_no_fragment_is_let_alone() {
    let mut fragments = VirtualReassembly::default();
    for packet in [fragment(false, 1, 0, 16, false), fragment(true, 1, 0, 16, false), Vec::new(), vec![0x45; 30]] {
        assert_eq!(take(&mut fragments, &packet, START), Taken::Whole);
    }
}

#[test]
fn fragments_that_overlap_are_dropped_with_those_after_them() {
    for is_ipv6 in [false, true] {
        let mut fragments = VirtualReassembly::default();
        let part = |offset, bytes, more| fragment(is_ipv6, 7, offset, bytes, more);
        assert_eq!(take(&mut fragments, &part(16, 16, true), START), Taken::Waits);
        // A copy is not another packet's.
        let dropped = Taken::Dropped(Clause::OverlappingFragment);
        assert_eq!(take(&mut fragments, &part(16, 16, true), START), dropped);
        assert_eq!(take(&mut fragments, &part(24, 16, true), START), dropped);
        assert_eq!(take(&mut fragments, &part(0, 16, true), START), dropped, "RFC 5722: all of them");
        let missed = fragments.held.take_missed(START);
        assert_eq!((missed.packets, missed.bytes), (1, part(16, 16, true).len() as u64));
    }
}

#[test]
fn a_last_fragment_is_the_last() {
    for (second, words) in [((16, 8, true), "behind the end"), ((8, 8, false), "a second end")] {
        let mut fragments = VirtualReassembly::default();
        assert_eq!(take(&mut fragments, &fragment(false, 7, 24, 8, false), START), Taken::Waits);
        let (offset, bytes, more) = if second.2 { (32, second.1, true) } else { second };
        let found = take(&mut fragments, &fragment(false, 7, offset, bytes, more), START);
        assert_eq!(found, Taken::Dropped(Clause::OverlappingFragment), "{words}");
    }
}

#[test]
fn who_waits_too_long_is_forgotten_and_counted() {
    let mut fragments = VirtualReassembly::default();
    let later = fragment(false, 7, 16, 16, false);
    assert_eq!(take(&mut fragments, &later, START), Taken::Waits);
    assert_eq!(fragments.held.take_missed(START), Amount::default());
    let then = START + TIMEOUT;
    let first = fragment(false, 7, 0, 16, true);
    assert_eq!(take(&mut fragments, &first, then), Taken::Fragment { ports: PORTS, waited: Vec::new() });
    assert_eq!(fragments.held.take_missed(then), Amount { packets: 1, bytes: later.len() as u64 });
}

#[test]
fn there_are_only_so_many() {
    let mut fragments = VirtualReassembly::default();
    let full = Taken::Dropped(Clause::TooManyFragments);
    for number in 0..MAX_PACKETS {
        assert_eq!(take(&mut fragments, &fragment(false, number as u16, 16, 16, true), START), Taken::Waits);
    }
    assert_eq!(take(&mut fragments, &fragment(true, 1, 16, 16, true), START), full);
    let mut fragments = VirtualReassembly::default();
    for number in 0..MAX_FRAGMENTS {
        let part = fragment(false, 1, 16 + 16 * number as u16, 16, true);
        assert_eq!(take(&mut fragments, &part, START), Taken::Waits);
    }
    assert_eq!(take(&mut fragments, &fragment(false, 1, 60_000, 16, true), START), full);
    let mut fragments = VirtualReassembly::default();
    let large = fragment(false, 0, 8, 60_000, true).len();
    for number in 0..MAX_WAITING_BYTES / large {
        assert_eq!(take(&mut fragments, &fragment(false, number as u16, 8, 60_000, true), START), Taken::Waits);
    }
    assert_eq!(take(&mut fragments, &fragment(false, 9_999, 8, 60_000, true), START), full);
}

#[test]
fn an_identification_is_free_again_once_its_packet_is_whole() {
    let mut fragments = VirtualReassembly::default();
    for _ in 0..3 * MAX_PACKETS {
        let none = || Taken::Fragment { ports: PORTS, waited: Vec::new() };
        assert_eq!(take(&mut fragments, &fragment(false, 7, 0, 16, true), START), none());
        assert_eq!(take(&mut fragments, &fragment(false, 7, 16, 8, false), START), none());
    }
    assert_eq!(fragments.held.take_missed(START + TIMEOUT), Amount::default());
}

proptest! {
    #[test]
    fn in_any_order_all_go_on_with_the_ports_of_the_first(
        is_ipv6: bool,
        order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut fragments = VirtualReassembly::default();
        let parts: Vec<_> = (0..12).map(|at| fragment(is_ipv6, 7, at * 64, 64, at != 11)).collect();
        let mut gone = Vec::new();
        for &index in &order {
            match take(&mut fragments, &parts[index], START) {
                Taken::Fragment { ports, waited } => {
                    prop_assert_eq!(ports, PORTS);
                    gone.push(parts[index].clone());
                    gone.extend(waited);
                }
                taken => prop_assert_eq!(taken, Taken::Waits),
            }
        }
        prop_assert_eq!(fragments.held.take_missed(START + TIMEOUT), Amount::default());
        gone.sort();
        let mut all = parts.clone();
        all.sort();
        prop_assert_eq!(gone, all);
    }

    #[test]
    fn no_bytes_are_a_panic(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20), version: bool) {
        let mut fragments = VirtualReassembly::default();
        for mut packet in packets {
            if let Some(first) = packet.first_mut() {
                *first = if version { 0x45 } else { 0x60 };
            }
            let _ = take(&mut fragments, &packet, START);
        }
    }
}

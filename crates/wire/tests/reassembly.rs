//! Reassembly: fragments in any order make their packet again, and nothing else.

use std::time::Duration;

use proptest::prelude::*;
use sixbench_wire::fragments::{cut4, cut6};
use sixbench_wire::ipv4::Fragment;
use sixbench_wire::reassembly::{Joined, Reassembly, TIMEOUT};
use sixbench_wire::siit::Clause;
use sixbench_wire::virtual_reassembly::{Amount, MAX_WAITING_BYTES};
use sixbench_wire::{checksum, ipv4, ipv6, protocol};

const START: Duration = Duration::from_secs(1_700_000_000);

fn header4(payload_bytes: usize, tos: u8) -> ipv4::Repr {
    let plain = ipv4::Repr::new([[198, 51, 100, 2].into(), [192, 0, 2, 18].into()], protocol::UDP, payload_bytes);
    ipv4::Repr { traffic_class: tos, identification: 7, hop_limit: 60, ..plain }
}

fn header6(payload_bytes: usize, tos: u8) -> ipv6::Repr {
    let ends = ["2001:db8::1", "2001:db8::2"].map(|end| end.parse().expect("an address"));
    let plain = ipv6::Repr::new(ends, protocol::IPV4, payload_bytes);
    ipv6::Repr { traffic_class: tos, flow_label: 5, hop_limit: 60, ..plain }
}

/// A packet, and its fragments.
fn fragmented(is_ipv6: bool, payload: &[u8], most_bytes: usize, tos: u8) -> (Vec<u8>, Vec<Vec<u8>>) {
    if is_ipv6 {
        let header = header6(payload.len(), tos);
        let whole = Fragment { offset_bytes: 0, more: false, identification: 9 };
        ([&header.emit()[..], payload].concat(), cut6(&header, whole, payload, most_bytes))
    } else {
        let header = header4(payload.len(), tos);
        ([&header.emit()[..], payload].concat(), cut4(&header, payload, most_bytes))
    }
}

fn joined(fragments: &[Vec<u8>]) -> Vec<u8> {
    let mut reassembly = Reassembly::default();
    let (last, others) = fragments.split_last().expect("a fragment");
    for fragment in others {
        assert_eq!(reassembly.take(fragment, START), Joined::Waits);
    }
    match reassembly.take(last, START) {
        Joined::Packet { packet, fragments: amount } => {
            assert_eq!(reassembly.held.waiting(), Amount::default());
            let bytes = fragments.iter().map(|fragment| fragment.len() as u64).sum();
            assert_eq!(amount, Amount { packets: fragments.len() as u64, bytes });
            packet
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn fragments_in_any_order_are_their_packet(
        is_ipv6: bool,
        payload in prop::collection::vec(any::<u8>(), 200..4000),
        most_bytes in 120_usize..200,
        order in any::<prop::sample::Index>(),
    ) {
        let (packet, mut fragments) = fragmented(is_ipv6, &payload, most_bytes, 0);
        prop_assert!(fragments.len() > 1 && fragments.iter().all(|fragment| fragment.len() <= most_bytes));
        let middle = order.index(fragments.len());
        fragments.rotate_left(middle);
        fragments.reverse();
        prop_assert_eq!(joined(&fragments), packet);
    }

    #[test]
    fn no_packet_panics(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..6), first in prop::sample::select(vec![0x45_u8, 0x60])) {
        let mut reassembly = Reassembly::default();
        for mut packet in packets {
            if let Some(octet) = packet.first_mut() {
                *octet = first;
            }
            if first == 0x60 && packet.len() > 48 {
                let bytes = packet.len() as u16 - 40;
                packet[4..6].copy_from_slice(&bytes.to_be_bytes());
                packet[6] = protocol::FRAGMENT;
            }
            let _ = reassembly.take(&packet, START);
        }
    }
}

#[test]
fn what_precedes_the_fragment_header_stays() {
    let (_, fragments) = fragmented(true, &[7; 300], 200, 0);
    let options = [protocol::FRAGMENT, 0, 1, 4, 0, 0, 0, 0];
    let with_options = |fragment: &Vec<u8>| {
        let mut fragment = fragment.clone();
        fragment[6] = protocol::DESTINATION_OPTIONS;
        let bytes = (fragment.len() - 40 + options.len()) as u16;
        fragment[4..6].copy_from_slice(&bytes.to_be_bytes());
        fragment.splice(40..40, options);
        fragment
    };
    let packet = joined(&fragments.iter().map(with_options).collect::<Vec<_>>());
    assert_eq!((packet[6], packet[40], packet.len()), (protocol::DESTINATION_OPTIONS, protocol::IPV4, 348));
    assert_eq!(packet[4..6], 308_u16.to_be_bytes());
}

#[test]
fn options_of_ipv4_and_its_checksum_are_the_first_ones() {
    let (_, mut fragments) = fragmented(false, &[7; 300], 200, 0);
    fragments[0].splice(20..20, [7, 3, 4, 0]);
    fragments[0][0] = 0x46;
    let total = (fragments[0].len() as u16).to_be_bytes();
    fragments[0][2..4].copy_from_slice(&total);
    fragments.reverse();
    let packet = joined(&fragments);
    assert_eq!((packet.len(), &packet[20..24]), (324, &[7, 3, 4, 0][..]));
    assert!(checksum::is_valid(&packet[..24]));
}

#[test]
fn congestion_that_one_met_all_met() {
    for is_ipv6 in [false, true] {
        let (mut packet, mut fragments) = fragmented(is_ipv6, &[7; 300], 200, 2);
        fragments[1][1] |= if is_ipv6 { 0x30 } else { 3 };
        packet[1] |= if is_ipv6 { 0x30 } else { 3 };
        let found = joined(&fragments);
        assert_eq!((found[0], found[1]), (packet[0], packet[1]), "RFC 3168 section 5.3");
    }
}

#[test]
fn what_overlaps_or_is_late_makes_no_packet_and_is_counted() {
    for is_ipv6 in [false, true] {
        let (_, fragments) = fragmented(is_ipv6, &[7; 300], 200, 0);
        let mut reassembly = Reassembly::default();
        assert_eq!(reassembly.take(&fragments[0], START), Joined::Waits);
        assert_eq!(reassembly.take(&fragments[0], START), Joined::Dropped(Clause::OverlappingFragment), "a copy");
        assert_eq!(reassembly.held.waiting().packets, 1);
        assert_eq!(reassembly.take(&fragments[1], START + TIMEOUT), Joined::Waits, "the first one is forgotten");
        let missed = reassembly.held.take_missed(START + TIMEOUT);
        assert_eq!((missed.packets, missed.bytes), (1, fragments[0].len() as u64));
        assert_eq!(reassembly.held.waiting().packets, 1);
    }
}

#[test]
fn a_packet_that_would_be_longer_than_packets_are_is_dropped() {
    let mut reassembly = Reassembly::default();
    let payload = vec![0; 65_512];
    let (_, mut fragments) = fragmented(false, &payload, 32_788, 0);
    // The header's options do not fit any more.
    let first = fragments.first_mut().expect("a fragment");
    first.splice(20..20, [1; 8]);
    first[0] = 0x47;
    let total = (first.len() as u16).to_be_bytes();
    first[2..4].copy_from_slice(&total);
    let found: Vec<_> = fragments.iter().map(|fragment| reassembly.take(fragment, START)).collect();
    assert_eq!(found.last(), Some(&Joined::Dropped(Clause::Malformed)));
}

#[test]
fn only_so_much_waits() {
    let mut reassembly = Reassembly::default();
    let header = header4(60_000, 0);
    let part = |identification| {
        let header = ipv4::Repr { identification, more_fragments: true, ..header };
        [&header.emit()[..], &[0; 60_000]].concat()
    };
    let fit = (MAX_WAITING_BYTES / 60_020) as u16;
    for identification in 0..fit {
        assert_eq!(reassembly.take(&part(identification), START), Joined::Waits);
    }
    assert_eq!(reassembly.take(&part(fit), START), Joined::Dropped(Clause::TooManyFragments));
}

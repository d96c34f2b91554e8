//! Properties of packets that are right: their checksums afterwards, and what comes back after translation there and
//! back.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::select;
use sixbench_wire::ipv6::FragmentHeader;
use sixbench_wire::siit::{Clause, Decision, Settings, Verdict};
use sixbench_wire::{ipv4, ipv6, protocol};

use super::held::{HOST4, KNOWN4, KNOWN6, PREFIX_BITS, check, is_right4, is_right6, read4, read6, settings};
use super::packets::{header4, header6, packet4, packet6};

/// Hosts of IPv4 that the prefix embeds.
fn hosts4() -> impl Strategy<Value = Ipv4Addr> {
    any::<[u8; 3]>().prop_map(|[b, c, d]| Ipv4Addr::new(20, b, c, d))
}

fn messages() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let transport = select(vec![protocol::TCP, protocol::UDP, 33, 50, 51, 132]);
    let message = prop::collection::vec(any::<u8>(), 20..1400);
    prop_oneof![
        4 => (transport, message.clone()),
        1 => (Just(protocol::ICMP), message, any::<bool>()).prop_map(|(protocol, mut message, is_reply)| {
            (message[0], message[1]) = (if is_reply { 0 } else { 8 }, 0);
            (protocol, message)
        }),
    ]
}

fn to_ipv6((protocol, mut message): (u8, Vec<u8>)) -> (u8, Vec<u8>) {
    if protocol != protocol::ICMP {
        return (protocol, message);
    }
    message[0] = if message[0] == 0 { 129 } else { 128 };
    (protocol::ICMPV6, message)
}

fn has_checksum(protocol: u8) -> bool {
    matches!(protocol, protocol::TCP | protocol::UDP | protocol::ICMP | protocol::ICMPV6)
}

fn one(decision: &Decision) -> &[u8] {
    assert_eq!(decision.verdict, Verdict::Translated, "{decision:?}");
    let [packet] = &decision.packets[..] else { panic!("{decision:?}") };
    packet
}

fn turned6(packet: &[u8]) -> Vec<u8> {
    [&packet[..8], &packet[24..40], &packet[8..24], &packet[40..]].concat()
}

fn turned4(packet: &[u8]) -> Vec<u8> {
    [&packet[..12], &packet[16..20], &packet[12..16], &packet[20..]].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn ipv4_there_and_back(bits in select(&PREFIX_BITS[..]), host in hosts4(), message in messages(), tos: u8, hop_limit in 3_u8..) {
        let settings = settings(bits);
        let header = ipv4::Repr { traffic_class: tos, hop_limit, ..header4([host, KNOWN4], message.0) };
        let packet = packet4(header, message.1);
        let there = check(&settings, &packet);
        prop_assert!(!has_checksum(message.0) || is_right6(one(&there)));
        prop_assert_eq!(read6(one(&there)).source(), settings.prefixes[0].embed(host));
        let back = check(&settings, &turned6(one(&there)));
        prop_assert!(!has_checksum(message.0) || is_right4(one(&back)));
        let (before, after) = (ipv4::Repr::parse(&read4(&packet)), ipv4::Repr::parse(&read4(one(&back))));
        let expected = ipv4::Repr {
            source: KNOWN4,
            destination: host,
            hop_limit: hop_limit - 2,
            // RFC 7915 section 5.1 has rules of its own for these.
            dont_fragment: packet.len() > 1260,
            identification: if packet.len() > 1260 { 0 } else { 1 },
            ..before
        };
        prop_assert_eq!(after, expected);
        prop_assert_eq!(&one(&back)[20..], &packet[20..]);
    }

    #[test]
    fn ipv6_there_and_back(bits in select(&PREFIX_BITS[..]), host in hosts4(), message in messages(), class: u8, hop_limit in 3_u8..) {
        let settings = settings(bits);
        let message = to_ipv6(message);
        let ends = [KNOWN6, settings.prefixes[0].embed(host)];
        let header = ipv6::Repr { traffic_class: class, hop_limit, ..header6(ends, message.0) };
        let packet = packet6(header, message.1);
        let there = check(&settings, &packet);
        prop_assert!(!has_checksum(message.0) || is_right4(one(&there)));
        let mut back = turned4(one(&there));
        back[6] |= 0x40; // Or it may be cut.
        back[10..12].fill(0);
        let sum = sixbench_wire::checksum::checksum(&back[..20]);
        back[10..12].copy_from_slice(&sum.to_be_bytes());
        let back = check(&settings, &back);
        let (before, after) = (ipv6::Repr::parse(&read6(&packet)), ipv6::Repr::parse(&read6(one(&back))));
        let expected = ipv6::Repr { source: ends[1], destination: ends[0], hop_limit: hop_limit - 2, flow_label: 0, ..before };
        prop_assert_eq!(after, expected);
        prop_assert_eq!(&one(&back)[40..], &packet[40..]);
    }

    #[test]
    fn addresses_of_the_table_there_and_back(suffix: u8, message in messages()) {
        let settings = settings(96);
        let host = Ipv4Addr::new(203, 0, 113, suffix);
        let packet = packet4(header4([host, KNOWN4], message.0), message.1);
        let there = check(&settings, &packet);
        let source: Ipv6Addr = format!("2001:db8:7:0:{suffix:02x}00::").parse().expect("an address");
        prop_assert_eq!(read6(one(&there)).source(), source);
        let back = check(&settings, &turned6(one(&there)));
        prop_assert_eq!(read4(one(&back)).destination(), host);
        prop_assert_eq!(&one(&back)[20..], &packet[20..]);
    }

    #[test]
    fn fragments_are_the_whole_again(bits in select(&PREFIX_BITS[..]), lowest in 1280_u32..1500, message in prop::collection::vec(any::<u8>(), 1500..4000), offset_words in 0_u16..100, more: bool) {
        let settings = Settings { lowest_ipv6_mtu: lowest, ..settings(bits) };
        let offset_bytes = offset_words * 8;
        let header = ipv4::Repr { dont_fragment: false, offset_bytes, more_fragments: more, ..header4([HOST4, KNOWN4], protocol::UDP) };
        let packet = packet4(header, message);
        let decision = check(&settings, &packet);
        prop_assert_eq!(decision.clause, Clause::Fragmented);
        let mut found: Vec<u8> = Vec::new();
        for (index, part) in decision.packets.iter().enumerate() {
            let upper = read6(part).upper_layer();
            let fragment = upper.fragment.expect("a fragment");
            prop_assert!(part.len() <= lowest as usize);
            prop_assert_eq!(fragment.offset_bytes as usize, usize::from(offset_bytes) + found.len());
            prop_assert_eq!((fragment.identification, upper.protocol), (0x1234, protocol::UDP));
            prop_assert_eq!(fragment.more, more || index + 1 < decision.packets.len());
            found.extend(upper.payload.captured());
        }
        // The UDP header is compared only in later fragments: in a first one its checksum changes.
        prop_assert_eq!(&found[8..], &packet[28..]);
        prop_assert!(offset_bytes == 0 || found == packet[20..]);
    }

    #[test]
    fn short_packets_are_cut_for_any_ipv4_link(mtu4 in 68_u32..1260, message in prop::collection::vec(any::<u8>(), 20..1240), fragment: bool) {
        let settings = Settings { mtu4, ..settings(96) };
        let ends = [KNOWN6, settings.prefixes[0].embed(HOST4)];
        let whole = packet6(header6(ends, 132), message.clone());
        let packet = if fragment {
            let fragment = ipv4::Fragment { offset_bytes: 80, more: true, identification: 9 };
            let payload = [&FragmentHeader { next_header: 132, fragment }.emit()[..], &message].concat();
            packet6(header6(ends, protocol::FRAGMENT), payload)
        } else {
            whole
        };
        let decision = check(&settings, &packet);
        let mut found: Vec<u8> = Vec::new();
        let offset_bytes = if fragment { 80 } else { 0 };
        for part in &decision.packets {
            let header = ipv4::Repr::parse(&read4(part));
            prop_assert_eq!(usize::from(header.offset_bytes), offset_bytes + found.len());
            found.extend(&part[20..]);
            prop_assert_eq!(header.more_fragments, fragment || found.len() < message.len());
        }
        prop_assert_eq!(found, message);
    }

    /// An error about a packet that the translator has sent tells of the packet as it was sent to the translator.
    #[test]
    fn errors_tell_of_what_was_sent(bits in select(&PREFIX_BITS[..]), message in messages(), keep in any::<prop::sample::Index>(), kind in 0..3_usize) {
        let settings = settings(bits);
        let sent = packet4(header4([HOST4, KNOWN4], message.0), message.1);
        let passed = check(&settings, &sent);
        let passed = one(&passed);
        // Half a checksum cannot be changed as the whole.
        let quoted = &passed[..48 + keep.index(passed.len().min(1232) / 2 - 23) * 2];
        let (kind, code, rest) = [(1_u8, 4, 0), (2, 0, 1400), (3, 0, 0)][kind];
        let error = [&[kind, code, 0, 0][..], &u32::to_be_bytes(rest), quoted].concat();
        let error = packet6(header6([KNOWN6, settings.prefixes[0].embed(HOST4)], protocol::ICMPV6), error);
        let decision = check(&settings, &error);
        prop_assert_eq!(decision.clause, Clause::ErrorToIpv4);
        let inside = &one(&decision)[28..];
        // The identification and DF are lost on the way, and one hop was taken.
        let same = [0, 1, 2, 3, 9, 12, 13, 14, 15, 16, 17, 18, 19];
        for at in same {
            prop_assert_eq!(inside[at], sent[at], "octet {}", at);
        }
        prop_assert_eq!(inside[8], sent[8] - 1);
        prop_assert_eq!(inside.len(), (quoted.len() - 20).min(548));
        prop_assert_eq!(&inside[20..], &sent[20..inside.len()]);
    }
}

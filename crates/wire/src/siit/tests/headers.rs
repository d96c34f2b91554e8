//! RFC 7915 sections 4.1 and 5.1: headers, fragments.

use super::*;

#[test]
fn rfc7915_section_4_1_fields() {
    let decision = translator().translate(&udp4(100));
    assert_eq!((decision.verdict, decision.clause), (Verdict::Translated, Clause::ToIpv6));
    let packet = as6(one(&decision));
    assert_eq!((packet.source(), packet.destination()), (server6(), host6()));
    assert_eq!((packet.traffic_class(), packet.flow_label(), packet.hop_limit()), (0xe1, 0, 63));
    assert_eq!((packet.next_header(), packet.total_bytes()), (protocol::UDP, 140));
    assert!(is_right6(one(&decision)));
}

#[test]
fn rfc7915_section_5_1_fields() {
    for (bytes, dont_fragment) in [(1240, false), (1241, true)] {
        let decision = translator().translate(&udp6(bytes));
        let packet = as4(one(&decision));
        assert_eq!((packet.source(), packet.destination()), (KNOWN4, HOST4));
        assert_eq!((packet.traffic_class(), packet.hop_limit()), (0xe1, 63));
        assert_eq!(
            (packet.dont_fragment(), packet.fragment(), packet.total_bytes()),
            (dont_fragment, None, 20 + bytes)
        );
        assert!(is_right4(one(&decision)));
    }
}

#[test]
fn rfc7915_section_4_packets_without_df_are_cut() {
    let whole = udp4(1400);
    let header = ipv4::Repr { dont_fragment: false, ..header4(protocol::UDP, 1400) };
    let decision = translator().translate(&packet4(header, vec![7; 1400]));
    assert_eq!(decision.clause, Clause::Fragmented);
    let mut found = Vec::<u8>::new();
    for packet in &decision.packets {
        assert!(packet.len() <= 1280);
        let upper = as6(packet).upper_layer();
        let fragment = upper.fragment.expect("a fragment");
        assert_eq!((fragment.offset_bytes as usize, fragment.identification), (found.len(), 0x1234));
        found.extend(upper.payload.captured());
        assert_eq!(fragment.more, found.len() < 1400);
    }
    let unbroken = translator().translate(&whole);
    assert_eq!(found, as6(one(&unbroken)).payload().captured());
}

#[test]
fn rfc7915_section_4_1_what_is_too_long_with_df() {
    let decision = translator().translate(&udp4(1480));
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::FragmentationNeeded));
    let packet = as4(one(&decision));
    assert_eq!((packet.source(), packet.destination(), packet.total_bytes()), (OWN4, HOST4, 576));
    assert_eq!((packet.traffic_class(), packet.dont_fragment()), (0xc0, false));
    assert!(is_right4(one(&decision)));
    assert_eq!(one(&decision)[20..28][..2], [3, 4]);
    assert_eq!(one(&decision)[26..28], 1480_u16.to_be_bytes());
}

#[test]
fn rfc7915_section_5_1_what_is_too_long() {
    let mut translator = Translator::new(Settings { mtu4: 1300, ..settings(96) }).expect("right settings");
    let decision = translator.translate(&udp6(1281));
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::PacketTooBig));
    let packet = as6(one(&decision));
    assert_eq!((packet.destination(), packet.total_bytes()), (host6(), 1280));
    assert!(is_right6(one(&decision)));
    assert_eq!(one(&decision)[44..48], 1320_u32.to_be_bytes());
    assert_eq!(translator.translate(&udp6(1280)).verdict, Verdict::Translated);
}

#[test]
fn what_is_not_translated_has_a_clause() {
    let without = |packet: Vec<u8>, at: usize, value: u8| {
        let mut packet = packet;
        packet[at] = value;
        packet
    };
    assert_eq!(
        verdict(&packet4(ipv4::Repr { hop_limit: 1, ..header4(17, 8) }, vec![0; 8])),
        (Verdict::Answered, "hop-limit")
    );
    assert_eq!(verdict(&without(udp6(8), 7, 1)), (Verdict::Answered, "hop-limit"));
    assert_eq!(verdict(&without(udp6(8), 8, 0x30)), (Verdict::Dropped, "no-mapping"));
    assert_eq!(verdict(&without(udp6(8), 24, 0xff)), (Verdict::Dropped, "not-unicast"));
    assert_eq!(verdict(&without(udp4(8), 8, 3)), (Verdict::Dropped, "malformed"));
    assert_eq!(verdict(&[]), (Verdict::Dropped, "malformed"));
    let solicitation = V6Repr::Other { kind: 135, code: 0, rest: [0; 4] };
    let pseudo = checksum::pseudo_header_v6(host6(), server6(), protocol::ICMPV6, 8);
    let message = solicitation.emit_summed(pseudo, 0);
    let packet = [&header6(protocol::ICMPV6, 8).emit()[..], &message].concat();
    assert_eq!(verdict(&packet), (Verdict::Dropped, "untranslated-icmp"));
}

/// A header that is to be skipped: hop-by-hop options, destination options, or a routing header.
fn extension(next_header: u8, segments_left: u8) -> [u8; 8] {
    [next_header, 0, 0, segments_left, 0, 0, 0, 0]
}

#[test]
fn rfc7915_section_4_1_and_5_1_the_class_of_traffic_can_be_set() {
    assert_eq!(as6(&translated(|settings| settings.traffic_class = Some(0x28), &udp4(8))).traffic_class(), 0x28);
    assert_eq!(as4(&translated(|settings| settings.tos = Some(0), &udp6(8))).traffic_class(), 0);
}

#[test]
fn the_hop_limit_can_be_left_to_the_node() {
    let packet = translated(|settings| settings.takes_hop = false, &udp4(8));
    assert_eq!(as6(&packet).hop_limit(), 64);
    let last = packet4(ipv4::Repr { hop_limit: 1, ..header4(17, 8) }, vec![0; 8]);
    assert_eq!(as6(&translated(|settings| settings.takes_hop = false, &last)).hop_limit(), 1);
}

#[test]
fn rfc7915_section_5_1_identifications() {
    let identifications = |seed: Option<u64>, count: usize| {
        let settings = Settings { identification_seed: seed, ..settings(96) };
        let mut translator = Translator::new(settings).expect("right settings");
        let mut next = || ipv4::Repr::parse(&as4(one(&translator.translate(&udp6(8))))).identification;
        (0..count).map(|_| next()).collect::<Vec<_>>()
    };
    assert_eq!(identifications(None, 3), [1, 2, 3]);
    assert_eq!(identifications(Some(7), 50), identifications(Some(7), 50));
    assert_ne!(identifications(Some(7), 3), identifications(Some(8), 3));
    let mut all = identifications(Some(u64::MAX), 65_535);
    all.sort_unstable();
    assert!(all.iter().copied().eq(1..=u16::MAX));
    // The identification says nothing if DF is set.
    assert_eq!(ipv4::Repr::parse(&as4(&translated(|_| (), &udp6(1300)))).identification, 0);
}

#[test]
fn rfc7915_section_5_1_1_fragments() {
    let atomic = ipv4::Fragment { more: false, ..FIRST };
    let whole = udp6(1300)[40..].to_vec();
    let decision = translator().translate(&fragment6(atomic, protocol::UDP, &whole));
    assert_eq!(decision.clause, Clause::FragmentToIpv4);
    let header = ipv4::Repr::parse(&as4(one(&decision)));
    assert_eq!((header.identification, header.dont_fragment, header.more_fragments), (0x0304, false, false));
    assert!(is_right4(one(&decision)));
    let later = ipv4::Fragment { offset_bytes: 1304, ..FIRST };
    let header = ipv4::Repr::parse(&as4(&translated(|_| (), &fragment6(later, protocol::UDP, &[9; 20]))));
    assert_eq!((header.offset_bytes, header.more_fragments, header.payload_bytes), (1304, true, 20));
}

#[test]
fn fragments_that_would_make_too_long_a_packet_are_malformed() {
    // An IPv6 packet has so much behind its header, an IPv4 packet with it.
    for (bytes, verdict4) in [(7, "fragment-to-ipv6"), (8, "malformed")] {
        let header = ipv4::Repr { offset_bytes: 65_528, dont_fragment: false, ..header4(132, bytes) };
        assert_eq!(verdict(&packet4(header, vec![9; bytes])).1, verdict4);
    }
    for (bytes, verdict6) in [(11, "fragment-to-ipv4"), (12, "malformed")] {
        let later = ipv4::Fragment { offset_bytes: 65_504, ..FIRST };
        assert_eq!(verdict(&fragment6(later, 132, &vec![9; bytes])).1, verdict6);
    }
}

#[test]
fn more_than_eight_extension_headers_are_malformed() {
    for (count, expected) in [(8, "to-ipv4"), (9, "malformed")] {
        let mut payload = [extension(protocol::DESTINATION_OPTIONS, 0); 9][..count].concat();
        payload[8 * (count - 1)] = protocol::UDP;
        payload.extend(&udp6(8)[40..]);
        let packet = [&header6(protocol::DESTINATION_OPTIONS, payload.len()).emit()[..], &payload].concat();
        assert_eq!(verdict(&packet).1, expected);
    }
}

#[test]
fn rfc7915_section_5_1_extension_headers_are_skipped() {
    let udp = udp6(8)[40..].to_vec();
    let headers = [extension(protocol::DESTINATION_OPTIONS, 9), extension(protocol::ROUTING, 1), extension(17, 0)];
    let payload = [&headers.concat()[..], &udp].concat();
    let packet = [&header6(protocol::HOP_BY_HOP, payload.len()).emit()[..], &payload].concat();
    let out = translated(|_| (), &packet);
    assert_eq!((as4(&out).protocol(), out.len()), (protocol::UDP, 28));
    assert!(is_right4(&out));
}

#[test]
fn rfc7915_section_5_1_segments_left() {
    let payload = [&extension(protocol::ROUTING, 0)[..], &extension(17, 2), &udp6(8)[40..]].concat();
    let packet = [&header6(protocol::HOP_BY_HOP, payload.len()).emit()[..], &payload].concat();
    let decision = translator().translate(&packet);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::RoutingHeader));
    assert_eq!(one(&decision)[40..42], [4, 0]);
    assert_eq!(one(&decision)[44..48], 51_u32.to_be_bytes());
}

#[test]
fn rfc7915_section_5_1_1_a_header_behind_the_fragment_header() {
    for number in [protocol::HOP_BY_HOP, protocol::DESTINATION_OPTIONS, protocol::AUTHENTICATION, 135] {
        let payload = [&extension(17, 0)[..], &[0; 16]].concat();
        let packet = fragment6(FIRST, number, &payload);
        assert_eq!(verdict(&packet), (Verdict::Dropped, "header-after-fragment"), "{number}");
    }
    // The bytes of a later fragment are no header.
    let later = ipv4::Fragment { offset_bytes: 800, ..FIRST };
    assert_eq!(
        verdict(&fragment6(later, protocol::HOP_BY_HOP, &[255; 16])),
        (Verdict::Dropped, "header-after-fragment")
    );
    let esp = fragment6(FIRST, 50, &[0; 16]);
    assert_eq!(verdict(&esp), (Verdict::Translated, "fragment-to-ipv4"));
}

#[test]
fn numbers_of_the_other_family_are_dropped() {
    for number in [0, 43, 44, 58, 60] {
        assert_eq!(verdict(&packet4(header4(number, 8), vec![0; 8])), (Verdict::Dropped, "other-family"), "{number}");
    }
    for number in [1, 2] {
        assert_eq!(verdict(&packet6(header6(number, 8), vec![0; 8])), (Verdict::Dropped, "other-family"), "{number}");
    }
}

#[test]
fn rfc7915_section_4_1_fragmentation_needed_leaves_room_for_the_fragment_header() {
    let reported = |bytes: usize| {
        let header = ipv4::Repr { more_fragments: true, ..header4(protocol::UDP, bytes) };
        let decision = decided(|settings| settings.mtu6 = 1280, &packet4(header, vec![7; bytes]));
        assert_eq!(decision.clause, Clause::FragmentationNeeded);
        u16::from_be_bytes([one(&decision)[26], one(&decision)[27]])
    };
    // The error has the size for the next one: 1252 bytes with 20 of the IPv4 header.
    assert_eq!((reported(1400), reported(1241), reported(1240)), (1252, 1252, 1252));
    // A packet need not be longer than what the IPv4 link takes.
    let decision = decided(|settings| settings.mtu6 = 9000, &udp4(8980));
    assert_eq!(one(&decision)[26..28], 1500_u16.to_be_bytes());
}

#[test]
fn rfc7915_section_5_1_fragments_that_are_too_long() {
    let payload = udp6(1361)[40..].to_vec();
    let decision = decided(|settings| settings.mtu4 = 1380, &fragment6(FIRST, protocol::UDP, &payload));
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::PacketTooBig));
    assert_eq!(one(&decision)[44..48], 1400_u32.to_be_bytes());
}

#[test]
fn what_is_as_long_as_the_link_takes_goes_on() {
    assert_eq!(translated(|settings| settings.mtu4 = 576, &udp6(556)).len(), 576);
    assert_eq!(translated(|settings| settings.mtu4 = 1300, &udp6(1280)).len(), 1300);
    assert_eq!(translated(|_| (), &udp4(1460)).len(), 1500);
}

#[test]
fn what_is_short_is_cut_for_an_ipv4_link() {
    let whole = translated(|_| (), &udp6(1000));
    let decision = decided(|settings| settings.mtu4 = 576, &udp6(1000));
    assert_eq!((decision.verdict, decision.clause), (Verdict::Translated, Clause::FragmentedToIpv4));
    let mut found = Vec::<u8>::new();
    for packet in &decision.packets {
        let header = ipv4::Repr::parse(&as4(packet));
        assert!(packet.len() <= 576 && !header.dont_fragment && header.identification == 1);
        assert_eq!(usize::from(header.offset_bytes), found.len());
        found.extend(&packet[20..]);
        assert_eq!(header.more_fragments, found.len() < 1000);
    }
    assert_eq!(found, &whole[20..]);
}

#[test]
fn the_lowest_ipv6_mtu_can_be_more() {
    let header = ipv4::Repr { dont_fragment: false, ..header4(protocol::UDP, 1363) };
    let packet = packet4(header, vec![7; 1363]);
    let sizes = |lowest| {
        let decision = decided(|settings| settings.lowest_ipv6_mtu = lowest, &packet);
        decision.packets.iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(sizes(1402), [1400, 59]);
    assert_eq!(sizes(1403), [1403]);
}

#[test]
fn bytes_behind_the_packet_are_left_out_and_missing_ones_are_malformed() {
    for (packet, most) in [(udp4(100), 140), (udp6(100), 120)] {
        let longer = [&packet[..], &[1, 2, 3]].concat();
        let decision = translator().translate(&longer);
        assert_eq!(decision, translator().translate(&packet));
        assert_eq!(one(&decision).len(), most);
        assert_eq!(verdict(&packet[..packet.len() - 1]), (Verdict::Dropped, "malformed"));
    }
}

#[test]
fn rfc7915_section_4_1_source_routes() {
    let with_options = |options: &[u8]| {
        let mut packet = udp4(8);
        packet[0] = 0x45 + (options.len() / 4) as u8;
        packet[2..4].copy_from_slice(&(28 + options.len() as u16).to_be_bytes());
        packet.splice(20..20, options.iter().copied());
        packet[10..12].fill(0);
        let sum = checksum::checksum(&packet[..20 + options.len()]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    for pointer in [4, 7] {
        let unfinished = with_options(&[1, 131, 7, pointer, 192, 0, 2, 9]);
        let decision = translator().translate(&unfinished);
        assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::SourceRoute));
        assert_eq!(one(&decision)[20..22], [3, 5]);
    }
    for options in [&[131, 7, 8, 192, 0, 2, 9, 0][..], &[136, 4, 0, 1], &[7, 7, 4, 0, 0, 0, 0, 0], &[200, 0, 0, 0]] {
        let out = translated(|_| (), &with_options(options));
        assert_eq!((as6(&out).next_header(), out.len()), (protocol::UDP, 48));
        assert!(is_right6(&out));
    }
}

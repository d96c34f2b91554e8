//! RFC 7915 sections 4.2, 4.3, 5.2 and 5.3: ICMP.

use super::*;

#[test]
fn echoes_both_ways() {
    let echo = V4Repr::Echo(Echo { is_reply: false, identifier: 1, sequence: 2 });
    let message = [&echo.emit_summed(checksum::sum(b"abc"))[..], b"abc"].concat();
    let decision = translator().translate(&packet4(header4(protocol::ICMP, message.len()), message));
    assert_eq!((one(&decision)[40], as6(one(&decision)).next_header()), (128, protocol::ICMPV6));
    assert!(is_right6(one(&decision)));
    let message = one(&decision)[40..].to_vec();
    let mut back = header6(protocol::ICMPV6, message.len());
    (back.source, back.destination) = (server6(), host6());
    assert_eq!(verdict(&[&back.emit()[..], &message].concat()).1, "to-ipv4");
}

#[test]
fn rfc7915_section_5_2_an_error_of_a_router_without_an_ipv4_address() {
    let sent = as6(one(&translator().translate(&udp4(1400)))).payload().captured().to_vec();
    let quoted = packet6(ipv6::Repr { source: server6(), destination: host6(), ..header6(protocol::UDP, 1400) }, sent);
    let error = V6Repr::PacketTooBig { mtu_bytes: 1320 };
    let quoted = &quoted[..600];
    let router: Ipv6Addr = "2001:db8:9::1".parse().expect("an address");
    let pseudo = checksum::pseudo_header_v6(router, server6(), protocol::ICMPV6, 608);
    let message = [&error.emit_summed(pseudo, checksum::sum(quoted))[..], quoted].concat();
    let header = ipv6::Repr { source: router, ..header6(protocol::ICMPV6, message.len()) };
    let decision = translator().translate(&[&header.emit()[..], &message].concat());
    assert_eq!((decision.verdict, decision.clause), (Verdict::Translated, Clause::ErrorToIpv4));
    let bytes = one(&decision);
    assert_eq!((as4(bytes).source(), as4(bytes).destination()), (OWN4, HOST4));
    assert!(is_right4(bytes));
    assert_eq!((&bytes[20..22], &bytes[26..28]), (&[3, 4][..], &1300_u16.to_be_bytes()[..]));
    // The error quotes the packet that was sent, by its addresses, its length and the checksum in it.
    let inner = ipv4::Packet::parse(Span::whole(&bytes[28..]).open_ended()).expect("IPv4");
    assert_eq!((inner.source(), inner.destination(), inner.total_bytes()), (HOST4, KNOWN4, 1420));
    assert_eq!(inner.payload().captured()[..8], udp4(1400)[20..28]);
}

/// The type and code, and the second half of the header, of what an ICMP error becomes. `None` where it is dropped in
/// silence.
fn error_to_ipv6(error: V4Repr) -> Option<([u8; 2], [u8; 4])> {
    let decision = translator().translate(&icmp4(error, &sent4(protocol::UDP, &[7; 100])));
    decided_header(&decision, 40, (Clause::ErrorToIpv6, is_right6))
}

fn error_to_ipv4(error: V6Repr) -> Option<([u8; 2], [u8; 4])> {
    let decision = translator().translate(&icmp6(error, &sent6(protocol::UDP, &[7; 100])));
    decided_header(&decision, 20, (Clause::ErrorToIpv4, is_right4))
}

fn decided_header(
    decision: &Decision,
    at: usize,
    (clause, is_right): (Clause, fn(&[u8]) -> bool),
) -> Option<([u8; 2], [u8; 4])> {
    if decision.clause == Clause::UntranslatedIcmp {
        assert!(decision.packets.is_empty());
        return None;
    }
    assert_eq!(decision.clause, clause);
    let bytes = one(decision);
    assert!(is_right(bytes));
    let half = |from: usize| bytes[from..from + 4].try_into().expect("four");
    Some(([bytes[at], bytes[at + 1]], half(at + 4)))
}

#[test]
fn rfc7915_section_4_2_codes() {
    for code in 0..=20 {
        let expected = match code {
            0 | 1 | 5 | 6 | 7 | 8 | 11 | 12 => Some([1, 0]),
            2 => Some([4, 1]),
            3 => Some([1, 4]),
            4 => Some([2, 0]),
            9 | 10 | 13 | 15 => Some([1, 1]),
            _ => None,
        };
        let found = error_to_ipv6(V4Repr::Unreachable { code, quoted_words: 0, mtu_bytes: 1400 });
        assert_eq!(found.map(|(header, _)| header), expected, "{code}");
        assert!(code != 2 || found.is_some_and(|(_, rest)| rest == [0, 0, 0, 6]));
    }
    assert_eq!(error_to_ipv6(V4Repr::TimeExceeded { code: 1, quoted_words: 0 }), Some(([3, 1], [0; 4])));
    for kind in [4, 5, 6, 9, 10, 13, 14, 15, 16, 17, 18, 42, 43] {
        assert_eq!(error_to_ipv6(V4Repr::Other { kind, code: 0, rest: [0; 4] }), None);
    }
}

#[test]
fn rfc7915_section_4_2_pointers() {
    let places = [Some(0), Some(1), Some(4), Some(4), None, None, None, None, Some(7), Some(6), None, None];
    let addresses = [[Some(8); 4], [Some(24); 4], [None; 4]].concat();
    for (pointer, expected) in (0..).zip(places.into_iter().chain(addresses)) {
        for code in [0, 2] {
            let found = error_to_ipv6(V4Repr::ParameterProblem { code, pointer, quoted_words: 0 });
            assert_eq!(found, expected.map(|pointer| ([4, 0], [0, 0, 0, pointer])));
        }
    }
    assert_eq!(error_to_ipv6(V4Repr::ParameterProblem { code: 1, pointer: 0, quoted_words: 0 }), None);
}

#[test]
fn rfc7915_section_5_2_codes() {
    for (code, expected) in (0..).zip([Some(1), Some(10), Some(1), Some(1), Some(3), None, None, None, None]) {
        let found = error_to_ipv4(V6Repr::Unreachable { code, quoted_words: 0 });
        assert_eq!(found, expected.map(|code| ([3, code], [0; 4])));
    }
    assert_eq!(error_to_ipv4(V6Repr::TimeExceeded { code: 1, quoted_words: 0 }), Some(([11, 1], [0; 4])));
    assert_eq!(error_to_ipv4(V6Repr::ParameterProblem { code: 1, pointer: 6 }), Some(([3, 2], [0; 4])));
    assert_eq!(error_to_ipv4(V6Repr::ParameterProblem { code: 2, pointer: 6 }), None);
    for kind in [100, 127, 130, 131, 132, 133, 135, 136, 137, 200] {
        assert_eq!(error_to_ipv4(V6Repr::Other { kind, code: 0, rest: [0; 4] }), None);
    }
}

#[test]
fn rfc7915_section_5_2_pointers() {
    for pointer in 0..45 {
        let expected = match pointer {
            0 => Some(0),
            1 => Some(1),
            4 | 5 => Some(2),
            6 => Some(9),
            7 => Some(8),
            8..=23 => Some(12),
            24..=39 => Some(16),
            _ => None,
        };
        let found = error_to_ipv4(V6Repr::ParameterProblem { code: 0, pointer });
        assert_eq!(found, expected.map(|pointer| ([12, 0], [pointer, 0, 0, 0])), "{pointer}");
    }
}

#[test]
fn rfc7915_sections_4_2_and_5_2_mtus() {
    let to_ipv6 = |change: &dyn Fn(&mut Settings), mtu_bytes: u16, bytes: usize| {
        let error = V4Repr::Unreachable { code: 4, quoted_words: 0, mtu_bytes };
        let quoted = sent4(protocol::UDP, &vec![7; bytes]);
        let decision = decided(change, &icmp4(error, &quoted));
        u32::from_be_bytes(one(&decision)[44..48].try_into().expect("four"))
    };
    let usual = |_: &mut Settings| ();
    for (mtu_bytes, expected) in [(1440, 1460), (1496, 1500), (1024, 1280), (1600, 1500), (1261, 1281), (1259, 1280)] {
        assert_eq!(to_ipv6(&usual, mtu_bytes, 100), expected);
    }
    assert_eq!(to_ipv6(&|settings| settings.mtu4 = 1300, 1400, 100), 1320);
    let large = |settings: &mut Settings| {
        settings.mtu6 = 9000;
        settings.mtu4 = 9000;
    };
    // The MTU follows from a plateau: RFC 1191 section 7.
    let plateaus = [(4400, 4372), (4353, 4372), (4352, 2022), (1500, 1512), (1492, 1280), (400, 1280)];
    for (total_bytes, expected) in plateaus {
        assert_eq!(to_ipv6(&large, 0, total_bytes - 20), expected, "{total_bytes}");
    }
    let own = |settings: &mut Settings| settings.plateaus = vec![1300, 1400];
    assert_eq!((to_ipv6(&own, 0, 1480), to_ipv6(&own, 0, 1350)), (1420, 1320));
    let to_ipv4 = |change: &dyn Fn(&mut Settings), mtu_bytes: u32| {
        let quoted = sent6(protocol::UDP, &[7; 100]);
        let decision = decided(change, &icmp6(V6Repr::PacketTooBig { mtu_bytes }, &quoted));
        u16::from_be_bytes(one(&decision)[26..28].try_into().expect("two"))
    };
    for (mtu_bytes, expected) in [(1360, 1340), (1600, 1480), (1280, 1260), (68, 1260), (0, 1260), (u32::MAX, 1480)] {
        assert_eq!(to_ipv4(&usual, mtu_bytes), expected);
    }
    assert_eq!(to_ipv4(&|settings| settings.mtu4 = 1300, 1400), 1300);
}

#[test]
fn rfc7915_sections_4_3_and_5_3_errors_are_cut_to_what_every_link_takes() {
    let error = V4Repr::Unreachable { code: 1, quoted_words: 0, mtu_bytes: 0 };
    for (bytes, expected) in [(372, 440), (1232, 1280), (1452, 1280)] {
        let decision = translator().translate(&icmp4(error, &sent4(protocol::UDP, &vec![7; bytes - 20])));
        assert_eq!(one(&decision).len(), expected);
        assert!(is_right6(one(&decision)));
    }
    let error = V6Repr::Unreachable { code: 1, quoted_words: 0 };
    for (bytes, expected) in [(352, 360), (652, 576)] {
        let decision = translator().translate(&icmp6(error, &sent6(protocol::UDP, &vec![7; bytes - 40])));
        assert_eq!(one(&decision).len(), expected);
        assert!(is_right4(one(&decision)));
    }
}

/// Translates an error with a quoted packet of this many bytes, padding, and extensions of this many bytes. Returns the
/// length attribute of the result, the length of its payload, and that of its extensions.
fn extended_to_ipv4(quoted_bytes: usize, padding: usize, extensions: usize) -> (u8, usize, usize) {
    let quoted = sent6(protocol::UDP, &vec![7; quoted_bytes - 40]);
    let payload = [&quoted[..], &vec![0; padding], &vec![0xee; extensions]].concat();
    let quoted_words = ((quoted_bytes + padding) / 8) as u8;
    let decision = translator().translate(&icmp6(V6Repr::TimeExceeded { code: 0, quoted_words }, &payload));
    let bytes = one(&decision);
    assert!(is_right4(bytes) && bytes.len() <= 576);
    (bytes[25], bytes.len() - 28, bytes.iter().rev().take_while(|&&byte| byte == 0xee).count())
}

fn extended_to_ipv6(quoted_bytes: usize, padding: usize, extensions: usize) -> (u8, usize, usize) {
    let quoted = sent4(protocol::UDP, &vec![7; quoted_bytes - 20]);
    let payload = [&quoted[..], &vec![0; padding], &vec![0xee; extensions]].concat();
    let quoted_words = ((quoted_bytes + padding) / 4) as u8;
    let error = V4Repr::Unreachable { code: 3, quoted_words, mtu_bytes: 0 };
    let decision = translator().translate(&icmp4(error, &payload));
    let bytes = one(&decision);
    assert!(is_right6(bytes) && bytes.len() <= 1280);
    (bytes[44], bytes.len() - 48, bytes.iter().rev().take_while(|&&byte| byte == 0xee).count())
}

#[test]
fn rfc4884_extensions_to_ipv4() {
    assert_eq!(extended_to_ipv4(152, 0, 20), (33, 152, 20));
    // A quoted packet shorter than 128 bytes is padded.
    assert_eq!(extended_to_ipv4(122, 6, 20), (32, 148, 20));
    assert_eq!(extended_to_ipv4(48, 0, 40), (32, 168, 40));
    assert_eq!(extended_to_ipv4(154, 6, 20), (35, 160, 20));
    // The packet is cut for the extensions.
    assert_eq!(extended_to_ipv4(528, 0, 40), (127, 548, 40));
    assert_eq!(extended_to_ipv4(1192, 0, 40), (127, 548, 40));
    // The extensions are left out where there is no room for both.
    assert_eq!(extended_to_ipv4(128, 0, 420), (32, 548, 420));
    assert_eq!(extended_to_ipv4(128, 0, 421), (0, 108, 0));
    assert_eq!(extended_to_ipv4(576, 0, 521), (0, 548, 0));
}

#[test]
fn rfc4884_extensions_to_ipv6() {
    assert_eq!(extended_to_ipv6(132, 0, 20), (19, 172, 20));
    assert_eq!(extended_to_ipv6(126, 2, 20), (18, 164, 20));
    assert_eq!(extended_to_ipv6(128, 0, 20), (18, 164, 20));
    assert_eq!(extended_to_ipv6(28, 0, 40), (16, 168, 40));
    assert_eq!(extended_to_ipv6(580, 0, 640), (74, 1232, 640));
    assert_eq!(extended_to_ipv6(1020, 0, 200), (129, 1232, 200));
    assert_eq!(extended_to_ipv6(1020, 0, 1104), (16, 1232, 1104));
    assert_eq!(extended_to_ipv6(128, 0, 1105), (0, 148, 0));
    assert_eq!(extended_to_ipv6(1020, 0, 1105), (0, 1040, 0));
}

#[test]
fn rfc4884_extensions_are_left_out_of_messages_that_have_none() {
    let quoted = sent4(protocol::UDP, &[7; 500]);
    let payload = [&quoted[..128], &[0xee; 20]].concat();
    for error in [
        V4Repr::Unreachable { code: 2, quoted_words: 32, mtu_bytes: 0 },
        V4Repr::Unreachable { code: 4, quoted_words: 32, mtu_bytes: 1400 },
        V4Repr::ParameterProblem { code: 0, pointer: 8, quoted_words: 32 },
    ] {
        let decision = translator().translate(&icmp4(error, &payload));
        assert_eq!(one(&decision).len(), 48 + 148);
        assert!(is_right6(one(&decision)));
    }
    // A length beyond the message.
    let lying = V4Repr::TimeExceeded { code: 0, quoted_words: 40 };
    assert_eq!(verdict(&icmp4(lying, &payload)), (Verdict::Dropped, "malformed"));
}

#[test]
fn rfc7915_sections_4_3_and_5_3_quoted_packets() {
    let told4 = V4Repr::TimeExceeded { code: 0, quoted_words: 0 };
    let told6 = V6Repr::TimeExceeded { code: 0, quoted_words: 0 };
    let echo4 = V4Repr::Echo(Echo { is_reply: false, identifier: 1, sequence: 2 }).emit_summed(0);
    let decision = translator().translate(&icmp4(told4, &sent4(protocol::ICMP, &echo4)));
    assert!(is_right6(&one(&decision)[48..]) && one(&decision)[48 + 40] == 128);
    let pseudo = checksum::pseudo_header_v6(server6(), host6(), protocol::ICMPV6, 8);
    let echo6 = V6Repr::Echo(Echo { is_reply: true, identifier: 1, sequence: 2 }).emit_summed(pseudo, 0);
    let decision = translator().translate(&icmp6(told6, &sent6(protocol::ICMPV6, &echo6)));
    assert!(is_right4(&one(&decision)[28..]) && one(&decision)[28 + 20] == 0);
    // Its hop limit and its class of traffic stay.
    assert_eq!((one(&decision)[8], one(&decision)[28 + 8], one(&decision)[28 + 1]), (63, 64, 0xe1));
    let decision = translator().translate(&icmp4(told4, &sent4(protocol::UDP, &[7; 100])));
    let quoted = ipv6::Packet::parse(Span::whole(&one(&decision)[48..])).expect("IPv6");
    assert_eq!((quoted.hop_limit(), quoted.traffic_class()), (64, 0xe1));
    // The longest packet of IPv6 is longer than that of IPv4.
    let mut longest = sent6(protocol::UDP, &[7; 100]);
    longest[4..6].fill(0xff);
    let decision = translator().translate(&icmp6(told6, &longest));
    assert_eq!(one(&decision)[30..32], [0xff; 2]);
    let error4 = told4.emit_summed(0);
    assert_eq!(verdict(&icmp4(told4, &sent4(protocol::ICMP, &error4))).1, "error-in-error");
    let error6 = told6.emit_summed(pseudo, 0);
    assert_eq!(verdict(&icmp6(told6, &sent6(protocol::ICMPV6, &error6))).1, "error-in-error");
    for number in [0, 43, 44, 58, 60] {
        assert_eq!(verdict(&icmp4(told4, &sent4(number, &[7; 100]))).1, "quoted-packet");
    }
    assert_eq!(verdict(&icmp6(told6, &sent6(protocol::ICMP, &[7; 100]))).1, "quoted-packet");
    let mut from_nowhere = sent6(protocol::UDP, &[7; 100]);
    from_nowhere[8] = 0x30;
    assert_eq!(verdict(&icmp6(told6, &from_nowhere)).1, "quoted-packet");
    // The first bytes of a packet are enough, but not part of its header.
    let whole = sent4(protocol::UDP, &[7; 100]);
    assert_eq!(verdict(&icmp4(told4, &whole[..20])).1, "error-to-ipv6");
    assert_eq!(verdict(&icmp4(told4, &whole[..19])).1, "quoted-packet");
}

#[test]
fn wrong_checksums_of_errors_are_malformed() {
    let mut packet = icmp4(V4Repr::TimeExceeded { code: 0, quoted_words: 0 }, &sent4(17, &[7; 100]));
    packet[60] ^= 1;
    assert_eq!(verdict(&packet), (Verdict::Dropped, "malformed"));
    let mut packet = icmp6(V6Repr::TimeExceeded { code: 0, quoted_words: 0 }, &sent6(17, &[7; 100]));
    packet[90] ^= 1;
    assert_eq!(verdict(&packet), (Verdict::Dropped, "malformed"));
}

#[test]
fn fragments_of_icmp_are_dropped() {
    let header = ipv4::Repr { more_fragments: true, dont_fragment: false, ..header4(protocol::ICMP, 8) };
    assert_eq!(verdict(&packet4(header, vec![8; 8])), (Verdict::Dropped, "fragmented-icmp"));
    let fragment = ipv4::Fragment { offset_bytes: 8, more: false, identification: 1 };
    let between = FragmentHeader { next_header: protocol::ICMPV6, fragment }.emit();
    let packet = [&header6(protocol::FRAGMENT, 16).emit()[..], &between, &[0; 8]].concat();
    assert_eq!(verdict(&packet), (Verdict::Dropped, "fragmented-icmp"));
    // A whole message with a Fragment header is none.
    let whole = icmp6(V6Repr::Echo(Echo { is_reply: false, identifier: 1, sequence: 2 }), b"abc");
    let fragment = ipv4::Fragment { offset_bytes: 0, ..fragment };
    let between = FragmentHeader { next_header: protocol::ICMPV6, fragment }.emit();
    let packet = [&header6(protocol::FRAGMENT, 19).emit()[..], &between, &whole[40..]].concat();
    let decision = translator().translate(&packet);
    assert!(decision.clause == Clause::FragmentToIpv4 && is_right4(one(&decision)));
}

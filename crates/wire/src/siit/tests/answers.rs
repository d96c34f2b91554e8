//! RFC 7915 sections 4.4 and 5.4: errors that the translator sends itself.

use super::*;

fn last4(header: ipv4::Repr, payload: Vec<u8>) -> Vec<u8> {
    packet4(ipv4::Repr { hop_limit: 1, ..header }, payload)
}

fn last6(mut packet: Vec<u8>) -> Vec<u8> {
    packet[7] = 1;
    packet
}

#[test]
fn rfc1812_section_4_3_2_7_who_is_told_nothing_in_ipv4() {
    assert_eq!(verdict(&last4(header4(17, 8), vec![0; 8])), (Verdict::Answered, "hop-limit"));
    let later = ipv4::Repr { offset_bytes: 8, dont_fragment: false, ..header4(17, 8) };
    assert_eq!(verdict(&last4(later, vec![0; 8])), (Verdict::Dropped, "hop-limit"));
    for (kind, expected) in
        [(8, Verdict::Answered), (0, Verdict::Answered), (3, Verdict::Dropped), (5, Verdict::Dropped)]
    {
        let message = V4Repr::Other { kind, code: 0, rest: [0; 4] }.emit_summed(0).to_vec();
        assert_eq!(verdict(&last4(header4(protocol::ICMP, 8), message)), (expected, "hop-limit"), "{kind}");
    }
}

#[test]
fn rfc4443_section_2_4_who_is_told_nothing_in_ipv6() {
    assert_eq!(verdict(&last6(udp6(8))), (Verdict::Answered, "hop-limit"));
    for (kind, expected) in
        [(128, Verdict::Answered), (129, Verdict::Dropped), (1, Verdict::Dropped), (137, Verdict::Dropped)]
    {
        let message = icmp6(V6Repr::Other { kind, code: 0, rest: [0; 4] }, &[]);
        assert_eq!(verdict(&last6(message)), (expected, "hop-limit"), "{kind}");
    }
    // It may be an error behind an authentication header that cannot be read.
    let hidden = packet6(header6(protocol::AUTHENTICATION, 16), [&[protocol::ICMPV6, 200][..], &[0; 14]].concat());
    assert_eq!(verdict(&last6(hidden)), (Verdict::Dropped, "hop-limit"));
    // An answer that is too long has to become shorter.
    let reply = icmp6(V6Repr::Echo(Echo { is_reply: true, identifier: 1, sequence: 2 }), &[0; 1440]);
    assert_eq!(decided(|settings| settings.mtu4 = 1300, &reply).verdict, Verdict::Answered);
}

#[test]
fn rfc4443_sections_3_2_and_3_3_later_fragments_in_ipv6() {
    let later = |number, bytes| {
        fragment6(ipv4::Fragment { offset_bytes: 1304, more: true, identification: 7 }, number, &vec![9; bytes])
    };
    assert_eq!(verdict(&last6(later(protocol::UDP, 8))), (Verdict::Answered, "hop-limit"));
    let long = later(protocol::TCP, 1304);
    let decision = decided(|settings| settings.mtu4 = 1300, &long);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::PacketTooBig));
    assert_eq!((&one(&decision)[40..42], &one(&decision)[44..48]), (&[2, 0][..], &1320_u32.to_be_bytes()[..]));
    assert_eq!(one(&decision)[48..], long[..1232]);
    // These fragments may be an error's, behind these headers too.
    for number in [protocol::ICMPV6, protocol::DESTINATION_OPTIONS, protocol::AUTHENTICATION] {
        assert_eq!(verdict(&last6(later(number, 8))), (Verdict::Dropped, "hop-limit"), "{number}");
    }
}

#[test]
fn rfc7915_sections_4_4_and_5_4_prohibited() {
    let change = |settings: &mut Settings| {
        settings.answered = vec![Clause::NoMapping, Clause::ZeroChecksum];
    };
    let mut zero = udp4(8);
    zero[26..28].fill(0);
    let decision = decided(change, &zero);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::ZeroChecksum));
    assert_eq!((&one(&decision)[20..22], &one(&decision)[28..]), (&[3, 13][..], &zero[..]));
    assert!(is_right4(one(&decision)));
    let mut unmapped = udp6(8);
    unmapped[8] = 0x30;
    let decision = decided(change, &unmapped);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::NoMapping));
    assert_eq!((&one(&decision)[40..42], &one(&decision)[48..]), (&[1, 1][..], &unmapped[..]));
    assert!(is_right6(one(&decision)));
    // Packets that other clauses drop are still dropped in silence.
    assert_eq!(decided(change, &packet4(header4(44, 8), vec![0; 8])).verdict, Verdict::Dropped);
}

#[test]
fn the_own_address_in_ipv6_follows_from_that_in_ipv4() {
    let decision = decided(|settings| settings.own6 = Ipv6Addr::UNSPECIFIED, &last6(udp6(8)));
    assert_eq!(as6(one(&decision)).source(), settings(96).prefixes[0].embed(OWN4));
    let change = |settings: &mut Settings| {
        settings.own6 = Ipv6Addr::UNSPECIFIED;
        settings.explicit.push((net(HOST4, 32), net(server6(), 128)));
        settings.prefixes.clear();
    };
    let decision = decided(change, &last6(udp6(8)));
    assert_eq!((decision.verdict, decision.clause), (Verdict::Dropped, Clause::HopLimit));
}

#[test]
fn who_sends_to_many_or_is_nobody_is_told_nothing() {
    let told4 = |source: [u8; 4], destination: [u8; 4]| {
        let ends = ipv4::Repr { source: source.into(), destination: destination.into(), ..header4(132, 0) };
        crate::siit::answers::may_get_error4(&as4(&ends.emit()))
    };
    let (host, other) = (HOST4.octets(), KNOWN4.octets());
    assert!(told4(host, other));
    assert!(!told4([127, 0, 0, 1], other) && !told4([0, 0, 0, 0], other) && !told4([224, 0, 0, 1], other));
    assert!(!told4(host, [224, 0, 0, 1]) && !told4(host, [255; 4]));
    let told6 = |source: &str, destination: &str| {
        let address = |text: &str| text.parse::<Ipv6Addr>().expect("an address");
        let ends = ipv6::Repr { source: address(source), destination: address(destination), ..header6(132, 0) };
        crate::siit::answers::may_get_error6(&as6(&ends.emit()), V6Repr::PacketTooBig { mtu_bytes: 1280 })
    };
    assert!(told6("2001:db8::1", "2001:db8::2"));
    assert!(!told6("::", "2001:db8::2") && !told6("ff02::1", "2001:db8::2") && !told6("2001:db8::1", "ff02::1"));
}

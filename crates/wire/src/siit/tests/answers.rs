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
    assert_eq!(fate(&last4(header4(17, 8), vec![0; 8])), (Fate::Answered, "hop-limit"));
    let later = ipv4::Repr { offset_bytes: 8, dont_fragment: false, ..header4(17, 8) };
    assert_eq!(fate(&last4(later, vec![0; 8])), (Fate::Dropped, "hop-limit"));
    for (kind, expected) in [(8, Fate::Answered), (0, Fate::Answered), (3, Fate::Dropped), (5, Fate::Dropped)] {
        let message = V4Repr::Other { kind, code: 0, rest: [0; 4] }.emit_summed(0).to_vec();
        assert_eq!(fate(&last4(header4(protocol::ICMP, 8), message)), (expected, "hop-limit"), "{kind}");
    }
}

#[test]
fn rfc4443_section_2_4_who_is_told_nothing_in_ipv6() {
    assert_eq!(fate(&last6(udp6(8))), (Fate::Answered, "hop-limit"));
    for (kind, expected) in [(128, Fate::Answered), (129, Fate::Dropped), (1, Fate::Dropped), (137, Fate::Dropped)] {
        let message = icmp6(V6Repr::Other { kind, code: 0, rest: [0; 4] }, &[]);
        assert_eq!(fate(&last6(message)), (expected, "hop-limit"), "{kind}");
    }
    // An answer that is too long has to become shorter.
    let reply = icmp6(V6Repr::Echo(Echo { is_reply: true, identifier: 1, sequence: 2 }), &[0; 1440]);
    assert_eq!(decided(|settings| settings.mtu4 = 1300, &reply).fate, Fate::Answered);
}

#[test]
fn rfc7915_sections_4_4_and_5_4_prohibited() {
    let change = |settings: &mut Settings| {
        settings.told = vec![Clause::NoMapping, Clause::ZeroChecksum];
    };
    let mut zero = udp4(8);
    zero[26..28].fill(0);
    let decision = decided(change, &zero);
    assert_eq!((decision.fate, decision.clause), (Fate::Answered, Clause::ZeroChecksum));
    assert_eq!((&one(&decision)[20..22], &one(&decision)[28..]), (&[3, 13][..], &zero[..]));
    assert!(is_right4(one(&decision)));
    let mut unmapped = udp6(8);
    unmapped[8] = 0x30;
    let decision = decided(change, &unmapped);
    assert_eq!((decision.fate, decision.clause), (Fate::Answered, Clause::NoMapping));
    assert_eq!((&one(&decision)[40..42], &one(&decision)[48..]), (&[1, 1][..], &unmapped[..]));
    assert!(is_right6(one(&decision)));
    // Of other clauses still nothing.
    assert_eq!(decided(change, &packet4(header4(44, 8), vec![0; 8])).fate, Fate::Dropped);
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
    assert_eq!((decision.fate, decision.clause), (Fate::Dropped, Clause::HopLimit));
}

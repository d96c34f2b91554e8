//! RFC 7915 sections 4.5 and 5.5: what follows the IP headers.

use super::*;

#[test]
fn what_is_no_header_of_ipv6_is_carried() {
    for number in [protocol::AUTHENTICATION, 50, 33, 132, 135, protocol::NO_NEXT_HEADER, 253] {
        let payload: Vec<u8> = (0..40).collect();
        let out = translated(|_| (), &packet6(header6(number, 40), payload.clone()));
        assert_eq!((as4(&out).protocol(), &out[20..]), (number, &payload[..]));
        let out = translated(|_| (), &packet4(header4(number, 40), payload.clone()));
        assert_eq!((as6(&out).next_header(), &out[40..]), (number, &payload[..]));
    }
}

#[test]
fn rfc7915_section_4_5_udp_without_a_checksum() {
    use ZeroChecksum::{Compute, Drop, Forward};
    let without = |mut packet: Vec<u8>, at: usize| {
        packet[at..at + 2].fill(0);
        packet
    };
    let length = |mut packet: Vec<u8>, at: usize| {
        packet[at..at + 2].copy_from_slice(&100_u16.to_be_bytes());
        packet
    };
    let whole4 = length(without(udp4(100), 26), 24);
    let whole6 = length(without(udp6(100), 46), 44);
    let first4 = packet4(ipv4::Repr { more_fragments: true, ..header4(17, 100) }, vec![7; 100]);
    let first4 = without(first4, 26);
    let first6 = fragment6(FIRST, 17, &whole6[40..]);
    for (policy, packet, expected) in [
        (Drop, &whole4, "zero-checksum"),
        (Drop, &whole6, "zero-checksum"),
        (Drop, &first4, "zero-checksum"),
        (Drop, &first6, "zero-checksum"),
        (Compute, &whole4, "checksum-computed"),
        (Compute, &whole6, "checksum-computed"),
        (Compute, &first4, "zero-checksum"),
        (Compute, &first6, "zero-checksum"),
        (Forward, &whole4, "to-ipv6"),
        (Forward, &whole6, "to-ipv4"),
        (Forward, &first4, "fragment-to-ipv6"),
        (Forward, &first6, "fragment-to-ipv4"),
    ] {
        let decision = decided(|settings| settings.zero_checksum = policy, packet);
        assert_eq!(decision.clause.name(), expected, "{policy:?}");
        match policy {
            Compute if packet.len() == whole4.len() => {
                assert!(decision.packets.first().is_none_or(|packet| is_right6(packet)));
            }
            Compute if packet.len() == whole6.len() => {
                assert!(decision.packets.first().is_none_or(|packet| is_right4(packet)));
            }
            Forward => {
                let bytes = one(&decision);
                let at = bytes.len() - 100 + 6;
                assert_eq!(bytes[at..at + 2], [0, 0]);
            }
            _ => {}
        }
    }
    // A length that says more than there is.
    let lying = without(udp4(100), 26);
    let decision = decided(|settings| settings.zero_checksum = Compute, &lying);
    assert_eq!(decision.clause, Clause::Malformed);
}

#[test]
fn rfc768_a_checksum_of_zero_is_all_ones() {
    // Among all values of one word, one makes the sum that of zero.
    let datagrams = |header_bytes: usize, packet: &dyn Fn(Vec<u8>) -> Vec<u8>, is_without: bool| {
        let found = (0..=u16::MAX).map(|word| {
            let mut packet = packet([&[0, 1, 0, 2, 0, 10, 0, 0][..], &word.to_be_bytes()].concat());
            if is_without {
                packet[header_bytes + 6..header_bytes + 8].fill(0);
            }
            let out = translated(|settings| settings.zero_checksum = ZeroChecksum::Compute, &packet);
            u16::from_be_bytes([out[out.len() - 4], out[out.len() - 3]])
        });
        found.fold((0, 0), |(zeros, ones), sum| (zeros + u32::from(sum == 0), ones + u32::from(sum == 0xffff)))
    };
    for is_without in [false, true] {
        let four = |message: Vec<u8>| packet4(header4(protocol::UDP, message.len()), message);
        let six = |message: Vec<u8>| packet6(header6(protocol::UDP, message.len()), message);
        for (zeros, ones) in [datagrams(20, &four, is_without), datagrams(40, &six, is_without)] {
            assert!(zeros == 0 && ones >= 1, "{zeros} {ones}");
        }
    }
}

#[test]
fn wrong_checksums_stay_as_wrong() {
    let mut packet = udp4(100);
    packet[26] ^= 0x55;
    let out = translated(|_| (), &packet);
    assert!(!is_right6(&out));
    let right = translated(|_| (), &udp4(100));
    assert_eq!(out[48..], right[48..]);
    let echo = V6Repr::Echo(Echo { is_reply: true, identifier: 1, sequence: 2 });
    let mut packet = icmp6(echo, b"abc");
    packet[42] ^= 0x55;
    let out = translated(|_| (), &packet);
    assert!(!is_right4(&out) && out[20] == 0);
}

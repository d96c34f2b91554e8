//! Round trips: values are read as they were written, and well-formed packets are written as they were read.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use sixbench_wire::checksum::{self, pseudo_header_v4, pseudo_header_v6};
use sixbench_wire::icmp::{self, Echo, V4Repr, V6Repr, Version};
use sixbench_wire::ipv4::Fragment;
use sixbench_wire::ipv6::FragmentHeader;
use sixbench_wire::virtio::{self, Checksum, Segments};
use sixbench_wire::{Span, ipv4, ipv6, protocol, udp};

fn ipv4_reprs() -> impl Strategy<Value = ipv4::Repr> {
    let addresses = any::<(u32, u32)>();
    let fragment = (any::<(u16, bool, bool)>(), 0..0x2000_u16);
    (addresses, any::<(u8, u8, u8)>(), fragment, 0..=65_515_usize).prop_map(
        |(addresses, octets, fragment, payload_bytes)| {
            let ((identification, dont_fragment, more_fragments), offset) = fragment;
            ipv4::Repr {
                source: Ipv4Addr::from_bits(addresses.0),
                destination: Ipv4Addr::from_bits(addresses.1),
                traffic_class: octets.0,
                identification,
                dont_fragment,
                more_fragments,
                offset_bytes: offset * 8,
                hop_limit: octets.1,
                protocol: octets.2,
                payload_bytes,
            }
        },
    )
}

fn ipv6_reprs() -> impl Strategy<Value = ipv6::Repr> {
    (any::<(u128, u128)>(), any::<(u8, u8, u8)>(), 0..0x10_0000_u32, 0..=65_535_usize).prop_map(
        |(addresses, octets, flow_label, payload_bytes)| ipv6::Repr {
            source: Ipv6Addr::from_bits(addresses.0),
            destination: Ipv6Addr::from_bits(addresses.1),
            traffic_class: octets.0,
            flow_label,
            hop_limit: octets.1,
            next_header: octets.2,
            payload_bytes,
        },
    )
}

fn echoes() -> impl Strategy<Value = Echo> {
    any::<(bool, u16, u16)>().prop_map(|(is_reply, identifier, sequence)| Echo { is_reply, identifier, sequence })
}

fn v4_reprs() -> impl Strategy<Value = V4Repr> {
    prop_oneof![
        echoes().prop_map(V4Repr::Echo),
        any::<(u8, u8)>()
            .prop_filter("4 has an MTU", |(code, _)| *code != 4)
            .prop_map(|(code, quoted_words)| { V4Repr::Unreachable { code, quoted_words, mtu_bytes: 0 } }),
        any::<(u8, u16)>().prop_map(|(quoted_words, mtu_bytes)| V4Repr::Unreachable {
            code: 4,
            quoted_words,
            mtu_bytes
        }),
        any::<(u8, u8)>().prop_map(|(code, quoted_words)| V4Repr::TimeExceeded { code, quoted_words }),
        any::<(u8, u8, u8)>().prop_map(|(code, pointer, quoted_words)| V4Repr::ParameterProblem {
            code,
            pointer,
            quoted_words
        }),
        (13..=255_u8, any::<(u8, [u8; 4])>()).prop_map(|(kind, (code, rest))| V4Repr::Other { kind, code, rest }),
    ]
}

fn v6_reprs() -> impl Strategy<Value = V6Repr> {
    prop_oneof![
        echoes().prop_map(V6Repr::Echo),
        any::<(u8, u8)>().prop_map(|(code, quoted_words)| V6Repr::Unreachable { code, quoted_words }),
        any::<u32>().prop_map(|mtu_bytes| V6Repr::PacketTooBig { mtu_bytes }),
        any::<(u8, u8)>().prop_map(|(code, quoted_words)| V6Repr::TimeExceeded { code, quoted_words }),
        any::<(u8, u32)>().prop_map(|(code, pointer)| V6Repr::ParameterProblem { code, pointer }),
        (130..=255_u8, any::<(u8, [u8; 4])>()).prop_map(|(kind, (code, rest))| V6Repr::Other { kind, code, rest }),
    ]
}

/// A packet of that many bytes, of which the header was captured.
fn ipv4_of(header: &[u8; 20], payload_bytes: usize) -> ipv4::Packet<'_> {
    ipv4::Packet::parse(Span::new(header, 20 + payload_bytes)).expect("a packet")
}

fn ipv6_of(header: &[u8; 40], payload_bytes: usize) -> ipv6::Packet<'_> {
    ipv6::Packet::parse(Span::new(header, 40 + payload_bytes)).expect("a packet")
}

fn message(version: Version, header: &[u8; 8]) -> icmp::Message<'_> {
    icmp::Message::parse(version, Span::whole(header)).expect("a message")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn what_is_written_is_read(
        four in ipv4_reprs(), six in ipv6_reprs(), icmp4 in v4_reprs(), icmp6 in v6_reprs(), sum: u16,
        ports in any::<(u16, u16)>(), udp_bytes in 0..=65_527_usize,
        next_header: u8, identification: u32, more: bool, offset in 0..0x2000_u32,
    ) {
        let header = four.emit();
        prop_assert!(checksum::is_valid(&header));
        prop_assert_eq!(ipv4::Repr::parse(&ipv4_of(&header, four.payload_bytes)), four);
        prop_assert_eq!(ipv6::Repr::parse(&ipv6_of(&six.emit(), six.payload_bytes)), six);
        prop_assert_eq!(V4Repr::parse(&message(Version::V4, &icmp4.emit(sum))), icmp4);
        prop_assert_eq!(V6Repr::parse(&message(Version::V6, &icmp6.emit(sum))), icmp6);
        let datagram = udp::Repr { source_port: ports.0, destination_port: ports.1, payload_bytes: udp_bytes };
        let header = datagram.emit(sum);
        let read = udp::Datagram::parse(Span::new(&header, 8 + udp_bytes)).expect("a datagram");
        prop_assert_eq!((udp::Repr::parse(&read), read.checksum()), (datagram, sum));
        let fragment = FragmentHeader { next_header, fragment: Fragment { offset_bytes: offset * 8, more, identification } };
        prop_assert_eq!(FragmentHeader::parse(&fragment.emit()), fragment);
    }

    #[test]
    fn what_is_well_formed_is_written_as_it_was_read(mut four in any::<[u8; 20]>(), mut six in any::<[u8; 40]>(), mut fragment in any::<[u8; 8]>()) {
        four[0] = 0x45;
        four[6] &= 0x7f; // The flag that has no meaning.
        four[2] |= 1; // At least as long as its header.
        four[10..12].fill(0);
        let sum = checksum::checksum(&four);
        four[10..12].copy_from_slice(&sum.to_be_bytes());
        let packet = ipv4::Packet::parse(Span::new(&four, 65_535)).expect("a packet");
        prop_assert_eq!(ipv4::Repr::parse(&packet).emit(), four);
        six[0] = 0x60 | (six[0] & 0x0f);
        let packet = ipv6::Packet::parse(Span::new(&six, 65_575)).expect("a packet");
        prop_assert_eq!(ipv6::Repr::parse(&packet).emit(), six);
        (fragment[1], fragment[3]) = (0, fragment[3] & !6); // Reserved.
        prop_assert_eq!(FragmentHeader::parse(&fragment).emit(), fragment);
    }

    #[test]
    fn any_message_is_read_and_written_so_that_it_is_read_alike(header in any::<[u8; 8]>()) {
        let (four, six) = (message(Version::V4, &header), message(Version::V6, &header));
        let (repr, again) = (V4Repr::parse(&four), V4Repr::parse(&four).emit(four.checksum()));
        prop_assert_eq!(V4Repr::parse(&message(Version::V4, &again)), repr);
        let (repr, again) = (V6Repr::parse(&six), V6Repr::parse(&six).emit(six.checksum()));
        prop_assert_eq!(V6Repr::parse(&message(Version::V6, &again)), repr);
    }

    #[test]
    fn summed_headers_have_the_right_checksum(echo in echoes(), payload in vec(any::<u8>(), 0..100), four in any::<(u32, u32)>(), six in any::<(u128, u128)>()) {
        let sum = checksum::sum(&payload);
        let bytes = 8 + payload.len();
        prop_assert!(checksum::is_valid(&[&V4Repr::Echo(echo).emit_summed(sum)[..], &payload].concat()));
        let pseudo = pseudo_header_v6(Ipv6Addr::from_bits(six.0), Ipv6Addr::from_bits(six.1), protocol::ICMPV6, bytes as u32);
        let header = V6Repr::Echo(echo).emit_summed(pseudo, sum);
        prop_assert_eq!(checksum::add(pseudo, checksum::sum(&[&header[..], &payload].concat())), 0xffff);
        let pseudo = pseudo_header_v4(Ipv4Addr::from_bits(four.0), Ipv4Addr::from_bits(four.1), protocol::UDP, bytes as u16);
        let header = udp::Repr { source_port: 1, destination_port: 2, payload_bytes: payload.len() }.emit_summed(pseudo, sum);
        prop_assert_eq!(checksum::add(pseudo, checksum::sum(&[&header[..], &payload].concat())), 0xffff);
        prop_assert_ne!(&header[6..], [0, 0]);
    }

    /// A translator's work (RFC 7915) out of these parts: no byte behind the headers is read or copied.
    #[test]
    fn a_datagram_goes_from_ipv4_to_ipv6_and_back(four in ipv4_reprs(), prefix: u64, ports in any::<(u16, u16)>(), payload in vec(any::<u8>(), 0..100)) {
        let four = ipv4::Repr {
            protocol: protocol::UDP, payload_bytes: 8 + payload.len(), more_fragments: false, offset_bytes: 0, dont_fragment: true, identification: 0, ..four
        };
        let datagram = udp::Repr { source_port: ports.0, destination_port: ports.1, payload_bytes: payload.len() };
        let pseudo_4 = pseudo_header_v4(four.source, four.destination, four.protocol, four.payload_bytes as u16);
        let before = datagram.emit_summed(pseudo_4, checksum::sum(&payload));
        let sum_before = u16::from_be_bytes([before[6], before[7]]);

        let embed = |address: Ipv4Addr| Ipv6Addr::from_bits((u128::from(prefix) << 64) | u128::from(address.to_bits()));
        let six = ipv6::Repr {
            source: embed(four.source),
            destination: embed(four.destination),
            traffic_class: four.traffic_class,
            flow_label: 0,
            hop_limit: four.hop_limit,
            next_header: four.protocol,
            payload_bytes: four.payload_bytes,
        };
        let pseudo_6 = pseudo_header_v6(six.source, six.destination, six.next_header, six.payload_bytes as u32);
        let sum = checksum::never_zero(checksum::update_sum(sum_before, pseudo_4, pseudo_6));
        let packet = [&six.emit()[..], &datagram.emit(sum), &payload].concat();

        let read = ipv6::Packet::parse(Span::whole(&packet)).expect("a packet");
        prop_assert_eq!(checksum::add(pseudo_6, checksum::sum(read.payload().captured())), 0xffff);
        let behind = read.upper_layer();
        let datagram_after = udp::Datagram::parse(behind.payload).expect("a datagram");
        prop_assert_eq!(datagram_after.payload().captured(), &payload[..]);
        let back = ipv4::Repr {
            source: Ipv4Addr::from_bits(read.source().to_bits() as u32),
            destination: Ipv4Addr::from_bits(read.destination().to_bits() as u32),
            traffic_class: read.traffic_class(),
            hop_limit: read.hop_limit(),
            protocol: behind.protocol,
            payload_bytes: behind.payload.length().expect("it is whole"),
            ..four
        };
        prop_assert_eq!(back.emit(), four.emit());
        let sum = checksum::never_zero(checksum::update_sum(datagram_after.checksum(), pseudo_6, pseudo_4));
        prop_assert_eq!(udp::Repr::parse(&datagram_after).emit(sum), before);
    }

    #[test]
    fn a_device_s_work_is_read_as_it_is_written(start_bytes: u16, offset_bytes: u16, kind: u8, header_bytes: u16, segment_bytes in 1..=u16::MAX, has in any::<(bool, bool)>(), mut frame in vec(any::<u8>(), 0..100)) {
        let checksum = Checksum { start_bytes, offset_bytes };
        let segments = Segments { kind, header_bytes, segment_bytes };
        let repr = virtio::Repr { checksum: has.0.then_some(checksum), segments: has.1.then_some(segments) };
        prop_assert_eq!(virtio::Repr::parse(&repr.emit()), repr);
        let _ = checksum.complete(&mut frame);
        let _ = Checksum { start_bytes: start_bytes % 100, offset_bytes: offset_bytes % 100 }.complete(&mut frame);
    }
}

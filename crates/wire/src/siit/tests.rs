//! What a translator does with single packets, and what holds of all.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::icmp::{Echo, V4Repr, V6Repr};

const HOST4: Ipv4Addr = Ipv4Addr::new(198, 18, 2, 2);
const KNOWN4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OWN4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);

fn host6() -> Ipv6Addr {
    "2001:db8::1".parse().expect("an address")
}

fn net<A>(address: A, bits: u8) -> Net<A> {
    Net { address, bits }
}

fn settings(length: u8) -> Settings {
    let prefix: Ipv6Addr = "64:ff9b:1::".parse().expect("an address");
    let bits = prefix.to_bits() >> (128 - u32::from(length)) << (128 - u32::from(length));
    Settings {
        prefixes: vec![net(Ipv6Addr::from_bits(bits), length)],
        explicit: vec![(net(KNOWN4, 32), net(host6(), 128))],
        own4: OWN4,
        own6: "2001:db8::ffff".parse().expect("an address"),
        ..Settings::default()
    }
}

fn translator() -> Translator {
    Translator::new(settings(96)).expect("right settings")
}

fn server6() -> Ipv6Addr {
    settings(96).prefixes[0].embed(HOST4)
}

fn with_checksum(protocol: u8, mut payload: Vec<u8>, pseudo: u16) -> Vec<u8> {
    if let Some(at) = checksum_at(protocol) {
        payload[at..at + 2].fill(0);
        let computed = checksum::never_zero(checksum::upper_layer(pseudo, &payload));
        payload[at..at + 2].copy_from_slice(&computed.to_be_bytes());
    }
    payload
}

fn header4(protocol: u8, payload_bytes: usize) -> ipv4::Repr {
    ipv4::Repr {
        source: HOST4,
        destination: KNOWN4,
        traffic_class: 0xe1,
        identification: 0x1234,
        dont_fragment: true,
        more_fragments: false,
        offset_bytes: 0,
        hop_limit: 64,
        protocol,
        payload_bytes,
    }
}

fn packet4(header: ipv4::Repr, payload: Vec<u8>) -> Vec<u8> {
    let pseudo = checksum::pseudo_header_v4(header.source, header.destination, header.protocol, payload.len() as u16);
    let payload = with_checksum(header.protocol, payload, pseudo);
    [&header.emit()[..], &payload].concat()
}

fn udp4(bytes: usize) -> Vec<u8> {
    packet4(header4(protocol::UDP, bytes), vec![7; bytes])
}

fn header6(next_header: u8, payload_bytes: usize) -> ipv6::Repr {
    ipv6::Repr {
        source: host6(),
        destination: server6(),
        traffic_class: 0xe1,
        flow_label: 5,
        hop_limit: 64,
        next_header,
        payload_bytes,
    }
}

fn packet6(header: ipv6::Repr, payload: Vec<u8>) -> Vec<u8> {
    let pseudo =
        checksum::pseudo_header_v6(header.source, header.destination, header.next_header, payload.len() as u32);
    let payload = with_checksum(header.next_header, payload, pseudo);
    [&header.emit()[..], &payload].concat()
}

fn udp6(bytes: usize) -> Vec<u8> {
    packet6(header6(protocol::UDP, bytes), vec![7; bytes])
}

fn one(decision: &Decision) -> &[u8] {
    let [packet] = &decision.packets[..] else { panic!("{decision:?}") };
    packet
}

fn as4(bytes: &[u8]) -> ipv4::Packet<'_> {
    assert!(checksum::is_valid(&bytes[..20]));
    ipv4::Packet::parse(Span::whole(bytes)).expect("IPv4")
}

fn as6(bytes: &[u8]) -> ipv6::Packet<'_> {
    ipv6::Packet::parse(Span::whole(bytes)).expect("IPv6")
}

fn is_right4(bytes: &[u8]) -> bool {
    let packet = as4(bytes);
    let payload = &bytes[20..];
    let pseudo =
        checksum::pseudo_header_v4(packet.source(), packet.destination(), packet.protocol(), payload.len() as u16);
    let pseudo = if packet.protocol() == protocol::ICMP { 0 } else { pseudo };
    checksum::add(pseudo, checksum::sum(payload)) == u16::MAX
}

fn is_right6(bytes: &[u8]) -> bool {
    let packet = as6(bytes);
    let payload = &bytes[40..];
    let pseudo =
        checksum::pseudo_header_v6(packet.source(), packet.destination(), packet.next_header(), payload.len() as u32);
    checksum::add(pseudo, checksum::sum(payload)) == u16::MAX
}

fn fate(packet: &[u8]) -> (Fate, &'static str) {
    let decision = translator().translate(packet);
    (decision.fate, decision.clause.name())
}

#[test]
fn rfc7915_section_4_1_fields() {
    let decision = translator().translate(&udp4(100));
    assert_eq!((decision.fate, decision.clause), (Fate::Translated, Clause::ToIpv6));
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
    assert_eq!((decision.fate, decision.clause), (Fate::Answered, Clause::FragmentationNeeded));
    let packet = as4(one(&decision));
    assert_eq!((packet.source(), packet.destination(), packet.total_bytes()), (OWN4, HOST4, 576));
    assert!(is_right4(one(&decision)));
    assert_eq!(one(&decision)[20..28][..2], [3, 4]);
    assert_eq!(one(&decision)[26..28], 1480_u16.to_be_bytes());
}

#[test]
fn rfc7915_section_5_1_what_is_too_long() {
    let mut translator = Translator::new(Settings { mtu4: 1300, ..settings(96) }).expect("right settings");
    let decision = translator.translate(&udp6(1281));
    assert_eq!((decision.fate, decision.clause), (Fate::Answered, Clause::PacketTooBig));
    let packet = as6(one(&decision));
    assert_eq!((packet.destination(), packet.total_bytes()), (host6(), 1280));
    assert!(is_right6(one(&decision)));
    assert_eq!(one(&decision)[44..48], 1320_u32.to_be_bytes());
    assert_eq!(translator.translate(&udp6(1280)).fate, Fate::Translated);
}

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
    assert_eq!(fate(&[&back.emit()[..], &message].concat()).1, "to-ipv4");
}

#[test]
fn rfc7915_section_5_2_an_error_of_a_router_without_an_ipv4_address() {
    let sent = as6(one(&translator().translate(&udp4(1400)))).payload().captured().to_vec();
    let quoted = packet6(ipv6::Repr { source: server6(), destination: host6(), ..header6(protocol::UDP, 1400) }, sent);
    let told = V6Repr::PacketTooBig { mtu_bytes: 1320 };
    let quoted = &quoted[..600];
    let router: Ipv6Addr = "2001:db8:9::1".parse().expect("an address");
    let pseudo = checksum::pseudo_header_v6(router, server6(), protocol::ICMPV6, 608);
    let message = [&told.emit_summed(pseudo, checksum::sum(quoted))[..], quoted].concat();
    let header = ipv6::Repr { source: router, ..header6(protocol::ICMPV6, message.len()) };
    let decision = translator().translate(&[&header.emit()[..], &message].concat());
    assert_eq!((decision.fate, decision.clause), (Fate::Translated, Clause::ErrorToIpv4));
    let bytes = one(&decision);
    assert_eq!((as4(bytes).source(), as4(bytes).destination()), (OWN4, HOST4));
    assert!(is_right4(bytes));
    assert_eq!((&bytes[20..22], &bytes[26..28]), (&[3, 4][..], &1300_u16.to_be_bytes()[..]));
    // What is quoted is the packet that was sent, by its addresses, its length and the checksum in it.
    let inner = ipv4::Packet::parse(Span::whole(&bytes[28..]).open_ended()).expect("IPv4");
    assert_eq!((inner.source(), inner.destination(), inner.total_bytes()), (HOST4, KNOWN4, 1420));
    assert_eq!(inner.payload().captured()[..8], udp4(1400)[20..28]);
}

#[test]
fn what_is_not_translated_has_a_clause() {
    let without = |packet: Vec<u8>, at: usize, value: u8| {
        let mut packet = packet;
        packet[at] = value;
        packet
    };
    let mut no_checksum = udp4(100);
    no_checksum[26..28].fill(0);
    assert_eq!(fate(&no_checksum), (Fate::Dropped, "zero-checksum"));
    let mut computing =
        Translator::new(Settings { zero_checksum: ZeroChecksum::Compute, ..settings(96) }).expect("right");
    let decision = computing.translate(&no_checksum);
    assert!(decision.clause == Clause::ChecksumComputed && is_right6(one(&decision)));
    assert_eq!(
        fate(&packet4(ipv4::Repr { hop_limit: 1, ..header4(17, 8) }, vec![0; 8])),
        (Fate::Answered, "hop-limit")
    );
    assert_eq!(fate(&without(udp6(8), 7, 1)), (Fate::Answered, "hop-limit"));
    assert_eq!(fate(&without(udp6(8), 8, 0x30)), (Fate::Dropped, "no-mapping"));
    assert_eq!(fate(&without(udp6(8), 24, 0xff)), (Fate::Dropped, "not-unicast"));
    assert_eq!(fate(&without(udp4(8), 8, 3)), (Fate::Dropped, "malformed"));
    assert_eq!(fate(&[]), (Fate::Dropped, "malformed"));
    let solicitation = V6Repr::Other { kind: 135, code: 0, rest: [0; 4] };
    let pseudo = checksum::pseudo_header_v6(host6(), server6(), protocol::ICMPV6, 8);
    let message = solicitation.emit_summed(pseudo, 0);
    let packet = [&header6(protocol::ICMPV6, 8).emit()[..], &message].concat();
    assert_eq!(fate(&packet), (Fate::Dropped, "untranslated-icmp"));
}

#[test]
fn rfc6052_section_2_4_embeds() {
    let address = Ipv4Addr::new(192, 0, 2, 33);
    for (prefix, bits, expected) in [
        ("2001:db8::", 32, "2001:db8:c000:221::"),
        ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
        ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::", 96, "2001:db8:122:344::c000:221"),
    ] {
        let prefix = net(prefix.parse::<Ipv6Addr>().expect("an address"), bits);
        let expected: Ipv6Addr = expected.parse().expect("an address");
        assert_eq!((prefix.embed(address), prefix.embedded(expected)), (expected, Some(address)));
    }
}

#[test]
fn what_is_wrong_with_settings_is_said() {
    let wrong = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(96);
        change(&mut settings);
        settings.check().expect_err("wrong")
    };
    assert!(wrong(&|settings| settings.prefixes.clear()).contains("there is no prefix"));
    assert!(wrong(&|settings| settings.prefixes[0].bits = 80).contains("none of the lengths"));
    assert!(wrong(&|settings| settings.prefixes[0].bits = 32).contains("bits beyond its length"));
    assert!(wrong(&|settings| settings.explicit[0].0.bits = 24).contains("map one to one"));
    assert!(wrong(&|settings| settings.explicit[0].1.bits = 129).contains("map one to one"));
    assert!(wrong(&|settings| settings.mtu6 = 1279).contains("must be 1280 to 65535"));
    assert!(wrong(&|settings| settings.mtu4 = 67).contains("must be 68 to 65535"));
}

proptest! {
    #[test]
    fn there_and_back_is_the_same_packet(length in prop::sample::select(vec![32_u8, 40, 48, 56, 64, 96]), data in prop::collection::vec(any::<u8>(), 20..1400), protocol in prop::sample::select(vec![protocol::TCP, protocol::UDP, 132])) {
        let mut translator = Translator::new(settings(length)).expect("right settings");
        let packet = packet4(header4(protocol, data.len()), data);
        let there = translator.translate(&packet);
        prop_assert!(protocol == 132 || is_right6(one(&there)));
        let mut swapped = one(&there).to_vec();
        let (source, destination) = (swapped[8..24].to_vec(), swapped[24..40].to_vec());
        swapped[8..24].copy_from_slice(&destination);
        swapped[24..40].copy_from_slice(&source);
        let back = translator.translate(&swapped);
        let bytes = one(&back);
        prop_assert_eq!(&bytes[20..], &packet[20..]);
        prop_assert_eq!((as4(bytes).source(), as4(bytes).destination()), (KNOWN4, HOST4));
    }

    #[test]
    fn no_packet_panics_and_every_decision_is_whole(mut data in prop::collection::vec(any::<u8>(), 0..200), version in prop::sample::select(vec![0x45_u8, 0x46, 0x60, 0x00]), fixes: bool) {
        if let Some(first) = data.first_mut() {
            *first = version;
        }
        // Half of them get further: lengths and the header's checksum are right.
        if fixes && version >> 4 == 4 && data.len() >= 24 {
            let (bytes, header_bytes) = (data.len() as u16, usize::from(version & 15) * 4);
            data[2..4].copy_from_slice(&bytes.to_be_bytes());
            data[10..12].fill(0);
            let computed = checksum::checksum(&data[..header_bytes]);
            data[10..12].copy_from_slice(&computed.to_be_bytes());
        } else if fixes && version == 0x60 && data.len() >= 40 {
            let bytes = data.len() as u16 - 40;
            data[4..6].copy_from_slice(&bytes.to_be_bytes());
            data[8..24].copy_from_slice(&host6().octets());
            data[24..40].copy_from_slice(&server6().octets());
        }
        let decision = translator().translate(&data);
        prop_assert_eq!(decision.fate == Fate::Dropped, decision.packets.is_empty());
        for packet in &decision.packets {
            prop_assert!(packet.len() >= 20);
        }
    }
}

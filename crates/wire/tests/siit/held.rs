//! Rules that translators keep, whatever the packet.
#![allow(dead_code)] // The fuzzers use a part.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::addresses::Net;
use sixbench_wire::map::{Psid, Rule};
use sixbench_wire::siit::{Clause, Decision, Domain, Settings, Translator, Verdict, ZeroChecksum};
use sixbench_wire::{Span, checksum, ipv4, ipv6, protocol};

/// The host that IPv4 knows by the table, and the one that IPv6 knows by the prefix.
pub const KNOWN4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const KNOWN6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
pub const HOST4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
pub const PREFIX_BITS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// Settings with a prefix of that length.
pub fn settings(bits: u8) -> Settings {
    let prefix = (0x0064_ff9b_0001_u128 << 80) >> (128 - u32::from(bits)) << (128 - u32::from(bits));
    Settings {
        prefixes: vec![Net { address: Ipv6Addr::from_bits(prefix), bits }],
        explicit: vec![
            (Net { address: KNOWN4, bits: 32 }, Net { address: KNOWN6, bits: 128 }),
            (Net { address: Ipv4Addr::new(203, 0, 113, 0), bits: 24 }, net6("2001:db8:7::", 64)),
        ],
        own4: Ipv4Addr::new(192, 0, 2, 254),
        own6: "2001:db8::fe".parse().expect("an address"),
        ..Settings::default()
    }
}

/// Settings of every kind.
pub fn all_settings() -> Vec<Settings> {
    let mut all: Vec<_> = PREFIX_BITS.iter().map(|&bits| settings(bits)).collect();
    let answered = || Clause::ALL.iter().copied().filter(|clause| clause.can_be_answered()).collect();
    all.push(Settings { zero_checksum: ZeroChecksum::Compute, mtu4: 68, lowest_ipv6_mtu: 1403, ..settings(96) });
    all.push(Settings { zero_checksum: ZeroChecksum::Forward, mtu6: 1280, answered: answered(), ..settings(64) });
    all.push(Settings { hairpin: true, mtu4: 576, tos: Some(0), traffic_class: Some(0xb8), ..settings(96) });
    all.push(Settings {
        prefixes: vec![net6("64:ff9b::", 96)],
        denied: vec![Net { address: Ipv4Addr::new(203, 0, 113, 128), bits: 25 }],
        pool4: vec![Net { address: Ipv4Addr::new(203, 0, 113, 8), bits: 29 }],
        pool6: vec![net6("2001:db8:6791::", 64)],
        identification_seed: Some(7),
        answered: answered(),
        mtu4: 65_535,
        mtu6: 65_535,
        ..settings(96)
    });
    all.push(Settings { prefixes: Vec::new(), own6: Ipv6Addr::UNSPECIFIED, plateaus: Vec::new(), ..settings(96) });
    all.push(of_domain(Domain { own: None, rules: vec![RULE] }));
    all.push(of_domain(Domain { own: Some(edge(4)), rules: Vec::new() }));
    all
}

/// The rule of a MAP-T domain whose customer edges share the host that IPv4 knows, among others.
pub const RULE: Rule = Rule {
    ipv6: Net { address: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), bits: 40 },
    ipv4: Net { address: Ipv4Addr::new(192, 0, 2, 0), bits: 24 },
    ea_bits: 16,
    psid_offset: 6,
    psid: None,
};

/// The rule of a customer edge, with the same addresses as `RULE`.
fn edge(psid: u16) -> Rule {
    let address = RULE.address(KNOWN4, psid).to_bits() >> 72 << 72;
    Rule {
        ipv6: Net { address: Ipv6Addr::from_bits(address), bits: 56 },
        ipv4: Net { address: KNOWN4, bits: 32 },
        ea_bits: 0,
        psid: Some(Psid { bits: 8, value: psid }),
        ..RULE
    }
}

fn of_domain(domain: Domain) -> Settings {
    let own6 = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 0xfe);
    Settings { domain: Some(domain), explicit: Vec::new(), own6, ..settings(96) }
}

fn net6(address: &str, bits: u8) -> Net<Ipv6Addr> {
    Net { address: address.parse().expect("an address"), bits }
}

/// Checks the rules that must hold for any bytes.
pub fn check(settings: &Settings, bytes: &[u8]) -> Decision {
    let mut translator = Translator::new(settings.clone()).expect("right settings");
    let mut same = translator.clone();
    let decision = translator.translate(bytes);
    assert_eq!(decision, same.translate(bytes), "chance decides nothing");
    let expected = match decision.clause {
        Clause::ToIpv6
        | Clause::ToIpv4
        | Clause::Fragmented
        | Clause::FragmentedToIpv4
        | Clause::FragmentToIpv6
        | Clause::FragmentToIpv4
        | Clause::ErrorToIpv6
        | Clause::ErrorToIpv4
        | Clause::ChecksumComputed
        | Clause::Hairpin => Verdict::Translated,
        // These are also dropped, if the sender must not be told.
        Clause::FragmentationNeeded
        | Clause::PacketTooBig
        | Clause::HopLimit
        | Clause::SourceRoute
        | Clause::RoutingHeader
        | Clause::OwnAddress
            if decision.verdict == Verdict::Answered =>
        {
            Verdict::Answered
        }
        clause if settings.answered.contains(&clause) && decision.verdict == Verdict::Answered => Verdict::Answered,
        _ => Verdict::Dropped,
    };
    assert_eq!(decision.verdict, expected, "{:?}", decision.clause);
    let is_to_ipv4 = (bytes.first().is_some_and(|first| first >> 4 == 6)) == (decision.verdict == Verdict::Translated);
    match decision.verdict {
        Verdict::Dropped => assert!(decision.packets.is_empty()),
        Verdict::Answered if is_reply(&decision) => check_reply(bytes, &decision),
        Verdict::Answered => check_answer(&mut translator, settings, bytes, &decision),
        Verdict::Translated => {
            assert!(!decision.packets.is_empty());
            let is_to_ipv4 = is_to_ipv4 && decision.clause != Clause::Hairpin;
            decision.packets.iter().for_each(|packet| check_translated(settings, bytes, packet, is_to_ipv4));
        }
    }
    decision
}

fn check_translated(settings: &Settings, bytes: &[u8], packet: &[u8], is_to_ipv4: bool) {
    let hop_limit = if bytes[0] >> 4 == 6 { bytes[7] } else { bytes[8] } - 1;
    if is_to_ipv4 {
        let parsed = read4(packet);
        assert!(packet.len() <= settings.mtu4 as usize, "{} bytes", packet.len());
        assert_eq!((parsed.hop_limit(), parsed.header_bytes()), (hop_limit, 20));
        assert!(!parsed.dont_fragment() || (packet.len() > 1260 && parsed.fragment().is_none()));
        assert!(settings.tos.is_none_or(|tos| parsed.traffic_class() == tos));
        check_error4(packet, &parsed);
    } else {
        let parsed = read6(packet);
        assert!(packet.len() <= settings.mtu6 as usize, "{} bytes", packet.len());
        assert_eq!((parsed.hop_limit(), parsed.flow_label()), (hop_limit, 0));
        assert!(settings.traffic_class.is_none_or(|class| parsed.traffic_class() == class));
        check_error6(packet, &parsed);
    }
}

/// True if the packet sent to the source of a packet to the translator itself is no error.
fn is_reply(decision: &Decision) -> bool {
    let Some(packet) = decision.packets.first() else { return false };
    let is_error = if packet[0] >> 4 == 4 { is_error4(&read4(packet)) } else { is_error6(&read6(packet)) };
    decision.clause == Clause::OwnAddress && !is_error
}

/// The reply to an echo request, with the same data, or the reset of a connection.
fn check_reply(bytes: &[u8], decision: &Decision) {
    let [reply] = &decision.packets[..] else { panic!("{} replies", decision.packets.len()) };
    let (is_echo, asked, answered) = if bytes[0] >> 4 == 4 {
        let (asked, answered) = (ipv4::Packet::parse(Span::whole(bytes)).expect("IPv4"), read4(reply));
        assert_eq!((answered.source(), answered.destination()), (asked.destination(), asked.source()));
        assert!(is_right4(reply));
        (asked.protocol() == protocol::ICMP, asked.payload().captured(), answered.payload().captured())
    } else {
        let (asked, answered) = (ipv6::Packet::parse(Span::whole(bytes)).expect("IPv6"), read6(reply));
        assert_eq!((answered.source(), answered.destination()), (asked.destination(), asked.source()));
        assert!(is_right6(reply));
        let upper = asked.upper_layer();
        (upper.protocol == protocol::ICMPV6, upper.payload.captured(), answered.payload().captured())
    };
    if is_echo {
        assert!([0, 129].contains(&answered[0]));
        assert_eq!(answered[4..], asked[4..]);
    } else {
        assert_eq!(answered[..4], [&asked[2..4], &asked[..2]].concat());
        assert!(answered.len() == 20 && answered[13] & 4 != 0 && asked[13] & 4 == 0);
    }
}

/// An error to who sent the packet, from the translator itself, which is about no error and not answered by another
/// one.
fn check_answer(translator: &mut Translator, settings: &Settings, bytes: &[u8], decision: &Decision) {
    let [answer] = &decision.packets[..] else { panic!("{} answers", decision.packets.len()) };
    if bytes[0] >> 4 == 4 {
        let (about, parsed) = (read4(bytes), read4(answer));
        assert!(!is_error4(&about) && about.fragment().is_none_or(|fragment| fragment.offset_bytes == 0));
        assert_eq!((parsed.source(), parsed.destination()), (settings.own4, about.source()));
        assert!(answer.len() <= 576 && is_error4(&parsed));
        assert!(bytes.starts_with(&answer[28..]));
        check_error4(answer, &parsed);
    } else {
        let about = ipv6::Packet::parse(Span::whole(bytes)).expect("IPv6");
        let parsed = read6(answer);
        let upper = about.upper_layer();
        let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        assert!(!is_error6(&about) && (!is_later || upper.protocol != protocol::ICMPV6));
        assert_eq!(parsed.destination(), about.source());
        assert!(!parsed.source().is_unspecified() && answer.len() <= 1280 && is_error6(&parsed));
        assert!(bytes.starts_with(&answer[48..]));
        check_error6(answer, &parsed);
    }
    assert_ne!(translator.translate(answer).verdict, Verdict::Answered);
}

/// The checksum of an ICMP error is its own, whatever the packet in it is like.
fn check_error4(packet: &[u8], parsed: &ipv4::Packet<'_>) {
    if is_error4(parsed) && parsed.fragment().is_none() {
        assert!(checksum::is_valid(&packet[20..]) && packet.len() <= 576);
    }
}

fn check_error6(packet: &[u8], parsed: &ipv6::Packet<'_>) {
    if is_error6(parsed) && parsed.next_header() == protocol::ICMPV6 {
        assert!(is_right6(packet) && packet.len() <= 1280);
    }
}

fn is_error4(packet: &ipv4::Packet<'_>) -> bool {
    let is_first = packet.fragment().is_none_or(|fragment| fragment.offset_bytes == 0);
    let kind = packet.payload().captured().first();
    packet.protocol() == protocol::ICMP && is_first && matches!(kind, Some(3 | 4 | 5 | 11 | 12))
}

fn is_error6(packet: &ipv6::Packet<'_>) -> bool {
    let upper = packet.upper_layer();
    upper.protocol == protocol::ICMPV6 && upper.payload.captured().first().is_some_and(|&kind| kind < 128)
}

/// A whole packet, whose header has its checksum.
pub fn read4(packet: &[u8]) -> ipv4::Packet<'_> {
    let parsed = ipv4::Packet::parse(Span::whole(packet)).expect("IPv4");
    assert!(checksum::is_valid(&packet[..parsed.header_bytes()]));
    assert!(parsed.total_bytes() <= packet.len());
    parsed
}

/// A whole packet.
pub fn read6(packet: &[u8]) -> ipv6::Packet<'_> {
    let parsed = ipv6::Packet::parse(Span::whole(packet)).expect("IPv6");
    assert_eq!(parsed.total_bytes(), packet.len());
    parsed
}

/// True if the message in a packet without options has its checksum.
pub fn is_right4(packet: &[u8]) -> bool {
    let (parsed, message) = (read4(packet), &packet[20..]);
    let pseudo = match parsed.protocol() {
        protocol::ICMP => 0,
        number => checksum::pseudo_header_v4(parsed.source(), parsed.destination(), number, message.len() as u16),
    };
    checksum::add(pseudo, checksum::sum(message)) == u16::MAX
}

/// True if the message in a packet without extension headers has its checksum.
pub fn is_right6(packet: &[u8]) -> bool {
    let (parsed, message) = (read6(packet), &packet[40..]);
    let (number, bytes) = (parsed.next_header(), message.len() as u32);
    let pseudo = checksum::pseudo_header_v6(parsed.source(), parsed.destination(), number, bytes);
    checksum::add(pseudo, checksum::sum(message)) == u16::MAX
}

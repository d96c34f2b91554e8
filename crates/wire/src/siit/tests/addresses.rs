//! RFC 6052, RFC 7757 and RFC 6791: addresses.

use super::*;
use crate::addresses::Ipv4Net;

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

fn address4(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn address6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn from4(source: &str) -> Vec<u8> {
    packet4(ipv4::Repr { source: address4(source), ..header4(132, 8) }, vec![0; 8])
}

fn to6(destination: &str) -> Vec<u8> {
    packet6(ipv6::Repr { destination: address6(destination), ..header6(132, 8) }, vec![0; 8])
}

#[test]
fn rfc6052_section_2_2_what_follows_the_ipv4_address_is_not_looked_at() {
    let prefix = net(address6("2001:db8::"), 32);
    for suffix in ["2001:db8:c000:221::abcd", "2001:db8:c000:221:ab00::", "2001:db8:c000:221:abcd:ef12:5678:1234"] {
        assert_eq!(prefix.embedded(address6(suffix)), Some(Ipv4Addr::new(192, 0, 2, 33)));
    }
    assert_eq!(prefix.embedded(address6("2001:db9:c000:221::")), None);
}

#[test]
fn rfc6052_section_3_1_the_well_known_prefix_is_for_global_addresses() {
    let decided = |allow: bool, packet: &[u8]| {
        let change = |settings: &mut Settings| {
            settings.prefixes = vec![net(address6("64:ff9b::"), 96)];
            settings.allow_non_global = allow;
        };
        decided(change, packet).clause.name()
    };
    for address in ["10.1.3.4", "100.69.96.2", "172.18.6.7", "192.168.22.69", "198.19.255.255", "203.0.113.69"] {
        let there = format!("64:ff9b::{address}");
        assert_eq!((decided(false, &from4(address)), decided(true, &from4(address))), ("non-global", "to-ipv6"));
        assert_eq!((decided(false, &to6(&there)), decided(true, &to6(&there))), ("non-global", "to-ipv4"));
    }
    for address in ["9.255.255.255", "11.0.0.0", "100.128.0.0", "172.32.0.0", "192.88.99.52", "198.20.0.0"] {
        assert_eq!(decided(false, &from4(address)), "to-ipv6");
        assert_eq!(decided(false, &to6(&format!("64:ff9b::{address}"))), "to-ipv4");
    }
}

#[test]
fn denied_addresses_whatever_maps_them() {
    let clause = |denied: Ipv4Net, packet: &[u8]| decided(|settings| settings.denied = vec![denied], packet).clause;
    let explicit = net(Ipv4Addr::new(192, 0, 2, 0), 24);
    let embedded = net(Ipv4Addr::new(198, 18, 2, 0), 24);
    for packet in [udp4(8), udp6(8)] {
        assert_eq!((clause(explicit, &packet), clause(embedded, &packet)), (Clause::Denied, Clause::Denied));
    }
    assert_ne!(clause(net(Ipv4Addr::new(198, 18, 3, 0), 24), &udp4(8)), Clause::Denied);
}

#[test]
fn addresses_that_are_no_hosts() {
    for address in ["0.0.0.1", "127.1.1.1", "169.254.0.42", "224.0.0.1", "240.0.0.1", "255.255.255.255"] {
        assert_eq!(verdict(&from4(address)), (Verdict::Dropped, "not-unicast"), "{address}");
        assert_eq!(verdict(&to6(&format!("64:ff9b:1::{address}"))), (Verdict::Dropped, "not-unicast"), "{address}");
    }
    for address in ["::1", "::", "fe80::1", "ff02::1"] {
        assert_eq!(verdict(&to6(address)), (Verdict::Dropped, "not-unicast"), "{address}");
    }
    let allowed = |address| decided(|settings| settings.allow_reserved = true, &from4(address)).clause;
    assert_eq!((allowed("240.0.0.1"), allowed("255.255.255.255")), (Clause::ToIpv6, Clause::NotUnicast));
}

#[test]
fn rfc7757_sections_3_3_and_5_the_longest_prefix_holds() {
    let mapping = |ipv4, bits4, ipv6, bits6| (net(address4(ipv4), bits4), net(address6(ipv6), bits6));
    let table = vec![
        mapping("10.0.0.0", 16, "2001:db8:beef:0:cafe::", 112),
        mapping("10.0.1.0", 24, "2001:db8:beef:0:1234::100", 120),
        mapping("10.0.1.6", 32, "2001:db8:beef:0:5678::106", 128),
        mapping("192.0.2.0", 24, "2001:db8:1:2::", 64),
    ];
    let decide = |packet: &[u8]| {
        let table = table.clone();
        decided(
            move |settings| {
                settings.explicit.extend(table);
                settings.explicit.remove(0);
                settings.explicit.push((net(address4("192.0.3.1"), 32), net(host6(), 128)));
                settings.overlapping = true;
            },
            packet,
        )
    };
    for (ipv4, ipv6) in [
        ("10.0.0.255", "2001:db8:beef:0:cafe::ff"),
        ("10.0.1.5", "2001:db8:beef:0:1234::105"),
        ("10.0.1.6", "2001:db8:beef:0:5678::106"),
        ("10.0.2.0", "2001:db8:beef:0:cafe::200"),
        ("192.0.2.33", "2001:db8:1:2:2100::"),
    ] {
        assert_eq!(as6(one(&decide(&from4(ipv4)))).source(), address6(ipv6));
        assert_eq!(as4(one(&decide(&to6(ipv6)))).destination(), address4(ipv4));
    }
    // The shorter prefix has this one too.
    assert_eq!(as4(one(&decide(&to6("2001:db8:beef:0:cafe::106")))).destination(), address4("10.0.1.6"));
    assert_eq!(decide(&to6("2001:db8:beef:0:cafd:ffff:ffff:ffff")).clause, Clause::NoMapping);
}

#[test]
fn a_table_is_enough() {
    let change = |settings: &mut Settings| {
        settings.prefixes.clear();
        settings.explicit.push((net(HOST4, 32), net(address6("2001:db8:7::7"), 128)));
    };
    let decision = decided(change, &udp4(8));
    assert_eq!(as6(one(&decision)).source(), address6("2001:db8:7::7"));
    assert_eq!(decided(change, &from4("198.18.2.3")).clause, Clause::NoMapping);
}

#[test]
fn rfc6791_sources_of_errors_that_nothing_maps() {
    let quoted = sent6(protocol::UDP, &[7; 100]);
    let too_far = V6Repr::TimeExceeded { code: 0, quoted_words: 0 };
    let source = |pool: &[(Ipv4Addr, u8)], hop_limit: u8| {
        let mut packet = icmp6_from(address6("2001:db8:9::1"), too_far, &quoted);
        packet[7] = hop_limit;
        let pool = pool.iter().map(|&(address, bits)| net(address, bits)).collect();
        as4(one(&decided(|settings| settings.pool4 = pool, &packet))).source()
    };
    assert_eq!(source(&[], 64), OWN4);
    let pool = [(Ipv4Addr::new(203, 0, 113, 8), 30), (Ipv4Addr::new(203, 0, 113, 32), 32)];
    let of_path: Vec<_> = (60..65).map(|hop_limit| source(&pool, hop_limit).octets()[3]).collect();
    assert_eq!(of_path, [8, 9, 10, 11, 32]);
}

#[test]
fn rfc7915_section_4_1_sources_of_errors_that_are_no_hosts() {
    let quoted = sent4(protocol::UDP, &[7; 100]);
    let source = |address: &str, change: &dyn Fn(&mut Settings)| {
        let mut packet = icmp4(V4Repr::TimeExceeded { code: 0, quoted_words: 0 }, &quoted);
        packet[12..16].copy_from_slice(&address4(address).octets());
        packet[10..12].fill(0);
        let sum = checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        as6(one(&decided(change, &packet))).source()
    };
    assert_eq!(source("127.0.0.1", &|_| ()), address6("64:ff9b:1::127.0.0.1"));
    assert_eq!(source("0.0.0.0", &|_| ()), address6("64:ff9b:1::"));
    let only_table = |settings: &mut Settings| {
        settings.prefixes.clear();
        settings.explicit.push((net(HOST4, 32), net(address6("2001:db8:7::7"), 128)));
    };
    assert_eq!(source("192.0.0.2", &only_table), settings(96).own6);
    let pool = |settings: &mut Settings| {
        only_table(settings);
        settings.pool6 = vec![net(address6("2001:db8:6791::"), 120)];
    };
    assert_eq!(source("192.0.0.2", &pool), address6("2001:db8:6791::40"));
}

#[test]
fn rfc7757_section_4_2_2_hairpins() {
    let change = |settings: &mut Settings| {
        settings.prefixes = vec![net(address6("2001:db8:100::"), 40)];
        settings.explicit = vec![
            (net(address4("1.0.0.0"), 24), net(address6("2001:db8:3::"), 120)),
            (net(address4("10.0.0.0"), 24), net(address6("2001:db8:2::"), 120)),
        ];
        settings.pool4 = vec![net(address4("203.0.113.8"), 32)];
        settings.hairpin = true;
    };
    let ends = |source: &str, destination: &str| (address6(source), address6(destination));
    let header = |(source, destination), next_header, payload_bytes| ipv6::Repr {
        source,
        destination,
        ..header6(next_header, payload_bytes)
    };
    let of = |bytes: &[u8]| {
        let packet = ipv6::Packet::parse(Span::whole(bytes).open_ended()).expect("IPv6");
        (packet.source(), packet.destination())
    };
    let packet = packet6(header(ends("2001:db8:3::8", "2001:db8:101:0:9::"), protocol::UDP, 1300), vec![7; 1300]);
    let decision = decided(change, &packet);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Translated, Clause::Hairpin));
    assert_eq!(of(one(&decision)), ends("2001:db8:101:0:8::", "2001:db8:3::9"));
    assert_eq!((as6(one(&decision)).hop_limit(), one(&decision).len()), (63, 1340));
    assert!(is_right6(one(&decision)));
    // An address of the table itself is not behind the translator.
    let to_table = packet6(header(ends("2001:db8:2::8", "2001:db8:3::9"), protocol::UDP, 8), vec![7; 8]);
    assert_eq!(decided(change, &to_table).clause, Clause::ToIpv4);
    // MTUs of IPv4, and for packets that come from there, do not count.
    let narrow = |settings: &mut Settings| {
        change(settings);
        settings.mtu4 = 576;
    };
    let atomic = ipv4::Fragment { offset_bytes: 0, more: false, identification: 9 };
    let between = FragmentHeader { next_header: protocol::UDP, fragment: atomic }.emit();
    let payload = [&between[..], &packet[40..]].concat();
    let fragment = packet6(header(ends("2001:db8:3::8", "2001:db8:101:0:9::"), protocol::FRAGMENT, 1308), payload);
    for packet in
        [&packet, &fragment, &packet6(header(ends("2001:db8:3::8", "2001:db8:101:0:9::"), 132, 900), vec![7; 900])]
    {
        let decision = decided(narrow, packet);
        assert_eq!((decision.clause, decision.packets.len()), (Clause::Hairpin, 1));
    }
    // The MTU of the IPv6 link does, and the source is told of it: RFC 8201 section 4.
    let long = packet6(header(ends("2001:db8:3::8", "2001:db8:101:0:9::"), protocol::UDP, 1480), vec![7; 1480]);
    let decision = decided(change, &long);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::PacketTooBig));
    let error = one(&decision);
    assert_eq!((of(error).1, error[40], &error[44..48]), (address6("2001:db8:3::8"), 2, &1500_u32.to_be_bytes()[..]));
    assert!(is_right6(error));
    // An error about such a packet, of a router behind the translator.
    let ((source, destination), router) = (ends("2001:db8:101:0:1::", "2001:db8:2::a"), address6("2001:db8::5"));
    let quoted = packet6(header((source, destination), protocol::UDP, 12), vec![7; 12]);
    let error = V6Repr::Unreachable { code: 0, quoted_words: 0 };
    let pseudo = checksum::pseudo_header_v6(router, source, protocol::ICMPV6, 60);
    let message = [&error.emit_summed(pseudo, checksum::sum(&quoted))[..], &quoted].concat();
    let packet = [&header((router, source), protocol::ICMPV6, 60).emit()[..], &message].concat();
    let decision = decided(change, &packet);
    assert_eq!(of(one(&decision)), ends("2001:db8:1cb:71:8::", "2001:db8:3::1"));
    assert_eq!(of(&one(&decision)[48..]), ends("2001:db8:3::1", "2001:db8:10a:0:a::"));
    assert!(is_right6(one(&decision)));
}

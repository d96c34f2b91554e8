//! A MAP-T domain: what customer edges send comes out of the border relay as it was, and nothing that the rule does not
//! allow.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use sixbench_wire::addresses::Net;
use sixbench_wire::map::{Psid, Rule};
use sixbench_wire::siit::{Clause, Decision, Domain, Settings, Verdict};
use sixbench_wire::{ipv4, protocol};

use super::held::{HOST4, check, read4, read6};
use super::packets::{header4, header6, packet4, packet6};

/// RFC 7597 appendix A, example 1.
const RULE: Rule = Rule {
    ipv6: Net { address: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), bits: 40 },
    ipv4: Net { address: Ipv4Addr::new(192, 0, 2, 0), bits: 24 },
    ea_bits: 16,
    psid_offset: 6,
    psid: None,
};
const SHARED: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 18);

fn domain(own: Option<u16>) -> Settings {
    let own = own.map(|psid| {
        let address = RULE.address(SHARED, psid).to_bits() >> 72 << 72;
        Rule {
            ipv6: Net { address: Ipv6Addr::from_bits(address), bits: 56 },
            ipv4: Net { address: SHARED, bits: 32 },
            ea_bits: 0,
            psid: Some(Psid { bits: 8, value: psid }),
            ..RULE
        }
    });
    let prefix = Net { address: "64:ff9b:1::".parse().expect("an address"), bits: 96 };
    Settings {
        prefixes: vec![prefix],
        domain: Some(Domain { rules: if own.is_some() { Vec::new() } else { vec![RULE] }, own }),
        own4: Ipv4Addr::new(198, 51, 100, 254),
        own6: "2001:db8:ffff::fe".parse().expect("an address"),
        ..Settings::default()
    }
}

fn embedded() -> Ipv6Addr {
    domain(None).prefixes[0].embed(HOST4)
}

/// TCP, UDP, or an echo request, with a port.
fn message(number: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut message = vec![0; 28];
    if matches!(number, protocol::ICMP | protocol::ICMPV6) {
        message[0] = if number == protocol::ICMP { 8 } else { 128 };
        message[4..6].copy_from_slice(&ports[0].to_be_bytes());
    } else {
        message[..2].copy_from_slice(&ports[0].to_be_bytes());
        message[2..4].copy_from_slice(&ports[1].to_be_bytes());
    }
    if number == protocol::UDP {
        message[4..6].copy_from_slice(&28_u16.to_be_bytes());
    }
    message
}

fn one(decision: &Decision) -> &[u8] {
    assert_eq!(decision.verdict, Verdict::Translated, "{decision:?}");
    let [packet] = &decision.packets[..] else { panic!("{decision:?}") };
    packet
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn what_an_edge_sends_comes_out_of_the_border_relay_and_answers_come_back(
        psid in 0..256_u16,
        port in any::<Index>(),
        number in select(vec![protocol::TCP, protocol::UDP, protocol::ICMP]),
        far: u16,
    ) {
        let ports: Vec<u16> = RULE.ports(psid).flatten().collect();
        let port = *port.get(&ports);
        let (edge, relay) = (domain(Some(psid)), domain(None));
        let sent = packet4(header4([SHARED, HOST4], number), message(number, [port, far]));
        let between = check(&edge, &sent);
        let carried = one(&between);
        prop_assert_eq!(read6(carried).source(), RULE.address(SHARED, psid));
        prop_assert_eq!(read6(carried).destination(), embedded());
        let arrived = check(&relay, carried);
        let arrived = one(&arrived);
        prop_assert_eq!(&arrived[12..], &sent[12..]);
        // An echo has one identifier for both ends.
        let ports = if number == protocol::ICMP { [port, 0] } else { [far, port] };
        let answer = packet4(header4([HOST4, SHARED], number), message(number, ports));
        let between = check(&relay, &answer);
        prop_assert_eq!(read6(one(&between)).destination(), RULE.address(SHARED, psid));
        let back = check(&edge, one(&between));
        prop_assert_eq!(&one(&back)[12..], &answer[12..]);
    }

    #[test]
    fn the_border_relay_takes_only_what_the_rule_says(
        psid in 0..256_u16,
        port: u16,
        flip in 0..128_u32,
        is_flipped: bool,
        number in select(vec![protocol::TCP, protocol::UDP, protocol::ICMPV6]),
    ) {
        let flips = u128::from(is_flipped) << flip;
        let source = Ipv6Addr::from_bits(RULE.address(SHARED, psid).to_bits() ^ flips);
        let packet = packet6(header6([source, embedded()], number), message(number, [port, 9]));
        let decision = check(&domain(None), &packet);
        let found = RULE.to_ipv4(source).filter(|&(_, psid)| RULE.psid_of(port) == Some(psid));
        match found {
            Some((address, _)) => prop_assert_eq!(read4(one(&decision)).source(), address),
            None if RULE.ipv6.contains(source) => prop_assert_eq!(decision.clause, Clause::NotByRule),
            None => prop_assert!(matches!(decision.clause, Clause::NoMapping | Clause::NotUnicast), "{:?}", decision),
        }
    }

    #[test]
    fn what_no_host_sends_or_gets_is_said_to_be_that(
        is_edge: bool,
        other in any::<u128>().prop_map(Ipv6Addr::from_bits),
        none6 in select(vec!["fe80::1", "ff02::16", "::", "::1"]),
        none4 in select(vec!["224.0.0.22", "169.254.0.1", "0.0.0.0", "127.0.0.1", "255.255.255.255"]),
        is_source: bool,
        number in select(vec![protocol::TCP, protocol::UDP, protocol::ICMP, protocol::ICMPV6]),
    ) {
        let translator = domain(is_edge.then_some(0x34));
        let mut ends6 = [none6.parse().unwrap(), other];
        let mut ends4 = [none4.parse().unwrap(), SHARED];
        if !is_source {
            ends6.reverse();
            ends4.reverse();
        }
        let packet = packet6(header6(ends6, number), message(number, [1232, 9]));
        prop_assert_eq!(check(&translator, &packet).clause, Clause::NotUnicast);
        let packet = packet4(header4(ends4, number), message(number, [1232, 9]));
        prop_assert_eq!(check(&translator, &packet).clause, Clause::NotUnicast);
    }

    #[test]
    fn no_bytes_are_a_panic(
        is_ipv6: bool,
        is_edge: bool,
        number: u8,
        mut payload in prop::collection::vec(any::<u8>(), 0..120),
        kind in select(vec![0_u8, 1, 2, 3, 4, 5, 8, 11, 12, 128, 129]),
        quotes: bool,
        cut in any::<Index>(),
        changed in prop::collection::vec((any::<Index>(), any::<u8>()), 0..4),
    ) {
        let number = if quotes { if is_ipv6 { protocol::ICMPV6 } else { protocol::ICMP } } else { number };
        let edge = RULE.address(SHARED, 0x34);
        if quotes {
            let inner = match is_ipv6 {
                true => packet6(header6([embedded(), edge], protocol::UDP), message(protocol::UDP, [9, 1232])),
                false => packet4(header4([SHARED, HOST4], protocol::UDP), message(protocol::UDP, [1232, 9])),
            };
            payload = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &inner[..cut.index(inner.len() + 1)]].concat();
        }
        let mut bytes = match is_ipv6 {
            true => packet6(header6([edge, embedded()], number), payload),
            false => packet4(header4([HOST4, SHARED], number), payload),
        };
        for (at, octet) in changed {
            let at = at.index(bytes.len());
            bytes[at] = octet;
        }
        check(&domain(is_edge.then_some(0x34)), &bytes);
    }
}

#[test]
fn a_later_fragment_to_a_shared_address_goes_nowhere() {
    let header = ipv4::Repr { offset_bytes: 16, dont_fragment: false, ..header4([HOST4, SHARED], protocol::UDP) };
    let packet = packet4(header, vec![0; 32]);
    assert_eq!(check(&domain(None), &packet).clause, Clause::NoPort);
}

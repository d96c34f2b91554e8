//! Rules of MAP: `vectors/map`, and what holds of all.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;
use sixbench_wire::addresses::Net;
use sixbench_wire::map::{Psid, Rule, Unmapped, check_rules};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    #[serde(rename = "description")]
    _description: String,
    rule: WrittenRule,
    ipv4: Ipv4Addr,
    psid: u16,
    ipv6: Ipv6Addr,
    range_count: usize,
    first_ranges: Vec<[u16; 2]>,
    last_ranges: Vec<[u16; 2]>,
    nobodys_ports: Vec<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    ipv6: String,
    ipv4: String,
    ea_bits: u8,
    psid_offset: u8,
    #[serde(default)]
    psid: Option<ToldPsid>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldPsid {
    bits: u8,
    value: u16,
}

fn rule(written: &WrittenRule) -> Rule {
    let (ipv6, ipv6_bits) = written.ipv6.split_once('/').expect("a prefix");
    let (ipv4, ipv4_bits) = written.ipv4.split_once('/').expect("a prefix");
    Rule {
        ipv6: Net { address: ipv6.parse().expect("an address"), bits: ipv6_bits.parse().expect("a length") },
        ipv4: Net { address: ipv4.parse().expect("an address"), bits: ipv4_bits.parse().expect("a length") },
        ea_bits: written.ea_bits,
        psid_offset: written.psid_offset,
        psid: written.psid.as_ref().map(|written| Psid { bits: written.bits, value: written.value }),
    }
}

#[test]
fn every_vector_of_a_rule_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/map");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let vector: Vector = serde_json::from_str(&fs::read_to_string(&path).expect("text")).expect("a vector");
        let rule = rule(&vector.rule);
        assert_eq!(rule.check(), Ok(()), "{path:?}");
        assert_eq!(rule.address(vector.ipv4, vector.psid), vector.ipv6, "{path:?}");
        assert_eq!(rule.to_ipv4(vector.ipv6), Some((vector.ipv4, vector.psid)), "{path:?}");
        let ranges: Vec<_> = rule.ports(vector.psid).map(|range| [*range.start(), *range.end()]).collect();
        assert_eq!(ranges.len(), vector.range_count, "{path:?}");
        assert!(ranges.starts_with(&vector.first_ranges), "{path:?}: {ranges:?}");
        assert!(ranges.ends_with(&vector.last_ranges), "{path:?}: {ranges:?}");
        for [first, last] in ranges {
            assert_eq!(rule.to_ipv6(vector.ipv4, first), Ok(vector.ipv6), "{path:?}");
            assert_eq!(rule.to_ipv6(vector.ipv4, last), Ok(vector.ipv6), "{path:?}");
        }
        for &port in &vector.nobodys_ports {
            assert_eq!(rule.to_ipv6(vector.ipv4, port), Err(Unmapped::Port), "{path:?}: {port}");
        }
        count += 1;
    }
    assert!(count >= 11, "{count} vectors");
}

prop_compose! {
    /// A rule that is right, an IPv4 address and a PSID in it.
    fn rules()(
        ipv4_bits in 0..=32_u8,
        psid_bits in 0..=16_u8,
        more_bits in any::<u8>(),
        offset in any::<u8>(),
        ipv4: u32,
        ipv6: u128,
        psid: u16,
        is_provisioned: bool,
    ) -> (Rule, Ipv4Addr, u16) {
        let suffix_bits = 32 - ipv4_bits;
        let embedded_bits = if is_provisioned { 0 } else { psid_bits };
        let ea_bits = suffix_bits + embedded_bits;
        let ipv6_bits = more_bits % (129 - ea_bits);
        let kept = |bits: u8, of: u32| if bits == 0 { 0 } else { u128::MAX >> (128 - of) << (of - u32::from(bits)) };
        let psid = psid & ((1_u32 << psid_bits) - 1) as u16;
        let rule = Rule {
            ipv6: Net { address: Ipv6Addr::from_bits(ipv6 & kept(ipv6_bits, 128)), bits: ipv6_bits },
            ipv4: Net { address: Ipv4Addr::from_bits(ipv4 & kept(ipv4_bits, 32) as u32), bits: ipv4_bits },
            ea_bits,
            psid_offset: (offset % (17 - psid_bits)).min(15),
            psid: is_provisioned.then_some(Psid { bits: psid_bits, value: psid }),
        };
        (rule, Ipv4Addr::from_bits(ipv4), psid)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    #[test]
    fn an_address_and_port_come_back_of_the_ipv6_address((rule, ipv4, psid) in rules(), port: u16, flip in 0..128_u32) {
        prop_assert_eq!(rule.check(), Ok(()));
        let address = rule.address(ipv4, psid);
        prop_assert!(rule.ipv6.contains(address));
        prop_assert_eq!(rule.to_ipv4(address), Some((ipv4, psid)));
        if let Ok(found) = rule.to_ipv6(ipv4, port) {
            let back = rule.to_ipv4(found).expect("one of the rule");
            prop_assert_eq!((back.0, Some(back.1)), (ipv4, rule.psid_of(port)));
        }
        // Every bit counts: another address is another customer edge's, or belongs to nobody.
        let other = rule.to_ipv4(Ipv6Addr::from_bits(address.to_bits() ^ (1 << flip)));
        prop_assert_ne!(other, Some((ipv4, psid)));
    }

    #[test]
    fn a_port_is_in_the_set_that_the_algorithm_says((rule, _, psid) in rules(), port: u16) {
        let has = rule.ports(psid).any(|range| range.contains(&port));
        prop_assert_eq!(has, rule.psid_of(port) == Some(psid));
        let ports: usize = rule.ports(psid).map(|range| range.len()).sum();
        let (offset, bits) = (rule.psid_offset, rule.psid_bits());
        let nobodys = if offset > 0 && bits > 0 { 1 << (16 - offset) } else { 0 };
        prop_assert_eq!(ports, (65_536 - nobodys) >> bits);
    }
}

#[test]
fn a_rule_that_cannot_be_is_refused() {
    let right = Rule {
        ipv6: Net { address: "2001:db8::".parse().expect("an address"), bits: 40 },
        ipv4: Net { address: Ipv4Addr::new(192, 0, 2, 0), bits: 24 },
        ea_bits: 16,
        psid_offset: 6,
        psid: None,
    };
    assert_eq!(right.check(), Ok(()));
    let psid = |bits, value| Some(Psid { bits, value });
    for (rule, words) in [
        (Rule { ea_bits: 49, ..right }, "at most 48 EA bits"),
        (Rule { ipv6: Net { bits: 113, ..right.ipv6 }, ..right }, "more than 128 bits"),
        (Rule { ea_bits: 5, ipv6: Net { bits: 105, ..right.ipv6 }, ..right }, "leave no room for the last 3 bits"),
        (Rule { ea_bits: 7, psid: psid(1, 1), ..right }, "has no PSID"),
        (Rule { psid_offset: 9, ..right }, "leaves no ports"),
        (Rule { psid: psid(8, 1), ..right }, "not both"),
        (Rule { ea_bits: 8, psid: psid(8, 256), ..right }, "has more than 8 bits"),
        (Rule { ea_bits: 8, psid: psid(11, 0), ..right }, "leaves no ports"),
        (Rule { ipv4: Net { bits: 23, ..right.ipv4 }, ipv6: Net { bits: 16, ..right.ipv6 }, ..right }, "bits beyond"),
        (Rule { ipv4: Net { bits: 33, ..right.ipv4 }, ..right }, "bits beyond"),
    ] {
        let found = rule.check().expect_err(words);
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn rules_that_say_of_the_same_addresses_whose_they_are_are_refused() {
    let net6 = |text: &str, bits| Net { address: text.parse().expect("an address"), bits };
    let net4 = |octets: [u8; 4], bits| Net { address: Ipv4Addr::from(octets), bits };
    let one =
        Rule { ipv6: net6("2001:db8::", 40), ipv4: net4([192, 0, 2, 0], 24), ea_bits: 16, psid_offset: 6, psid: None };
    let other = Rule { ipv6: net6("2001:db8:100::", 40), ipv4: net4([198, 51, 100, 0], 24), ..one };
    assert_eq!(check_rules(None, &[one, other], false), Ok(()));
    for (second, words) in [
        (Rule { ipv4: other.ipv4, ..one }, "two rules have the Rule IPv6 prefix 2001:db8::/40"),
        (Rule { ipv6: other.ipv6, ..one }, "two rules have the Rule IPv4 prefix 192.0.2.0/24"),
        (Rule { ipv4: net4([224, 0, 1, 0], 24), ..other }, "for addresses that no host has"),
        (Rule { ipv4: net4([127, 0, 0, 0], 24), ..other }, "for addresses that no host has"),
        (Rule { ipv4: net4([240, 0, 0, 0], 24), ..other }, "for addresses that no host has"),
        (Rule { ipv6: net6("ff02::", 40), ..other }, "for addresses that no host has"),
        (Rule { ipv6: net6("fe80::", 40), ..other }, "for addresses that no host has"),
    ] {
        let found = check_rules(None, &[one, second], false).expect_err(words);
        assert!(found.contains(words), "{found}");
    }
    let reserved = Rule { ipv4: net4([240, 0, 0, 0], 24), ..one };
    assert_eq!(check_rules(Some(&reserved), &[], true), Ok(()));
    // The rules of a binding table share addresses and tunnels.
    let bound = |value| Rule {
        ipv6: net6("2001:db8::1", 128),
        ipv4: net4([192, 0, 2, 1], 32),
        ea_bits: 0,
        psid_offset: 0,
        psid: Some(Psid { bits: 6, value }),
    };
    assert_eq!(check_rules(None, &[bound(1), bound(2)], false), Ok(()));
    assert!(check_rules(None, &[bound(1), bound(1)], false).is_err());
}

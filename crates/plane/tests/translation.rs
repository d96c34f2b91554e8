//! A translator's program does what the core does, or leaves the packet to it.

mod common;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;

use common::{Bench, ETHERNET_BYTES};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sixbench_plane::features::Features;
use sixbench_plane::sys;
use sixbench_plane::translators::Program;
use sixbench_wire::addresses::Net;
use sixbench_wire::map::{Psid, Rule};
use sixbench_wire::siit::{Domain, Settings, Translator, Verdict};
use sixbench_wire::{checksum, protocol};

const CASES: u32 = 4000;
/// The program's return values: TC_ACT_UNSPEC and TC_ACT_REDIRECT.
const LEFT: i32 = -1;
const SENT: i32 = 7;

fn settings(prefix: &str, bits: u8) -> Settings {
    let net4 = |text: &str, bits| Net { address: text.parse().expect("an address"), bits };
    let net6 = |text: &str, bits| Net { address: text.parse().expect("an address"), bits };
    Settings {
        prefixes: vec![net6(prefix, bits), net6("64:ff9b:1::", 96)],
        explicit: vec![
            (net4("192.0.2.1", 32), net6("2001:db8:aaaa::1", 128)),
            (net4("198.51.100.0", 24), net6("2001:db8:bbbb::", 120)),
            (net4("203.0.113.64", 26), net6("2001:db8:cccc::", 64)),
        ],
        denied: vec![net4("192.0.2.128", 25)],
        own6: "2001:db8::1".parse().expect("an address"),
        mtu4: 1400,
        mtu6: 1450,
        takes_hop: false,
        ..Settings::default()
    }
}

#[derive(Debug, Clone)]
struct Given {
    is_ipv6: bool,
    protocol: u8,
    first: u8,
    hop_limit: u8,
    tos: u8,
    flags: u16,
    ends: [Ipv4Addr; 2],
    is_other: bool,
    payload: Vec<u8>,
    /// Bytes that are written over the packet.
    damage: Vec<(usize, u8)>,
}

fn given() -> impl Strategy<Value = Given> {
    let address = prop_oneof![
        4 => (1_u32..250).prop_map(|host| Ipv4Addr::from_bits(0xc633_6400 + host)),
        2 => Just(Ipv4Addr::new(192, 0, 2, 1)),
        2 => (0_u32..64).prop_map(|host| Ipv4Addr::from_bits(0xcb00_7140 + host)),
        1 => (0_u32..256).prop_map(|host| Ipv4Addr::from_bits(0xc000_0200 + host)),
        3 => any::<u32>().prop_map(Ipv4Addr::from_bits),
    ];
    let number = prop_oneof![3 => Just(6_u8), 3 => Just(17), 3 => Just(1), 1 => any::<u8>()];
    let first = prop_oneof![Just(8_u8), Just(0), Just(128), Just(129), any::<u8>()];
    let flags = prop_oneof![6 => Just(0x4000_u16), 3 => Just(0), 1 => any::<u16>()];
    let damage = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec((0_usize..80, any::<u8>()), 1..3)];
    (
        (any::<bool>(), number, first, any::<u8>(), any::<u8>(), flags),
        (address.clone(), address, any::<bool>()),
        prop::collection::vec(any::<u8>(), 0..1460),
        damage,
    )
        .prop_map(
            |((is_ipv6, protocol, first, hop_limit, tos, flags), (source, destination, is_other), payload, damage)| {
                Given {
                    is_ipv6,
                    protocol,
                    first,
                    hop_limit,
                    tos,
                    flags,
                    ends: [source, destination],
                    is_other,
                    payload,
                    damage,
                }
            },
        )
}

impl Given {
    fn packet(&self, translator: &mut Translator) -> Vec<u8> {
        let mut payload = self.payload.clone();
        let number = match (self.protocol, self.is_ipv6) {
            (protocol::ICMP, true) => protocol::ICMPV6,
            (other, _) => other,
        };
        if number == protocol::ICMP || number == protocol::ICMPV6 {
            if let [kind, code, ..] = &mut payload[..] {
                (*kind, *code) = (self.first, 0);
            }
        }
        let total = (20 + payload.len()) as u16;
        let mut ipv4 = vec![0x45, self.tos];
        ipv4.extend(total.to_be_bytes());
        ipv4.extend([0, 7]);
        ipv4.extend(self.flags.to_be_bytes());
        ipv4.extend([self.hop_limit, self.protocol, 0, 0]);
        ipv4.extend(self.ends.iter().flat_map(Ipv4Addr::octets));
        let sum = checksum::checksum(&ipv4);
        ipv4[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut packet = if self.is_ipv6 {
            let ends = self.ends.map(|end| self.ipv6(end, translator));
            let mut ipv6 = ((6_u32 << 28) | (u32::from(self.tos) << 20) | 7).to_be_bytes().to_vec();
            ipv6.extend((payload.len() as u16).to_be_bytes());
            ipv6.extend([number, self.hop_limit]);
            ipv6.extend(ends.iter().flat_map(Ipv6Addr::octets));
            ipv6
        } else {
            ipv4
        };
        packet.extend(payload);
        for &(at, octet) in &self.damage {
            if let Some(place) = packet.get_mut(at) {
                *place = octet;
            }
        }
        packet
    }

    /// The IPv6 address of an IPv4 address: by the table, or embedded.
    fn ipv6(&self, address: Ipv4Addr, translator: &Translator) -> Ipv6Addr {
        let settings = translator.settings();
        let elsewhere = Net { address: Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 0), bits: 96 };
        let prefix = settings.prefixes.get(usize::from(self.is_other)).copied().unwrap_or(elsewhere);
        match address.octets() {
            [192, 0, 2, 1] => "2001:db8:aaaa::1".parse().expect("an address"),
            [198, 51, 100, host] => Ipv6Addr::new(0x2001, 0xdb8, 0xbbbb, 0, 0, 0, 0, host.into()),
            [203, 0, 113, host] if host / 64 == 1 => {
                Ipv6Addr::new(0x2001, 0xdb8, 0xcccc, 0, u16::from(host % 64) << 10, 0, 0, 0)
            }
            _ => prefix.embed(address),
        }
    }
}

/// The core's translation of a packet, adapted where the program differs by design.
fn expected(translator: &mut Translator, packet: &[u8], got: &[u8]) -> Option<Vec<u8>> {
    let decision = translator.translate(packet);
    let [mut translated] = <[_; 1]>::try_from(decision.packets).ok()?;
    if decision.verdict != Verdict::Translated {
        return None;
    }
    // The program sends the packet itself, so it takes the hop that the node takes of others.
    if translated[0] >> 4 == 6 {
        translated[7] -= 1;
    } else {
        translated[8] -= 1;
        if translated[6] & 0x40 == 0 {
            translated[4..6].copy_from_slice(&got[4..6]); // The identification is any.
        }
        translated[10..12].fill(0);
        let sum = checksum::checksum(&translated[..20]);
        translated[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    Some(translated)
}

/// Checks that the program does what the core does. Returns how many packets the program carried, to IPv4 or IPv6,
/// those of IPv4 first.
fn compare<G: std::fmt::Debug>(
    bench: &Bench,
    settings: &Settings,
    given: impl Strategy<Value = G>,
    mut packet_of: impl FnMut(&G) -> (bool, Vec<u8>),
) -> [u32; 2] {
    let program = Program::load("sb0", settings, bench.far_ifindex(), false, Features::here())
        .unwrap_or_else(|error| panic!("{error}"));
    let descriptor = program.descriptor().expect("a descriptor");
    let mut translator = Translator::new(settings.clone()).expect("settings");
    let mut sent = [0_u32; 2];
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    for _ in 0..CASES {
        let given = given.new_tree(&mut runner).expect("a case").current();
        let (is_ipv6, packet) = packet_of(&given);
        let mut frame = vec![2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        frame.extend(if is_ipv6 { [0x86, 0xdd] } else { [8, 0] });
        frame.extend(&packet);
        let run = sys::test_run(descriptor.as_fd(), &frame, bench.far_ifindex(), 1).expect("a test run");
        match run.action {
            LEFT => assert_eq!(run.packet[ETHERNET_BYTES..], packet, "what is left to the slow path is whole"),
            SENT => {
                let got = &run.packet[ETHERNET_BYTES..];
                let due = expected(&mut translator, &packet, got);
                assert_eq!(Some(got), due.as_deref(), "{given:?}");
                sent[usize::from(is_ipv6)] += 1;
            }
            other => panic!("{other} for {given:?}"),
        }
    }
    sent
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn the_program_does_what_the_core_does() {
    let Some(bench) = Bench::build() else { return };
    let by_table_alone = Settings { prefixes: Vec::new(), ..settings("64:ff9b::", 96) };
    let embedding = [
        ("2001:db8::", 32),
        ("2001:db8:100::", 40),
        ("2001:db8:122::", 48),
        ("2001:db8:122:300::", 56),
        ("2001:db8:122:344::", 64),
        ("2001:db8:122:344::", 96),
        ("64:ff9b::", 96),
    ]
    .map(|(prefix, bits)| settings(prefix, bits));
    for settings in embedding.into_iter().chain([by_table_alone]) {
        let prefix = settings.prefixes.first().copied();
        let mut translator = Translator::new(settings.clone()).expect("settings");
        let sent = compare(&bench, &settings, given(), |given| (given.is_ipv6, given.packet(&mut translator)));
        // The well-known prefix stands for few of these addresses, and so does the table.
        let stands_for_many = prefix.is_some_and(|prefix| prefix.address.segments()[..2] != [0x64, 0xff9b]);
        let least = if stands_for_many { CASES / 20 } else { CASES / 200 };
        assert!(sent.iter().all(|&sent| sent > least), "{prefix:?}: {sent:?} were carried");
    }
}

/// RFC 7757 section 4.2.2: a host of the table names another one by the prefix.
#[test]
#[ignore = "needs root: it loads BPF programs"]
fn packets_that_come_back_are_what_the_core_makes_of_them() {
    let Some(bench) = Bench::build() else { return };
    for (prefix, bits) in [("2001:db8:100::", 40), ("64:ff9b:2::", 96)] {
        let settings = Settings { hairpin: true, ..settings(prefix, bits) };
        let mut translator = Translator::new(settings.clone()).expect("settings");
        let mut came_back = 0_u32;
        let sent = compare(&bench, &settings, given(), |given| {
            let [source, destination] = given.ends.map(|end| end.octets()[3]);
            let ends = [Ipv4Addr::new(198, 51, 100, source), Ipv4Addr::new(203, 0, 113, 64 + destination % 64)];
            let mut packet = Given { is_ipv6: true, ends, damage: Vec::new(), ..given.clone() }.packet(&mut translator);
            packet[24..40].copy_from_slice(&settings.prefixes[0].embed(ends[1]).octets());
            let decision = translator.translate(&packet);
            came_back += u32::from(decision.clause.name() == "hairpin");
            (true, packet)
        });
        assert!(sent[1] > CASES / 4 && sent[1] <= came_back, "{prefix}: {sent:?} of {came_back} were carried");
    }
}

/// The choices that a packet of a MAP-T domain is made from.
#[derive(Debug, Clone)]
struct Mapped {
    is_ipv6: bool,
    protocol: u8,
    /// The numbers of the rule's address and of its port set.
    host: u32,
    psid: u16,
    /// The number of the port in its port set; any port where it has none.
    port: Index,
    other_port: Option<u16>,
    far_port: u16,
    /// A bit of the customer edge's IPv6 address that is another.
    flipped: Option<u32>,
}

fn mapped() -> impl Strategy<Value = Mapped> {
    (
        (any::<bool>(), select(vec![protocol::TCP, protocol::UDP, protocol::ICMP])),
        (any::<u32>(), any::<u16>(), any::<Index>(), any::<u16>()),
        (prop_oneof![4 => Just(None), 1 => any::<u16>().prop_map(Some)]),
        (prop_oneof![4 => Just(None), 1 => (0_u32..128).prop_map(Some)]),
    )
        .prop_map(|((is_ipv6, protocol), (host, psid, port, far_port), other_port, flipped)| Mapped {
            is_ipv6,
            protocol,
            host,
            psid,
            port,
            other_port,
            far_port,
            flipped,
        })
}

fn ordered<T>(is_source: bool, near: T, far: T) -> [T; 2] {
    if is_source { [near, far] } else { [far, near] }
}

impl Mapped {
    /// A packet as it comes to the node that has the rule: a customer edge's own, or a border relay's.
    fn packet(&self, rule: &Rule, far6: Ipv6Addr, is_edge: bool) -> Vec<u8> {
        let ipv4 = Ipv4Addr::from_bits(
            rule.ipv4.address.to_bits() | (u64::from(self.host) & !(u64::MAX << (32 - rule.ipv4.bits))) as u32,
        );
        let psid = rule.psid.map_or(self.psid & ((1_u32 << rule.psid_bits()) - 1) as u16, |own| own.value);
        let ports: Vec<u16> = rule.ports(psid).flatten().collect();
        let port = self.other_port.unwrap_or_else(|| if ports.is_empty() { 7 } else { *self.port.get(&ports) });
        let mapped = Ipv6Addr::from_bits(rule.address(ipv4, psid).to_bits() ^ self.flipped.map_or(0, |bit| 1 << bit));
        let is_source = is_edge != self.is_ipv6;
        let mut message = vec![0; 28];
        if self.protocol == protocol::ICMP {
            message[0] = if self.is_ipv6 { 128 } else { 8 };
            message[4..6].copy_from_slice(&port.to_be_bytes());
        } else {
            let [first, second] = ordered(is_source, port, self.far_port);
            message[..2].copy_from_slice(&first.to_be_bytes());
            message[2..4].copy_from_slice(&second.to_be_bytes());
        }
        message[6] = 1; // UDP without a checksum is for the slow path.
        message[12] = 0x50;
        if self.is_ipv6 {
            let number = if self.protocol == protocol::ICMP { protocol::ICMPV6 } else { self.protocol };
            let mut packet = vec![0x60, 0, 0, 0, 0, 28, number, 64];
            packet.extend(ordered(is_source, mapped, far6).iter().flat_map(Ipv6Addr::octets));
            packet.extend(message);
            return packet;
        }
        let mut packet = vec![0x45, 0, 0, 48, 0, 7, 0x40, 0, 64, self.protocol, 0, 0];
        packet.extend(ordered(is_source, ipv4, FAR4).iter().flat_map(Ipv4Addr::octets));
        let sum = checksum::checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(message);
        packet
    }
}

const FAR4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

fn of_domain(own: Option<Rule>, rules: Vec<Rule>) -> Settings {
    let prefix = Net { address: "2001:db8:64::".parse().expect("an address"), bits: 96 };
    Settings {
        prefixes: vec![prefix],
        explicit: Vec::new(),
        denied: Vec::new(),
        domain: Some(Domain { own, rules }),
        ..settings("2001:db8:64::", 96)
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn by_a_rule_of_map_the_program_does_what_the_core_does() {
    let Some(bench) = Bench::build() else { return };
    for (bits6, bits4, ea_bits, psid_offset) in
        [(40, 24, 16, 6), (42, 32, 6, 0), (32, 20, 12, 6), (48, 32, 0, 4), (24, 16, 32, 0)]
    {
        let rule = Rule {
            ipv6: Net { address: "2a00:d00::".parse().expect("an address"), bits: bits6 },
            // Without the core's own address, 192.0.0.8: the node takes what is to that.
            ipv4: Net { address: Ipv4Addr::new(203, 0, 0, 0), bits: bits4 },
            ea_bits,
            psid_offset,
            psid: None,
        };
        let (ipv4, psid) = (
            Ipv4Addr::from_bits(rule.ipv4.address.to_bits() | !(u64::MAX << (32 - bits4)) as u32),
            1 & ((1_u16 << rule.psid_bits().min(15)) - 1),
        );
        let end_user = rule.end_user_bits();
        let own = Rule {
            ipv6: Net { address: Ipv6Addr::from_bits(rule.address(ipv4, psid).to_bits() >> 64 << 64), bits: end_user },
            ipv4: Net { address: ipv4, bits: 32 },
            ea_bits: 0,
            psid: (rule.psid_bits() > 0).then_some(Psid { bits: rule.psid_bits(), value: psid }),
            ..rule
        };
        for (settings, rule, is_edge) in
            [(of_domain(Some(own), Vec::new()), own, true), (of_domain(None, vec![rule]), rule, false)]
        {
            let far6 = settings.prefixes[0].embed(FAR4);
            let sent =
                compare(&bench, &settings, mapped(), |given| (given.is_ipv6, given.packet(&rule, far6, is_edge)));
            assert!(sent.iter().all(|&sent| sent > CASES / 8), "{settings:?}: {sent:?} were carried");
        }
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn rules_that_the_program_does_not_know_are_for_user_space() {
    let rule = Rule {
        ipv6: Net { address: "2001:db8::".parse().expect("an address"), bits: 40 },
        ipv4: Net { address: Ipv4Addr::new(192, 0, 2, 0), bits: 24 },
        ea_bits: 16,
        psid_offset: 6,
        psid: None,
    };
    let other = Rule {
        ipv6: Net { address: "2001:db8:ff00:1::".parse().expect("an address"), bits: 64 },
        ipv4: Net { address: Ipv4Addr::new(203, 0, 113, 0), bits: 24 },
        ..rule
    };
    for rules in [vec![rule, other], vec![other]] {
        Program::load("sb0", &of_domain(None, rules), 1, false, Features::here()).expect("a program");
    }
}

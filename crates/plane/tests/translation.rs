//! A translator's program does what the core does, or leaves the packet to it.

mod common;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;

use common::{Bench, ETHERNET_BYTES};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sixbench_plane::program::Features;
use sixbench_plane::sys;
use sixbench_plane::translators::Program;
use sixbench_wire::siit::{Fate, Net, Settings, Translator};
use sixbench_wire::{checksum, protocol};

const CASES: u32 = 4000;
/// What the program returns: TC_ACT_UNSPEC and TC_ACT_REDIRECT.
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

    /// By the table, or embedded.
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

/// What the core makes of it, with what differs by design as the program has it.
fn expected(translator: &mut Translator, packet: &[u8], got: &[u8]) -> Option<Vec<u8>> {
    let decision = translator.translate(packet);
    let [mut translated] = <[_; 1]>::try_from(decision.packets).ok()?;
    if decision.fate != Fate::Translated {
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
        let program = Program::load("sb0", &settings, bench.far_ifindex(), false, Features::here())
            .unwrap_or_else(|error| panic!("{error}"));
        let descriptor = program.descriptor().expect("a descriptor");
        let mut translator = Translator::new(settings).expect("settings");
        let mut sent = [0_u32; 2];
        let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        for _ in 0..CASES {
            let given = given().new_tree(&mut runner).expect("a case").current();
            let packet = given.packet(&mut translator);
            let mut frame = vec![2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            frame.extend(if given.is_ipv6 { [0x86, 0xdd] } else { [8, 0] });
            frame.extend(&packet);
            let run = sys::test_run(descriptor.as_fd(), &frame, bench.far_ifindex(), 1).expect("a test run");
            match run.action {
                LEFT => assert_eq!(run.packet[ETHERNET_BYTES..], packet, "what is left to the slow path is whole"),
                SENT => {
                    let got = &run.packet[ETHERNET_BYTES..];
                    let due = expected(&mut translator, &packet, got);
                    assert_eq!(Some(got), due.as_deref(), "{given:?}");
                    sent[usize::from(given.is_ipv6)] += 1;
                }
                other => panic!("{other} for {given:?}"),
            }
        }
        // The well-known prefix stands for few of these addresses, and so does the table.
        let stands_for_many = prefix.is_some_and(|prefix| prefix.address.segments()[..2] != [0x64, 0xff9b]);
        let least = if stands_for_many { CASES / 20 } else { CASES / 200 };
        assert!(sent.iter().all(|&sent| sent > least), "{prefix:?}: {sent:?} were carried");
    }
}

//! A stateful translator: what goes out comes back to who sent it, and nobody else gets in (RFC 6146).

#[path = "siit/packets.rs"]
mod packets;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use packets::{header4, header6, packet4, packet6};
use proptest::prelude::*;
use proptest::sample::select;
use sixbench_wire::addresses::Net;
use sixbench_wire::nat64::{Filtering, Inside, Nat64, Outside, PoolRange, Protocol, Settings, StaticBinding, Timeouts};
use sixbench_wire::siit::{self, Clause, Decision, Verdict};
use sixbench_wire::{Span, checksum, ipv4, ipv6, protocol};

const POOL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 3);
const START: Duration = Duration::from_secs(1_700_000_000);
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const FIN: u8 = 0x11;
const RST: u8 = 0x04;

fn prefix() -> Net<Ipv6Addr> {
    Net { address: "64:ff9b:1::".parse().expect("an address"), bits: 96 }
}

fn host(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number)
}

fn settings() -> Settings {
    Settings {
        translation: siit::Settings { prefixes: vec![prefix()], own4: POOL, ..siit::Settings::default() },
        pool: vec![PoolRange { net: Net { address: POOL, bits: 32 }, ports: 1024..=65_535 }],
        bindings: Vec::new(),
        filtering: Filtering::EndpointIndependent,
        timeouts: Timeouts::default(),
        max_sessions: 1000,
        seed: None,
    }
}

fn nat64() -> Nat64 {
    Nat64::new(settings()).expect("right settings")
}

/// TCP with these flags, UDP, or an echo.
fn message(number: u8, [from, to]: [u16; 2], flags: u8) -> Vec<u8> {
    let mut message = vec![0; 28];
    match number {
        protocol::ICMP | protocol::ICMPV6 => {
            message[0] = if number == protocol::ICMP { 0 } else { 128 };
            message[4..6].copy_from_slice(&from.to_be_bytes());
        }
        _ => {
            message[..2].copy_from_slice(&from.to_be_bytes());
            message[2..4].copy_from_slice(&to.to_be_bytes());
        }
    }
    match number {
        protocol::TCP => (message[12], message[13]) = (0x50, flags),
        protocol::UDP => message[4..6].copy_from_slice(&28_u16.to_be_bytes()),
        _ => {}
    }
    message
}

/// A packet from an IPv6 host to an IPv4 address.
fn out(from: Ipv6Addr, to: Ipv4Addr, number: u8, ports: [u16; 2], flags: u8) -> Vec<u8> {
    packet6(header6([from, prefix().embed(to)], number), message(number, ports, flags))
}

fn back(from: Ipv4Addr, to: Ipv4Addr, number: u8, ports: [u16; 2], flags: u8) -> Vec<u8> {
    packet4(header4([from, to], number), message(number, ports, flags))
}

fn through(decision: &Decision) -> &[u8] {
    assert_eq!(decision.verdict, Verdict::Translated, "{decision:?}");
    let [packet] = &decision.packets[..] else { panic!("{decision:?}") };
    packet
}

/// Its ends, after its checksums were looked at.
fn ends4(packet: &[u8]) -> ([Ipv4Addr; 2], [u16; 2]) {
    let parsed = ipv4::Packet::parse(Span::whole(packet)).expect("a packet");
    assert!(checksum::is_valid(&packet[..20]));
    let message = &packet[20..];
    let pseudo = match parsed.protocol() {
        protocol::ICMP => 0,
        number => checksum::pseudo_header_v4(parsed.source(), parsed.destination(), number, message.len() as u16),
    };
    assert_eq!(checksum::add(pseudo, checksum::sum(message)), 0xffff);
    ([parsed.source(), parsed.destination()], ports(parsed.protocol(), message))
}

fn ends6(packet: &[u8]) -> ([Ipv6Addr; 2], [u16; 2]) {
    let parsed = ipv6::Packet::parse(Span::whole(packet)).expect("a packet");
    let (number, message) = (parsed.next_header(), &packet[40..]);
    let pseudo = checksum::pseudo_header_v6(parsed.source(), parsed.destination(), number, message.len() as u32);
    assert_eq!(checksum::add(pseudo, checksum::sum(message)), 0xffff);
    ([parsed.source(), parsed.destination()], ports(number, message))
}

fn ports(number: u8, message: &[u8]) -> [u16; 2] {
    let at = if matches!(number, protocol::ICMP | protocol::ICMPV6) { [4, 4] } else { [0, 2] };
    at.map(|at| u16::from_be_bytes([message[at], message[at + 1]]))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn what_goes_out_comes_back_to_who_sent_it(
        number in select(vec![protocol::TCP, protocol::UDP, protocol::ICMPV6]),
        senders in prop::collection::vec((1..5_u16, any::<u16>()), 1..20),
        to: u16,
        seed in prop::option::of(any::<u64>()),
    ) {
        let mut translator = Nat64::new(Settings { seed, ..settings() }).expect("right settings");
        let mut bound = std::collections::HashMap::new();
        for (sender, from) in senders {
            let decision = translator.translate(&out(host(sender), SERVER, number, [from, to], SYN), None, START);
            let ([source, destination], [port, _]) = ends4(through(&decision));
            prop_assert_eq!((source, destination), (POOL, SERVER));
            prop_assert!(port >= 1024);
            if number == protocol::UDP {
                prop_assert_eq!(port % 2, from % 2, "RFC 4787 section 4.2.2");
            }
            let owner = *bound.entry(port).or_insert((sender, from));
            prop_assert_eq!(owner, (sender, from), "a port is one host's and port's");
        }
        for (port, (sender, from)) in bound {
            let number = if number == protocol::ICMPV6 { protocol::ICMP } else { number };
            let ports = if number == protocol::ICMP { [port, port] } else { [to, port] };
            let decision = translator.translate(&back(SERVER, POOL, number, ports, SYN | ACK), None, START);
            let ([source, destination], [_, port]) = ends6(through(&decision));
            prop_assert_eq!((source, destination, port), (prefix().embed(SERVER), host(sender), from));
        }
    }

    #[test]
    fn no_bytes_are_a_panic_and_nothing_goes_in_unasked(
        packets in prop::collection::vec((any::<bool>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..90)), 0..20),
    ) {
        let mut translator = nat64();
        for (is_ipv6, number, payload) in packets {
            let packet = match is_ipv6 {
                true => packet6(header6([host(1), prefix().embed(SERVER)], number), payload),
                false => packet4(header4([SERVER, POOL], number), payload),
            };
            let decision = translator.translate(&packet, None, START);
            let amounts = translator.amounts();
            prop_assert!(amounts.bindings <= amounts.sessions && amounts.sessions <= 20);
            prop_assert!(decision.verdict != Verdict::Translated || amounts.bindings > 0);
        }
    }
}

#[test]
fn nobody_gets_in_whom_no_host_has_asked() {
    let mut translator = nat64();
    let unasked = back(SERVER, POOL, protocol::UDP, [53, 4000], 0);
    let decision = translator.translate(&unasked, None, START);
    assert_eq!((decision.verdict, decision.clause), (Verdict::Answered, Clause::NoBinding));
    translator.translate(&out(host(1), SERVER, protocol::UDP, [4000, 53], 0), None, START);
    // Anybody may answer, unless addresses are filtered: RFC 6146 section 3.5.1.2.
    let other = back(OTHER, POOL, protocol::UDP, [53, 4000], 0);
    assert_eq!(translator.translate(&other, None, START).verdict, Verdict::Translated);
    let filtering = Filtering::AddressDependent;
    let mut translator = Nat64::new(Settings { filtering, ..settings() }).expect("right settings");
    translator.translate(&out(host(1), SERVER, protocol::UDP, [4000, 53], 0), None, START);
    assert_eq!(translator.translate(&other, None, START).clause, Clause::Filtered);
    let same = back(SERVER, POOL, protocol::UDP, [54, 4000], 0);
    assert_eq!(translator.translate(&same, None, START).verdict, Verdict::Translated, "from another port");
}

#[test]
fn sessions_end_with_their_time() {
    let times = Timeouts::default();
    for (number, last) in
        [(protocol::UDP, times.udp), (protocol::TCP, times.tcp_transitory), (protocol::ICMPV6, times.icmp)]
    {
        let mut translator = nat64();
        translator.translate(&out(host(1), SERVER, number, [4000, 53], SYN), None, START);
        let number = if number == protocol::ICMPV6 { protocol::ICMP } else { number };
        let ports = if number == protocol::ICMP { [4000, 4000] } else { [53, 4000] };
        let answer = back(SERVER, POOL, number, ports, ACK);
        let before = START + last - Duration::from_nanos(1);
        assert_eq!(translator.translate(&answer, None, before).verdict, Verdict::Translated);
        let then = if number == protocol::TCP { START + last } else { before + last };
        assert_eq!(translator.translate(&answer, None, then).clause, Clause::NoBinding);
        assert_eq!((translator.amounts().bindings, translator.amounts().sessions), (0, 0));
    }
}

#[test]
fn a_connection_lives_until_both_sides_have_closed_it() {
    let times = Timeouts::default();
    let open = || {
        let mut translator = nat64();
        translator.translate(&out(host(1), SERVER, protocol::TCP, [4000, 80], SYN), None, START);
        translator.translate(&back(SERVER, POOL, protocol::TCP, [80, 4000], SYN | ACK), None, START);
        translator
    };
    let has_session = |translator: &mut Nat64, after: Duration| {
        // A packet from another address makes the table forget sessions that are over.
        translator.translate(&back(OTHER, POOL, protocol::UDP, [1, 1], 0), None, START + after);
        translator.amounts().sessions == 1
    };
    let (long, short) = (times.tcp_established, times.tcp_transitory);
    let instant = Duration::from_nanos(1);
    let mut established = open();
    assert!(has_session(&mut established, long + short - instant), "RFC 6146 section 3.5.2.2: transitory after that");
    assert!(!has_session(&mut established, long + short));
    let mut closed = open();
    closed.translate(&out(host(1), SERVER, protocol::TCP, [4000, 80], FIN), None, START);
    assert!(has_session(&mut closed, short), "one side alone");
    let mut closed = open();
    closed.translate(&out(host(1), SERVER, protocol::TCP, [4000, 80], FIN), None, START);
    closed.translate(&back(SERVER, POOL, protocol::TCP, [80, 4000], FIN), None, START);
    assert!(has_session(&mut closed, short - instant));
    assert!(!has_session(&mut closed, short));
    let mut reset = open();
    reset.translate(&back(SERVER, POOL, protocol::TCP, [80, 4000], RST), None, START);
    assert!(!has_session(&mut reset, short));
    // A segment that is no SYN begins nothing.
    let mut translator = nat64();
    let stray = out(host(1), SERVER, protocol::TCP, [4000, 80], ACK);
    assert_eq!(translator.translate(&stray, None, START).clause, Clause::NoBinding);
}

#[test]
fn hosts_behind_it_reach_each_other() {
    let mut translator = nat64();
    translator.translate(&out(host(2), SERVER, protocol::UDP, [5000, 53], 0), None, START);
    let decision = translator.translate(&out(host(1), POOL, protocol::UDP, [4000, 5000], 0), None, START);
    assert_eq!(decision.clause, Clause::Hairpin);
    let (ends, ports) = ends6(through(&decision));
    assert_eq!((ends, ports), ([prefix().embed(POOL), host(2)], [4000, 5000]));
    let decision = translator.translate(&out(host(2), POOL, protocol::UDP, [5000, 4000], 0), None, START);
    let (ends, ports) = ends6(through(&decision));
    assert_eq!((ends, ports), ([prefix().embed(POOL), host(1)], [5000, 4000]));
    // A packet that was translated is not translated again.
    let looped = packet6(
        header6([prefix().embed(POOL), prefix().embed(SERVER)], protocol::UDP),
        message(protocol::UDP, [1, 2], 0),
    );
    assert_eq!(translator.translate(&looped, None, START).clause, Clause::OfPrefix);
}

#[test]
fn errors_find_the_host_whose_packet_they_are_about() {
    let mut translator = nat64();
    let sent = translator.translate(&out(host(1), SERVER, protocol::UDP, [40, 53], 0), None, START);
    let about = through(&sent).to_vec();
    let bound = ends4(&about).1[0];
    assert_ne!(bound, 40);
    let error = packet4(header4([OTHER, POOL], protocol::ICMP), [&[3, 4, 0, 0, 0, 0, 5, 20], &about[..]].concat());
    let decision = translator.translate(&error, None, START);
    let packet = through(&decision);
    assert_eq!(ends6(packet).0, [prefix().embed(OTHER), host(1)]);
    assert_eq!((packet[40], packet[41], &packet[44..48]), (2, 0, &[0, 0, 5, 40][..]), "Packet Too Big of 1320");
    let (ends, ports) = ends6(&packet[48..]);
    assert_eq!((ends, ports), ([host(1), prefix().embed(SERVER)], [40, 53]), "its own packet, with its checksum");
    // Errors are translated in the other direction, too: the host says that its port is closed.
    let answer = translator.translate(&back(SERVER, POOL, protocol::UDP, [53, bound], 0), None, START);
    let about = through(&answer).to_vec();
    let mut message = [&[1, 4, 0, 0, 0, 0, 0, 0], &about[..]].concat();
    message[2..4].fill(0);
    let error = packet6(header6([host(1), prefix().embed(SERVER)], protocol::ICMPV6), message);
    let decision = translator.translate(&error, None, START);
    let packet = through(&decision);
    assert_eq!(ends4(packet).0, [POOL, SERVER]);
    assert_eq!(&packet[20..22], &[3, 3]);
    assert_eq!(ends4(&packet[28..]), ([SERVER, POOL], [53, bound]));
    // About a packet that nobody sent.
    let mut lying = error.clone();
    lying[48 + 40 + 3] ^= 1;
    lying[42..44].fill(0);
    let lying = packet6(header6([host(1), prefix().embed(SERVER)], protocol::ICMPV6), lying[40..].to_vec());
    assert_eq!(translator.translate(&lying, None, START).clause, Clause::NoBinding);
}

#[test]
fn what_is_full_says_so_and_frees_itself() {
    let pool = vec![PoolRange { net: Net { address: POOL, bits: 32 }, ports: 2000..=2003 }];
    let mut translator = Nat64::new(Settings { pool: pool.clone(), ..settings() }).expect("right settings");
    for port in 1..=4 {
        let decision = translator.translate(&out(host(1), SERVER, protocol::UDP, [port, 53], 0), None, START);
        assert_eq!(decision.verdict, Verdict::Translated);
    }
    let fifth = out(host(1), SERVER, protocol::UDP, [5, 53], 0);
    assert_eq!(translator.translate(&fifth, None, START).clause, Clause::NoPortLeft);
    let echo = out(host(1), SERVER, protocol::ICMPV6, [5, 5], 0);
    assert_eq!(translator.translate(&echo, None, START).verdict, Verdict::Translated, "identifiers are no ports");
    let then = START + Timeouts::default().udp;
    assert_eq!(translator.translate(&fifth, None, then).verdict, Verdict::Translated);
    let mut translator = Nat64::new(Settings { max_sessions: 1, ..settings() }).expect("right settings");
    translator.translate(&out(host(1), SERVER, protocol::UDP, [1, 53], 0), None, START);
    assert_eq!(translator.translate(&fifth, None, START).clause, Clause::TableFull);
}

#[test]
fn static_bindings_are_always_there() {
    let one = StaticBinding {
        protocol: Protocol::Tcp,
        outside: Outside { address: POOL, port: 8080 },
        inside: Inside { address: host(9), port: 80 },
    };
    let mut translator = Nat64::new(Settings { bindings: vec![one], ..settings() }).expect("right settings");
    for after in [0, 1_000_000] {
        let syn = back(SERVER, POOL, protocol::TCP, [999, 8080], SYN);
        let decision = translator.translate(&syn, None, START + Duration::from_secs(after));
        assert_eq!(ends6(through(&decision)), ([prefix().embed(SERVER), host(9)], [999, 80]));
    }
    assert!(Nat64::new(Settings { bindings: vec![one, one], ..settings() }).is_err());
}

#[test]
fn fragments_have_the_ports_of_the_first() {
    use sixbench_wire::siit::{Port, Ports};
    let mut translator = nat64();
    translator.translate(&out(host(1), SERVER, protocol::UDP, [4000, 53], 0), None, START);
    let later = ipv4::Repr { offset_bytes: 1480, dont_fragment: false, ..header4([SERVER, POOL], protocol::UDP) };
    let later = packet4(later, vec![7; 64]);
    assert_eq!(translator.translate(&later, None, START).clause, Clause::NoPort);
    let ports = Some(Ports([Port::Known(53), Port::Known(4000)]));
    let decision = translator.translate(&later, ports, START);
    assert_eq!(decision.clause, Clause::FragmentToIpv6);
    let packet = through(&decision);
    assert_eq!((packet.len(), &packet[56..]), (48 + 64, &[7; 56][..]));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let siit = |change: fn(&mut siit::Settings)| {
        let mut settings = settings();
        change(&mut settings.translation);
        settings
    };
    let range = |bits, ports| vec![PoolRange { net: Net { address: POOL, bits }, ports }];
    for (settings, words) in [
        (siit(|siit| siit.hairpin = true), "neither a table nor rules"),
        (Settings { pool: Vec::new(), ..settings() }, "has a pool"),
        (Settings { pool: range(31, 1..=2), ..settings() }, "bits beyond its length"),
        (Settings { pool: range(32, std::ops::RangeInclusive::new(2, 1)), ..settings() }, "has no ports"),
        (Settings { max_sessions: 0, ..settings() }, "at least one session"),
    ] {
        let found = Nat64::new(settings).map(|_| ()).expect_err(words);
        assert!(found.contains(words), "{found}");
    }
}

//! Translation of single packets. Properties of all packets are in `crates/wire/tests`.

mod addresses;
mod answers;
mod headers;
mod messages;
mod settings;
mod transport;

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;
use crate::addresses::Net;
use crate::icmp::{Echo, V4Repr, V6Repr};
use crate::ipv6::FragmentHeader;
use crate::protocol;

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

/// The place of the checksum in TCP and UDP.
fn checksum_at(protocol: u8) -> Option<usize> {
    match protocol {
        protocol::TCP => Some(16),
        protocol::UDP => Some(6),
        _ => None,
    }
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
    let plain = ipv4::Repr::new([HOST4, KNOWN4], protocol, payload_bytes);
    ipv4::Repr { traffic_class: 0xe1, identification: 0x1234, dont_fragment: true, ..plain }
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
    let plain = ipv6::Repr::new([host6(), server6()], next_header, payload_bytes);
    ipv6::Repr { traffic_class: 0xe1, flow_label: 5, ..plain }
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

fn verdict(packet: &[u8]) -> (Verdict, &'static str) {
    let decision = translator().translate(packet);
    (decision.verdict, decision.clause.name())
}

/// The decision of a translator with changed settings.
fn decided(change: impl FnOnce(&mut Settings), packet: &[u8]) -> Decision {
    let mut settings = settings(96);
    change(&mut settings);
    Translator::new(settings).expect("right settings").translate(packet)
}

/// An ICMP error to the IPv6 host that quotes a packet with other addresses than its own.
fn icmp4(error: V4Repr, quoted: &[u8]) -> Vec<u8> {
    let message = [&error.emit_summed(checksum::sum(quoted))[..], quoted].concat();
    packet4(header4(protocol::ICMP, message.len()), message)
}

fn icmp6_from(source: Ipv6Addr, error: V6Repr, quoted: &[u8]) -> Vec<u8> {
    let bytes = quoted.len() + 8;
    let pseudo = checksum::pseudo_header_v6(source, server6(), protocol::ICMPV6, bytes as u32);
    let message = [&error.emit_summed(pseudo, checksum::sum(quoted))[..], quoted].concat();
    [&ipv6::Repr { source, ..header6(protocol::ICMPV6, bytes) }.emit()[..], &message].concat()
}

fn icmp6(error: V6Repr, quoted: &[u8]) -> Vec<u8> {
    icmp6_from(host6(), error, quoted)
}

/// A packet that went from the IPv6 host to the IPv4 host, as an error of IPv4 quotes it.
fn sent4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Repr { source: KNOWN4, destination: HOST4, ..header4(protocol, payload.len()) };
    packet4(header, payload.to_vec())
}

/// A packet that went from the IPv4 host to the IPv6 host, as an error of IPv6 quotes it.
fn sent6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Repr { source: server6(), destination: host6(), ..header6(next_header, payload.len()) };
    packet6(header, payload.to_vec())
}

fn translated(change: impl FnOnce(&mut Settings), packet: &[u8]) -> Vec<u8> {
    let decision = decided(change, packet);
    assert_eq!(decision.verdict, Verdict::Translated, "{decision:?}");
    one(&decision).to_vec()
}

fn fragment6(fragment: ipv4::Fragment, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let between = FragmentHeader { next_header, fragment }.emit();
    let header = header6(protocol::FRAGMENT, between.len() + payload.len());
    [&header.emit()[..], &between, payload].concat()
}

const FIRST: ipv4::Fragment = ipv4::Fragment { offset_bytes: 0, more: true, identification: 0x0102_0304 };

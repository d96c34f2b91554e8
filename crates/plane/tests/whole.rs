//! Whole packets through a tunnel: what the vectors have not, which is what a node does around the rules.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use sixbench_plane::Spec;
use sixbench_plane::abi::Outcome;
use sixbench_plane::whole::{Node, Verdict, Whole};
use sixbench_wire::reassembly::{Joined, Reassembly};
use sixbench_wire::{Span, checksum, ipv4, ipv6, protocol};

fn spec(outer: &str, payload: &str, local: &str, remote: &str, more: Value) -> Spec {
    let mut tunnel = json!({
        "device": "t", "underlay": ["u"], "mtu_bytes": 1280, "outer": outer, "payload": payload, "local": local,
        "mapping": {"kind": "fixed", "remote": remote},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        tunnel[key] = value.clone();
    }
    serde_json::from_value(tunnel).expect("a tunnel")
}

fn four_in_six() -> Spec {
    spec("ipv6", "ipv4", "2001:db8::1", "2001:db8::2", json!({}))
}

fn six_in_four() -> Spec {
    spec("ipv4", "ipv6", "192.0.2.1", "192.0.2.2", json!({}))
}

fn whole(spec: &Spec) -> Whole {
    let own6 = "2001:db8:ffff::1".parse().expect("an address");
    Whole::new(spec, Node { own4: Some([192, 0, 2, 254].into()), own6: Some(own6), ..Node::default() })
        .expect("a tunnel")
}

fn ipv4_packet(dont_fragment: bool, number: u8, payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Repr {
        identification: 7,
        dont_fragment,
        hop_limit: 60,
        ..ipv4::Repr::new([[198, 51, 100, 1].into(), [198, 51, 100, 2].into()], number, payload.len())
    };
    [&header.emit()[..], payload].concat()
}

fn ipv6_packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Repr {
        hop_limit: 60,
        ..ipv6::Repr::new(
            ["2001:db8:1::1".parse().expect("an address"), "2001:db8:2::1".parse().expect("an address")],
            next_header,
            payload.len(),
        )
    };
    [&header.emit()[..], payload].concat()
}

fn through(verdict: Verdict) -> Vec<Vec<u8>> {
    match verdict {
        Verdict::Through(packets) => packets,
        other => panic!("{other:?}"),
    }
}

fn answered(verdict: Verdict) -> Vec<u8> {
    match verdict {
        Verdict::Answered(packets) => <[_; 1]>::try_from(packets).map(|[packet]| packet).expect("one packet"),
        other => panic!("{other:?}"),
    }
}

/// The packet that these fragments make.
fn join(fragments: &[Vec<u8>]) -> Vec<u8> {
    let mut reassembly = Reassembly::default();
    let joined = fragments.iter().map(|fragment| reassembly.take(fragment, Duration::ZERO)).last();
    match joined {
        Some(Joined::Packet { packet, .. }) => packet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ipv4_packet_that_is_too_long_goes_in_an_outer_packet_that_is_cut() {
    let packet = ipv4_packet(false, 17, &(0..3000).map(|number| number as u8).collect::<Vec<_>>());
    let carried = whole(&four_in_six()).carry(&packet);
    assert_eq!((carried.outcome, carried.section), (Outcome::Encapsulated, Some("RFC 2473 section 3.1")));
    let pieces = through(carried.verdict);
    assert!(pieces.len() == 3 && pieces.iter().all(|piece| piece.len() <= 1280 + 40), "{pieces:?}");
    let far = whole(&spec("ipv6", "ipv4", "2001:db8::2", "2001:db8::1", json!({})));
    assert!(pieces.iter().all(|piece| far.joins(piece)));
    assert_eq!(through(far.clone().carry(&join(&pieces)).verdict), [packet], "RFC 6333 section 5.3");
    // Its number is the next one's at the same end.
    let mut near = whole(&four_in_six());
    let numbers = [0, 1].map(|_| through(near.carry(&ipv4_packet(false, 17, &[0; 3000])).verdict)[0][44..48].to_vec());
    assert_eq!(numbers, [[0, 0, 0, 0], [0, 0, 0, 1]]);
}

#[test]
fn in_gre_the_packet_itself_is_cut() {
    // Record route (7) is not copied, a loose source route (131) is: RFC 791 section 3.1.
    let options = [7, 3, 4, 131, 3, 4, 1, 0];
    let mut packet = ipv4_packet(false, 17, &[9; 1400]);
    packet.splice(20..20, options);
    packet[0] = 0x47;
    packet[2..4].copy_from_slice(&1428_u16.to_be_bytes());
    let gre = spec("ipv4", "gre", "192.0.2.1", "192.0.2.2", json!({}));
    let pieces = through(whole(&gre).carry(&packet).verdict);
    assert!(pieces.iter().all(|outer| outer.len() <= 1280 + 24 && checksum::is_valid(&outer[24..52])));
    assert_eq!(pieces[0][44..52], options);
    assert_eq!(pieces[1][44..52], [1, 1, 1, 131, 3, 4, 1, 0]);
    let inner: Vec<_> = pieces.iter().map(|outer| outer[24..].to_vec()).collect();
    assert_eq!(join(&inner)[28..], packet[28..]);
}

#[test]
fn the_source_is_told_of_a_packet_that_is_too_long() {
    let carried = whole(&six_in_four()).carry(&ipv6_packet(17, &[0; 1300]));
    assert_eq!((carried.outcome, carried.section), (Outcome::OuterTooBig, Some("RFC 8200 section 5")));
    let answer = answered(carried.verdict);
    let reply = ipv6::Packet::parse(Span::whole(&answer)).expect("IPv6");
    assert_eq!(reply.destination().to_string(), "2001:db8:1::1");
    assert_eq!((&answer[40..42], &answer[44..48]), (&[2, 0][..], &1280_u32.to_be_bytes()[..]));
    let pseudo = checksum::pseudo_header_v6(reply.source(), reply.destination(), 58, answer.len() as u32 - 40);
    assert_eq!(checksum::add(pseudo, checksum::sum(&answer[40..])), u16::MAX);

    let carried = whole(&four_in_six()).carry(&ipv4_packet(true, 17, &[0; 1300]));
    let answer = answered(carried.verdict);
    assert_eq!((&answer[20..22], &answer[26..28]), (&[3, 4][..], &1280_u16.to_be_bytes()[..]));
    assert!(checksum::is_valid(&answer[..20]) && checksum::is_valid(&answer[20..]));
}

#[test]
fn no_error_is_about_an_error_and_none_comes_from_nowhere() {
    let mut error = [0; 1300];
    error[0] = 3;
    let dropped = |mut whole: Whole, packet: &[u8]| {
        let carried = whole.carry(packet);
        assert_eq!((carried.verdict, carried.outcome), (Verdict::Dropped, Outcome::OuterTooBig));
    };
    dropped(whole(&six_in_four()), &ipv6_packet(protocol::ICMPV6, &error));
    dropped(whole(&four_in_six()), &ipv4_packet(true, protocol::ICMP, &error));
    dropped(Whole::new(&six_in_four(), Node::default()).expect("a tunnel"), &ipv6_packet(17, &[0; 1300]));
    dropped(Whole::new(&four_in_six(), Node::default()).expect("a tunnel"), &ipv4_packet(true, 17, &[0; 1300]));
}

#[test]
fn outer_packets_that_may_be_fragmented_have_numbers_of_their_own() {
    let mut tunnel = whole(&six_in_four());
    let numbers = [0, 1, 2].map(|_| through(tunnel.carry(&ipv6_packet(17, &[0; 8])).verdict)[0][4..6].to_vec());
    assert_eq!(numbers, [[0, 0], [0, 1], [0, 2]]);
}

#[test]
fn gre_takes_what_is_for_its_end_for_an_outer_packet() {
    let tunnel = spec("ipv4", "gre", "192.0.2.1", "192.0.2.2", json!({}));
    let packet = ipv4_packet(false, 17, &[1, 2, 3, 4]);
    let outer = through(whole(&tunnel).carry(&packet).verdict).remove(0);
    let peer = spec("ipv4", "gre", "192.0.2.2", "192.0.2.1", json!({}));
    let carried = whole(&peer).carry(&outer);
    assert_eq!((carried.outcome, carried.verdict), (Outcome::Decapsulated, Verdict::Through(vec![packet])));
    // For this end it is only one more packet to carry.
    assert_eq!(whole(&tunnel).carry(&outer).outcome, Outcome::RoutingLoop);
}

#[test]
fn a_gre_checksum_is_checked() {
    let tunnel = spec("ipv4", "gre", "192.0.2.1", "192.0.2.2", json!({}));
    let inner = ipv6_packet(17, &[5; 9]);
    let mut gre = [&[0x80, 0, 0x86, 0xdd, 0, 0, 0, 0][..], &inner].concat();
    let computed = checksum::checksum(&gre);
    gre[4..6].copy_from_slice(&computed.to_be_bytes());
    let outer = |gre: &[u8]| {
        let (source, destination) = ([192, 0, 2, 2].into(), [192, 0, 2, 1].into());
        let header = ipv4::Packet::parse(Span::whole(&ipv4_packet(false, protocol::GRE, gre)))
            .map(|packet| ipv4::Repr { source, destination, ..ipv4::Repr::parse(&packet) }.emit());
        [&header.expect("IPv4")[..], gre].concat()
    };
    assert_eq!(whole(&tunnel).carry(&outer(&gre)).verdict, Verdict::Through(vec![inner]));
    gre[5] ^= 1;
    assert_eq!(whole(&tunnel).carry(&outer(&gre)).outcome, Outcome::GreFlags);
}

#[test]
fn an_outer_ipv6_packet_with_a_route_still_to_go_is_not_ours() {
    let inner = ipv4_packet(false, 17, &[0; 8]);
    let with = |routing: [u8; 8]| {
        let mut outer = ipv6_packet(protocol::ROUTING, &[&routing[..], &inner].concat());
        outer[8..24].copy_from_slice(&"2001:db8::2".parse::<std::net::Ipv6Addr>().expect("an address").octets());
        outer[24..40].copy_from_slice(&"2001:db8::1".parse::<std::net::Ipv6Addr>().expect("an address").octets());
        whole(&four_in_six()).carry(&outer).outcome
    };
    assert_eq!(with([4, 0, 0, 0, 0, 0, 0, 0]), Outcome::Decapsulated);
    assert_eq!(with([4, 0, 0, 1, 0, 0, 0, 0]), Outcome::NotOurs);
}

proptest! {
    #[test]
    fn what_one_end_sends_the_other_takes(payload in prop::collection::vec(any::<u8>(), 8..4000), dont_fragment: bool, version in prop::sample::select(vec![4, 6])) {
        let (near, far, packet) = if version == 4 {
            let far = spec("ipv6", "ipv4", "2001:db8::2", "2001:db8::1", json!({}));
            (four_in_six(), far, ipv4_packet(dont_fragment, 17, &payload))
        } else {
            let far = spec("ipv4", "ipv6", "192.0.2.2", "192.0.2.1", json!({}));
            (six_in_four(), far, ipv6_packet(17, &payload))
        };
        let carried = whole(&near).carry(&packet);
        match carried.verdict {
            Verdict::Through(outer) => {
                let outer = if outer.len() == 1 { outer[0].clone() } else { join(&outer) };
                prop_assert_eq!(through(whole(&far).carry(&outer).verdict), [packet]);
            }
            Verdict::Answered(_) => prop_assert!(packet.len() > 1280 && (version == 6 || dont_fragment)),
            Verdict::Dropped => prop_assert!(false, "{:?}", carried.outcome),
        }
    }

    #[test]
    fn no_packet_panics(mut data in prop::collection::vec(any::<u8>(), 0..300), first in prop::sample::select(vec![0x45_u8, 0x4f, 0x60, 0x00]), number in prop::sample::select(vec![4_u8, 41, 47, 44]), fixes: bool) {
        let tunnels = [four_in_six(), six_in_four(), spec("ipv4", "gre", "192.0.2.1", "192.0.2.2", json!({"gre_key": 5}))];
        if fixes && data.len() >= 40 {
            let bytes = data.len() as u16;
            data[0] = first;
            if first >> 4 == 6 {
                data[4..6].copy_from_slice(&(bytes - 40).to_be_bytes());
                data[6] = number;
                data[24..40].copy_from_slice(&[0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            } else {
                data[2..4].copy_from_slice(&bytes.to_be_bytes());
                (data[6], data[7], data[9]) = (0, 0, number);
                data[16..20].copy_from_slice(&[192, 0, 2, 1]);
                data[10..12].fill(0);
                let header_bytes = usize::from(data[0] & 15) * 4;
                let computed = checksum::checksum(&data[..header_bytes.min(usize::from(bytes))]);
                data[10..12].copy_from_slice(&computed.to_be_bytes());
            }
        }
        for tunnel in &tunnels {
            let carried = whole(tunnel).carry(&data);
            match carried.verdict {
                Verdict::Through(packets) => prop_assert!(!packets.is_empty() && packets.iter().all(|packet| packet.len() >= 20)),
                Verdict::Answered(_) | Verdict::Dropped => prop_assert!(carried.outcome != Outcome::Encapsulated),
            }
        }
    }
}

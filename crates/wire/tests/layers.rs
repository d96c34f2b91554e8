//! Hand-written packets and the layers they have.

use serde_json::{Value, json};
use sixbench_wire::Span;
use sixbench_wire::layers::{Layers, Link, MAX_LAYERS, outermost_addresses};

const ETHERNET_IPV4: &str = "02 00 00 00 00 02  02 00 00 00 00 01  08 00";
const ETHERNET_IPV6: &str = "02 00 00 00 00 02  02 00 00 00 00 01  86 dd";
/// 2001:db8::1 to 2001:db8::2.
const ADDRESSES_V6: &str =
    "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01  20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 02";
/// Ports 1000 and 80, 12 bytes of options.
const TCP_32: &str = "03 e8 00 50  00 00 00 01  00 00 00 02  80 18 ff ff  00 00 00 00
    01 01 08 0a  00 00 00 01  00 00 00 02";
const UDP: &str = "03 e8 00 35  00 0c 00 00";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    assert!(digits.len() % 2 == 0, "an odd number of digits: {digits}");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex digits")).collect()
}

fn packet(parts: &[&str]) -> Vec<u8> {
    bytes(&parts.join(" "))
}

fn layers(link: Link, span: Span<'_>) -> Value {
    serde_json::to_value(Layers::new(link, span).collect::<Vec<_>>()).expect("layers are plain values")
}

fn whole(parts: &[&str]) -> Value {
    layers(Link::Ethernet, Span::whole(&packet(parts)))
}

/// The layers of a packet of which the first `keep` bytes were captured.
fn cut(parts: &[&str], keep: usize) -> Value {
    let packet = packet(parts);
    layers(Link::Ethernet, Span::new(&packet[..keep], packet.len()))
}

fn kinds(layers: &Value) -> Vec<&str> {
    layers.as_array().expect("a list").iter().filter_map(|layer| layer["kind"].as_str()).collect()
}

#[test]
fn tcp_over_ipv6() {
    let parts = [ETHERNET_IPV6, "61 23 45 67  00 24  06  3f", ADDRESSES_V6, TCP_32, "aa bb cc dd"];
    assert_eq!(
        whole(&parts),
        json!([
            {"kind": "ethernet", "bytes": 14},
            {"kind": "ipv6", "bytes": 40, "source": "2001:db8::1", "destination": "2001:db8::2", "total_bytes": 76,
             "hop_limit": 63, "traffic_class": 18, "flow_label": 0x34567, "protocol": 6, "extensions": [], "fragment": null},
            {"kind": "tcp", "bytes": 32, "source_port": 1000, "destination_port": 80, "payload_bytes": 4},
        ])
    );
}

#[test]
fn udp_over_ipv4_with_options_and_the_frames_padding() {
    let header = "46 b8 00 24  12 34 40 00  40 11 00 00  c0 00 02 01  c6 33 64 02  94 04 00 00";
    assert_eq!(
        whole(&[ETHERNET_IPV4, header, UDP, "01 02 03 04", "00 00 00 00 00 00 00 00 00 00"]),
        json!([
            {"kind": "ethernet", "bytes": 14},
            {"kind": "ipv4", "bytes": 24, "source": "192.0.2.1", "destination": "198.51.100.2", "total_bytes": 36,
             "hop_limit": 64, "traffic_class": 184, "protocol": 17, "dont_fragment": true, "fragment": null},
            {"kind": "udp", "bytes": 8, "source_port": 1000, "destination_port": 53, "payload_bytes": 4},
        ])
    );
}

#[test]
fn a_capture_of_the_first_bytes_tells_the_lengths_of_all() {
    let parts = [ETHERNET_IPV6, "60 00 00 00  00 24  06  40", ADDRESSES_V6, TCP_32, "aa bb cc dd"];
    assert_eq!(
        cut(&parts, 86)[2],
        json!({"kind": "tcp", "bytes": 32, "source_port": 1000, "destination_port": 80, "payload_bytes": 4})
    );
    assert_eq!(cut(&parts, 85)[2], json!({"kind": "truncated", "of": "tcp", "bytes": 31}));
    assert_eq!(cut(&parts, 54)[2], json!({"kind": "truncated", "of": "tcp", "bytes": 0}));
    assert_eq!(cut(&parts, 53)[1], json!({"kind": "truncated", "of": "ipv6", "bytes": 39}));
    assert_eq!(cut(&parts, 13), json!([{"kind": "truncated", "of": "ethernet", "bytes": 13}]));
}

#[test]
fn contradictions_are_malformed() {
    let ipv4 = |text: &str| whole(&[ETHERNET_IPV4, text, UDP, "00 00 00 00"])[1].clone();
    let malformed = |reason: &str| json!({"kind": "malformed", "of": "ipv4", "reason": reason, "bytes": 32});
    let rest = "00 00 00 00  40 11 00 00  c0 00 02 01  c6 33 64 02";
    assert_eq!(ipv4(&format!("65 00 00 20 {rest}")), malformed("the version is not 4"));
    assert_eq!(ipv4(&format!("44 00 00 20 {rest}")), malformed("the header length is under 20"));
    assert_eq!(ipv4(&format!("45 00 00 13 {rest}")), malformed("the total length is under the header length"));
    assert_eq!(ipv4(&format!("45 00 00 21 {rest}")), malformed("its length field says more than the packet has"));

    let tcp = "00 01 00 02  00 00 00 00  00 00 00 00  40 00 00 00  00 00 00 00";
    let found = whole(&[ETHERNET_IPV4, "45 00 00 28  00 00 00 00  40 06 00 00  c0 00 02 01  c6 33 64 02", tcp]);
    assert_eq!(
        found[2],
        json!({"kind": "malformed", "of": "tcp", "reason": "the data offset is under 20", "bytes": 20})
    );
}

#[test]
fn extension_headers_belong_to_ipv6() {
    let hop_by_hop = "2b 00 05 02 00 00 01 00";
    let routing = "3c 02 00 00 00 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00";
    let destination_options = "33 00 01 04 00 00 00 00";
    let authentication = "11 04 00 00  00 00 00 01  00 00 00 01  00 00 00 00  00 00 00 00  00 00 00 00";
    let found = whole(&[
        ETHERNET_IPV6,
        "60 00 00 00  00 4c  00  40",
        ADDRESSES_V6,
        hop_by_hop,
        routing,
        destination_options,
        authentication,
        UDP,
        "01 02 03 04",
    ]);
    assert_eq!(kinds(&found), ["ethernet", "ipv6", "udp"]);
    assert_eq!(found[1]["bytes"], 40 + 8 + 24 + 8 + 24);
    assert_eq!(found[1]["protocol"], 17);
    assert_eq!(found[1]["extensions"], json!(["hop-by-hop", "routing", "destination-options", "authentication"]));
}

#[test]
fn extension_headers_without_end_are_malformed() {
    let nine = "3c 00 01 04 00 00 00 00 ".repeat(9);
    let found = whole(&[ETHERNET_IPV6, "60 00 00 00  00 48  3c  40", ADDRESSES_V6, &nine]);
    assert_eq!(found[1]["bytes"], 40 + 64);
    assert_eq!(
        found[2],
        json!({"kind": "malformed", "of": "ipv6-extension", "reason": "more than 8 extension headers", "bytes": 8})
    );
}

#[test]
fn nothing_follows_no_next_header() {
    let found = whole(&[ETHERNET_IPV6, "60 00 00 00  00 04  3b  40", ADDRESSES_V6, "00 00 00 00"]);
    assert_eq!(kinds(&found), ["ethernet", "ipv6"]);
}

#[test]
fn fragments_of_ipv4() {
    let header = |fragment: &str| format!("45 00 00 24  12 34 {fragment}  40 11 00 00  c0 00 02 01  c6 33 64 02");
    let udp_of_2000 = "03 e8 00 35  07 d8 00 00  00 00 00 00  00 00 00 00";
    let first = whole(&[ETHERNET_IPV4, &header("20 00"), udp_of_2000]);
    assert_eq!(first[1]["fragment"], json!({"offset_bytes": 0, "more": true, "identification": 0x1234}));
    assert_eq!(
        first[2],
        json!({"kind": "udp", "bytes": 8, "source_port": 1000, "destination_port": 53, "payload_bytes": 2000})
    );
    let later = whole(&[ETHERNET_IPV4, &header("00 02"), udp_of_2000]);
    assert_eq!(later[1]["fragment"], json!({"offset_bytes": 16, "more": false, "identification": 0x1234}));
    assert_eq!(later[2], json!({"kind": "fragment-data", "bytes": 16}));
    let not_a_fragment = whole(&[ETHERNET_IPV4, &header("00 00"), udp_of_2000]);
    assert_eq!(not_a_fragment[2]["kind"], "malformed");
}

#[test]
fn fragments_of_ipv6() {
    let parse = |fragment: &str| {
        whole(&[ETHERNET_IPV6, "60 00 00 00  00 2c  2c  40", ADDRESSES_V6, fragment, TCP_32, "01 02 03 04"])
    };
    let first = parse("06 00 00 01  00 01 e2 40");
    assert_eq!(first[1]["bytes"], 48);
    assert_eq!(first[1]["fragment"], json!({"offset_bytes": 0, "more": true, "identification": 123456}));
    assert_eq!(first[2], json!({"kind": "tcp", "bytes": 32, "source_port": 1000, "destination_port": 80}));
    let later = parse("06 00 05 a8  00 01 e2 40");
    assert_eq!(later[1]["fragment"], json!({"offset_bytes": 1448, "more": false, "identification": 123456}));
    assert_eq!(later[2], json!({"kind": "fragment-data", "bytes": 36}));
    let atomic = parse("06 00 00 00  00 01 e2 40");
    assert_eq!(atomic[1]["fragment"], json!({"offset_bytes": 0, "more": false, "identification": 123456}));
    assert_eq!(atomic[2]["payload_bytes"], 4);
}

#[test]
fn ipv6_in_ipv4() {
    let inner = ["60 00 00 00  00 0c  11  40", ADDRESSES_V6, UDP, "01 02 03 04"];
    let outer = "45 00 00 48  00 00 40 00  40 29 00 00  c0 00 02 01  c6 33 64 02";
    let found = whole(&[&[ETHERNET_IPV4, outer][..], &inner].concat());
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "ipv6", "udp"]);
    assert_eq!(found[1]["protocol"], 41);

    // A tunnel that fragments outside (RFC 4213 section 3.2): the inner packet is longer than its first part.
    let outer = "45 00 00 48  00 00 20 00  40 29 00 00  c0 00 02 01  c6 33 64 02";
    let inner = ["60 00 00 00  05 b4  06  40", ADDRESSES_V6, "03 e8 00 50  00 00 00 01  00 00 00 02"];
    let found = whole(&[&[ETHERNET_IPV4, outer][..], &inner].concat());
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "ipv6", "truncated"]);
    assert_eq!(found[2]["total_bytes"], 1500);
}

#[test]
fn ipv4_in_ipv4_and_both_in_ipv6() {
    let ipv4 = "45 00 00 20  00 00 40 00  40 11 00 00  c0 00 02 01  c6 33 64 02";
    let in_ipv4 = "45 00 00 34  00 00 40 00  40 04 00 00  c0 00 02 01  c6 33 64 02";
    assert_eq!(kinds(&whole(&[ETHERNET_IPV4, in_ipv4, ipv4, UDP, "01 02 03 04"])), ["ethernet", "ipv4", "ipv4", "udp"]);
    let in_ipv6 = ["60 00 00 00  00 20  04  40", ADDRESSES_V6];
    let found = whole(&[&[ETHERNET_IPV6][..], &in_ipv6, &[ipv4, UDP, "01 02 03 04"]].concat());
    assert_eq!(kinds(&found), ["ethernet", "ipv6", "ipv4", "udp"]);

    // RFC 2473's tunnel: the tunnel encapsulation limit is a destination option.
    let limit = "29 00 04 01 04 01 01 00";
    let inner = ["60 00 00 00  00 0c  11  40", ADDRESSES_V6, UDP, "01 02 03 04"];
    let found = whole(&[&[ETHERNET_IPV6, "60 00 00 00  00 3c  3c  40", ADDRESSES_V6, limit][..], &inner].concat());
    assert_eq!(kinds(&found), ["ethernet", "ipv6", "ipv6", "udp"]);
    assert_eq!(found[1]["bytes"], 48);
}

#[test]
fn gre() {
    let outer = "45 00 00 3c  00 00 40 00  40 2f 00 00  c0 00 02 01  c6 33 64 02";
    let ipv4 = "45 00 00 20  00 00 40 00  40 11 00 00  0a 00 00 01  0a 00 00 02";
    let found = whole(&[ETHERNET_IPV4, outer, "20 00 08 00  00 00 00 2a", ipv4, UDP, "01 02 03 04"]);
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "gre", "ipv4", "udp"]);
    assert_eq!(found[2], json!({"kind": "gre", "bytes": 8, "protocol_type": 0x0800, "key": 42}));

    let outer = "45 00 00 46  00 00 40 00  40 2f 00 00  c0 00 02 01  c6 33 64 02";
    let found = whole(&[ETHERNET_IPV4, outer, "00 00 65 58", ETHERNET_IPV4, ipv4, UDP, "01 02 03 04"]);
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "gre", "ethernet", "ipv4", "udp"]);
    assert_eq!(found[2], json!({"kind": "gre", "bytes": 4, "protocol_type": 0x6558}));
}

#[test]
fn echo_and_path_mtu_messages() {
    let icmp = |protocol: &str, message: &str| {
        let header = format!("45 00 00 20  00 00 00 00  40 {protocol} 00 00  c0 00 02 01  c6 33 64 02");
        whole(&[ETHERNET_IPV4, &header, message, "01 02 03 04"])[2].clone()
    };
    assert_eq!(
        icmp("01", "08 00 00 00 00 07 00 09"),
        json!({"kind": "icmp", "bytes": 8, "type": 8, "code": 0, "identifier": 7, "sequence": 9, "payload_bytes": 4})
    );
    assert_eq!(
        icmp("01", "03 04 00 00 00 00 05 c8"),
        json!({"kind": "icmp", "bytes": 8, "type": 3, "code": 4, "mtu_bytes": 1480, "payload_bytes": 4})
    );
    // A router older than RFC 1191.
    assert_eq!(icmp("01", "03 04 00 00 00 00 00 00").get("mtu_bytes"), None);
    assert_eq!(
        icmp("3a", "02 00 00 00 00 00 05 00"),
        json!({"kind": "icmpv6", "bytes": 8, "type": 2, "code": 0, "mtu_bytes": 1280, "payload_bytes": 4})
    );
    assert_eq!(icmp("3a", "81 00 00 00 00 07 00 09")["sequence"], 9);
}

#[test]
fn vlan_tags_and_arp() {
    let found = whole(&[
        "ff ff ff ff ff ff  02 00 00 00 00 01  88 a8  a0 64  81 00  00 c8  08 06",
        "00 01 08 00 06 04 00 01  02 00 00 00 00 01 c0 00 02 01  00 00 00 00 00 00 c0 00 02 02",
        "00 00 00 00",
    ]);
    assert_eq!(
        found,
        json!([
            {"kind": "ethernet", "bytes": 14},
            {"kind": "vlan", "bytes": 4, "vlan_id": 100, "priority": 5},
            {"kind": "vlan", "bytes": 4, "vlan_id": 200, "priority": 0},
            {"kind": "arp", "bytes": 28, "operation": 1, "sender": "192.0.2.1", "target": "192.0.2.2"},
        ])
    );
}

#[test]
fn what_is_not_read_is_named_by_its_number() {
    let found = whole(&["01 80 c2 00 00 0e  02 00 00 00 00 01  88 cc", "01 02 03"]);
    assert_eq!(found[1], json!({"kind": "unknown", "after": "ethernet", "number": 0x88cc, "bytes": 3}));
    let header = "45 00 00 18  00 00 00 00  40 59 00 00  c0 00 02 01  c6 33 64 02";
    let found = whole(&[ETHERNET_IPV4, header, "01 02 03 04"]);
    assert_eq!(found[2], json!({"kind": "unknown", "after": "ipv4", "number": 89, "bytes": 4}));
}

#[test]
fn devices_without_a_link_layer() {
    let ipv4 = bytes("45 00 00 14  00 00 00 00  40 3b 00 00  c0 00 02 01  c6 33 64 02");
    assert_eq!(kinds(&layers(Link::Ip, Span::whole(&ipv4))), ["ipv4"]);
    let ipv6 = packet(&["60 00 00 00  00 00  3b  40", ADDRESSES_V6]);
    assert_eq!(kinds(&layers(Link::Ip, Span::whole(&ipv6))), ["ipv6"]);
    assert_eq!(layers(Link::Ip, Span::whole(&[0x12]))[0]["reason"], "the version is neither 4 nor 6");
    assert_eq!(layers(Link::Ip, Span::new(&[], 40)), json!([{"kind": "truncated", "of": "ip", "bytes": 0}]));
}

#[test]
fn tunnels_in_tunnels_end_somewhere() {
    let mut packet = bytes(ETHERNET_IPV4);
    for left in (1..=20_u16).rev() {
        packet.extend([0x45, 0]);
        packet.extend((left * 20).to_be_bytes());
        packet.extend(bytes("00 00 00 00  40 04 00 00  c0 00 02 01  c6 33 64 02"));
    }
    let found = layers(Link::Ethernet, Span::whole(&packet));
    assert_eq!(kinds(&found).len(), MAX_LAYERS + 1);
    assert_eq!(found[MAX_LAYERS], json!({"kind": "too-deep", "bytes": 100}));
}

#[test]
fn the_outermost_addresses_are_those_of_the_tunnel() {
    let outer = "45 00 00 3c  00 00 40 00  40 29 00 00  c0 00 02 01  c6 33 64 02";
    let packet = packet(&[ETHERNET_IPV4, outer, "60 00 00 00  00 00  3b  40", ADDRESSES_V6]);
    let addresses = outermost_addresses(Link::Ethernet, Span::whole(&packet)).expect("an IP packet");
    assert_eq!(addresses, ("192.0.2.1".parse().expect("an address"), "198.51.100.2".parse().expect("an address")));
    let arp = bytes("ff ff ff ff ff ff  02 00 00 00 00 01  08 06");
    assert_eq!(outermost_addresses(Link::Ethernet, Span::whole(&arp)), None);
}

#[test]
fn a_segment_too_long_for_its_length_field_has_the_length_of_the_packet() {
    let parts = [ETHERNET_IPV6, "60 00 00 00  00 00  06  40", ADDRESSES_V6, TCP_32];
    let packet = packet(&parts);
    let found = layers(Link::Ethernet, Span::new(&packet, 14 + 40 + 32 + 100_000));
    assert_eq!(found[1]["total_bytes"], 100_072);
    assert_eq!(found[2]["payload_bytes"], 100_000);
}

/// RFC 7348 section 5.
#[test]
fn vxlan_carries_ethernet() {
    let udp = "c0 00 12 b5  00 36 00 00";
    let vxlan = "08 00 00 00  00 00 2a 00";
    let outer = "45 00 00 4a  00 00 00 00  40 11 00 00  c6 12 01 01  c6 12 01 02";
    let inner = "45 00 00 18  00 00 00 00  40 ff 00 00  c6 12 00 01  c6 12 00 02";
    let found = whole(&[ETHERNET_IPV4, outer, udp, vxlan, ETHERNET_IPV4, inner, "01 02 03 04"]);
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4", "unknown"]);
    assert_eq!(found[3], json!({"kind": "vxlan", "bytes": 8, "vni": 42}));
    // A packet that merely goes to that port is not VXLAN.
    let found = whole(&[ETHERNET_IPV4, outer, udp, "01 00 00 00  00 00 2a 00", ETHERNET_IPV4, inner, "01 02 03 04"]);
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "udp"]);
}

const TEREDO_OUTER: &str = "45 00 00 00  00 00 00 00  40 11 00 00  c6 12 00 01  c6 12 01 02";
/// 2001:0:c633:6402:0:f226:39ed:fffe, which is 198.18.0.1 port 3545 by the server 198.51.100.2, to 2001:db8::2.
const TEREDO_ADDRESSES: &str =
    "20 01 00 00 c6 33 64 02 00 00 f2 26 39 ed ff fe  20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 02";

/// The datagram of a length between two ports, in an IPv4 packet of the right one.
fn teredo(ports: &str, parts: &[&str]) -> Value {
    let inside = packet(parts);
    let mut frame = packet(&[ETHERNET_IPV4, TEREDO_OUTER, ports, "00 00 00 00"]);
    frame.extend(&inside);
    let length = u16::try_from(frame.len() - 14).expect("a small packet");
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
    layers(Link::Ethernet, Span::whole(&frame))
}

/// RFC 4380 section 5.1.1.
#[test]
fn teredo_carries_ipv6_between_any_ports() {
    let inner = ["60 00 00 00  00 04  ff  40", TEREDO_ADDRESSES, "01 02 03 04"];
    let found = teredo("0d d9 0d d9", &inner);
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "udp", "teredo", "ipv6", "unknown"]);
    assert_eq!(found[3], json!({"kind": "teredo", "bytes": 0}));
    assert_eq!(found[4]["source"], "2001:0:c633:6402:0:f226:39ed:fffe");
    // A payload that ends elsewhere than its packet, is no IPv6, or has no address of a client is not Teredo.
    for other in [
        ["60 00 00 00  00 03  ff  40", TEREDO_ADDRESSES, "01 02 03 04"],
        ["60 00 00 00  00 05  ff  40", TEREDO_ADDRESSES, "01 02 03 04"],
        ["40 00 00 00  00 04  ff  40", TEREDO_ADDRESSES, "01 02 03 04"],
        ["60 00 00 00  00 04  ff  40", ADDRESSES_V6, "01 02 03 04"],
    ] {
        assert_eq!(kinds(&teredo("0d d9 0d d9", &other)), ["ethernet", "ipv4", "udp"]);
    }
}

/// RFC 4380 section 5.1.1: an authentication comes before an origin indication.
#[test]
fn teredo_of_a_server_may_begin_with_indications() {
    let link_local = "fe 80 00 00 00 00 00 00 00 00 ff ff ff ff ff ff  ff 02 00 00 00 00 00 00 00 00 00 00 00 00 00 02";
    let solicitation = ["60 00 00 00  00 08  3a  ff", link_local, "85 00 7d 37  00 00 00 00"];
    let authentication = "00 01 00 00  01 02 03 04 05 06 07 08  00";
    let with_values = "00 01 01 02  aa  bb cc  01 02 03 04 05 06 07 08  00";
    let origin = "00 00 f2 26  39 ed ff fe";
    for (indications, bytes) in [
        (vec![], 0),
        (vec![authentication], 13),
        (vec![origin], 8),
        (vec![authentication, origin], 21),
        (vec![with_values, origin], 24),
    ] {
        let found = teredo("0d d8 0d d9", &[&indications[..], &solicitation[..]].concat());
        assert_eq!(kinds(&found), ["ethernet", "ipv4", "udp", "teredo", "ipv6", "icmpv6"], "{indications:?}");
        assert_eq!(found[3]["bytes"], bytes);
    }
    for indications in [vec![origin, authentication], vec![origin, origin], vec!["00 02 00 00"]] {
        let found = teredo("0d d8 0d d9", &[&indications[..], &solicitation[..]].concat());
        assert_eq!(kinds(&found), ["ethernet", "ipv4", "udp"], "{indications:?}");
    }
}

/// A host's request to do without IPv4, and the answer: RFC 8925.
#[test]
fn dhcp_says_whether_ipv4_can_be_done_without() {
    let dhcp = |ports: &str, options: &str| {
        let fixed = ["01 01 06 00", &"00 ".repeat(232), "63 82 53 63", options].join(" ");
        teredo(ports, &[&fixed])
    };
    let found = dhcp("00 44 00 43", "35 01 01  37 02 01 6c  ff");
    assert_eq!(kinds(&found), ["ethernet", "ipv4", "udp", "dhcp"]);
    assert_eq!(found[3], json!({"kind": "dhcp", "bytes": 248, "message": "discover", "wants_v6only": true}));
    // The type of a server's message, and other ports.
    assert_eq!(kinds(&dhcp("00 44 00 43", "35 01 02  ff")), ["ethernet", "ipv4", "udp"]);
    assert_eq!(kinds(&dhcp("00 44 00 45", "35 01 01  ff")), ["ethernet", "ipv4", "udp"]);
}

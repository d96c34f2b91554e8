"""`sixbench translate siit`: packets worked out by hand from RFC 7915, with the real agent.

Both sides of each translation are written down as packets, with all their checksums. The real agent must make the
second of the first.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest
from ip_packets import ICMP, ICMPV6, TCP, UDP, checksum, ipv4, ipv6, pcap
from packets_through import packets_through

pytestmark = pytest.mark.computes

Command = Callable[..., Any]
Translated = Callable[..., list[tuple[str, str, list[bytes]]]]

PREFIX = "64:ff9b:1::/96"
KNOWN4, KNOWN6 = "192.0.2.1", "2001:db8::1"
"""A host of IPv6 that IPv4 knows by an explicit mapping."""
HOST4, HOST6 = "198.51.100.2", "64:ff9b:1::198.51.100.2"
"""A host of IPv4, and its address in the prefix."""
OWN4, OWN6 = "192.0.2.254", "2001:db8::fe"
SIIT = ("--prefix", PREFIX, "--eam", f"{KNOWN4}/32={KNOWN6}/128", "--own4", OWN4, "--own6", OWN6)
DF, MORE = 0x4000, 0x2000


@pytest.fixture
def translated(tmp_path: Path, sixbench: Command) -> Translated:
    """Verdict, rule and packets out of each packet that goes in."""

    def run(packets: Sequence[bytes], *options: str) -> list[tuple[str, str, list[bytes]]]:
        return packets_through(sixbench, tmp_path, ("siit", *SIIT, *options), packets)

    return run


def pseudo(packet: bytes, protocol: int) -> bytes:
    """The pseudo header of RFC 9293 section 3.1 or RFC 8200 section 8.1, for the payload of that packet."""
    if packet[0] >> 4 == 4:
        return packet[12:20] + struct.pack("!HH", protocol, len(packet) - 20)
    return packet[8:40] + struct.pack("!II", len(packet) - 40, protocol)


def sealed(packet: bytes, protocol: int, at: int) -> bytes:
    """The packet with the checksum of what it carries, at that byte of it."""
    start = 20 if packet[0] >> 4 == 4 else 40
    payload = bytearray(packet[start:])
    payload[at : at + 2] = b"\0\0"
    covered = b"" if protocol == ICMP else pseudo(packet, protocol)
    actual_checksum = checksum(covered + bytes(payload))
    payload[at : at + 2] = struct.pack("!H", actual_checksum or (0xFFFF if protocol == UDP else 0))
    return packet[:start] + bytes(payload)


def udp(data: bytes) -> bytes:
    return struct.pack("!HHHH", 1000, 2000, 8 + len(data), 0) + data


def to_known4(payload: bytes, protocol: int = UDP, **fields: int) -> bytes:
    """From the IPv4 host to the IPv6 host."""
    return ipv4(payload, source=HOST4, destination=KNOWN4, protocol=protocol, **fields)


def to_known6(payload: bytes, protocol: int = UDP, **fields: int) -> bytes:
    """The same in IPv6."""
    return ipv6(payload, source=HOST6, destination=KNOWN6, protocol=protocol, **fields)


def from_known4(payload: bytes, protocol: int = UDP, **fields: int) -> bytes:
    """From the IPv6 host to the IPv4 host, in IPv4."""
    return ipv4(payload, source=KNOWN4, destination=HOST4, protocol=protocol, **fields)


def from_known6(payload: bytes, protocol: int = UDP, **fields: int) -> bytes:
    """The same in IPv6."""
    return ipv6(payload, source=KNOWN6, destination=HOST6, protocol=protocol, **fields)


def fragment_header(next_header: int, offset_bytes: int, more: bool, identification: int) -> bytes:
    return struct.pack("!BBHI", next_header, 0, offset_bytes | more, identification)


def without_identification(packet: bytes) -> bytes:
    """An IPv4 packet without what a translator chooses, and the header's checksum."""
    assert checksum(packet[:20]) == 0
    return packet[:4] + packet[6:10] + packet[12:]


TCP_SYN = struct.pack("!HHIIBBHHH", 40000, 80, 1, 0, 0x50, 2, 65535, 0, 0)


@pytest.mark.parametrize(
    ("payload", "protocol", "at"), [(udp(b"data"), UDP, 6), (udp(b"odd"), UDP, 6), (TCP_SYN, TCP, 16)]
)
def test_section_4_1_headers_to_ipv6(translated: Translated, payload: bytes, protocol: int, at: int) -> None:
    before = sealed(to_known4(payload, protocol, tos=0xFF, ttl=61, identification=7, flags_and_offset=DF), protocol, at)
    after = sealed(to_known6(payload, protocol, traffic_class=0xFF, hop_limit=60), protocol, at)
    assert translated([before]) == [("translated", "to-ipv6", [after])]


@pytest.mark.parametrize(("payload", "protocol", "at"), [(udp(bytes(1300)), UDP, 6), (TCP_SYN + bytes(1300), TCP, 16)])
def test_section_5_1_headers_to_ipv4(translated: Translated, payload: bytes, protocol: int, at: int) -> None:
    before = sealed(from_known6(payload, protocol, traffic_class=0xE1, hop_limit=9), protocol, at)
    after = sealed(from_known4(payload, protocol, tos=0xE1, ttl=8, flags_and_offset=DF), protocol, at)
    ((verdict, clause, (packet_out,)),) = translated([before])
    assert (verdict, clause) == ("translated", "to-ipv4")
    assert without_identification(packet_out) == without_identification(after)


def test_section_5_1_small_packets_may_be_fragmented(translated: Translated) -> None:
    sizes = (1260, 1261)  # of the IPv4 packet
    packets = [sealed(from_known6(udp(bytes(size - 28))), UDP, 6) for size in sizes]
    translated_packets = [packet for _, _, (packet,) in translated(packets)]
    assert [len(packet) for packet in translated_packets] == list(sizes)
    assert [struct.unpack("!H", packet[6:8])[0] for packet in translated_packets] == [0, DF]
    assert all(checksum(packet[:20]) == 0 for packet in translated_packets)
    assert all(checksum(pseudo(packet, UDP) + packet[20:]) == 0 for packet in translated_packets)


@pytest.mark.parametrize(("kind4", "kind6"), [(8, 128), (0, 129)])
def test_echoes_both_ways(translated: Translated, kind4: int, kind6: int) -> None:
    echo = struct.pack("!HHH", 0, 5, 6) + b"payload"
    in4 = sealed(to_known4(bytes([kind4, 0]) + echo, ICMP), ICMP, 2)
    in6 = sealed(to_known6(bytes([kind6, 0]) + echo, ICMPV6, hop_limit=63), ICMPV6, 2)
    assert translated([in4]) == [("translated", "to-ipv6", [in6])]
    in6 = sealed(from_known6(bytes([kind6, 0]) + echo, ICMPV6), ICMPV6, 2)
    in4 = sealed(from_known4(bytes([kind4, 0]) + echo, ICMP, ttl=63), ICMP, 2)
    ((verdict, clause, (packet_out,)),) = translated([in6])
    assert (verdict, clause) == ("translated", "to-ipv4")
    assert without_identification(packet_out) == without_identification(in4)


def test_section_4_3_an_error_and_the_packet_in_it(translated: Translated) -> None:
    sent4 = sealed(from_known4(udp(b"data"), ttl=7, flags_and_offset=DF), UDP, 6)
    sent6 = sealed(from_known6(udp(b"data"), hop_limit=7), UDP, 6)
    for code4, code6 in ((0, 0), (1, 0), (3, 4), (13, 1)):
        error4 = sealed(to_known4(struct.pack("!BBHI", 3, code4, 0, 0) + sent4, ICMP), ICMP, 2)
        error6 = sealed(to_known6(struct.pack("!BBHI", 1, code6, 0, 0) + sent6, ICMPV6, hop_limit=63), ICMPV6, 2)
        assert translated([error4]) == [("translated", "error-to-ipv6", [error6])]


@pytest.mark.parametrize(
    ("message", "options", "expected"),
    [(1300, (), 1320), (1480, (), 1500), (1500, (), 1500), (1000, (), 1280), (1400, ("--mtu6", "1410"), 1410)],
)
def test_section_4_2_fragmentation_needed(
    translated: Translated, message: int, options: tuple[str, ...], expected: int
) -> None:
    sent4, sent6 = (
        sealed(make(udp(bytes(1400)), **fields), UDP, 6)
        for make, fields in ((from_known4, {"flags_and_offset": DF}), (from_known6, {}))
    )
    quoted4, quoted6 = sent4[:200], sent6[:220]
    error4 = sealed(to_known4(struct.pack("!BBHHH", 3, 4, 0, 0, message) + quoted4, ICMP), ICMP, 2)
    error6 = struct.pack("!BBHI", 2, 0, 0, expected) + quoted6
    error6 = sealed(to_known6(error6, ICMPV6, hop_limit=63), ICMPV6, 2)
    assert translated([error4], *options) == [("translated", "error-to-ipv6", [error6])]


@pytest.mark.parametrize(("message", "options", "expected"), [(1320, (), 1300), (1400, ("--mtu4", "1370"), 1370)])
def test_section_5_2_packet_too_big(
    translated: Translated, message: int, options: tuple[str, ...], expected: int
) -> None:
    sent6 = sealed(to_known6(udp(bytes(1400)), hop_limit=3), UDP, 6)
    sent4 = sealed(to_known4(udp(bytes(1400)), ttl=3, flags_and_offset=DF), UDP, 6)
    error6 = sealed(from_known6(struct.pack("!BBHI", 2, 0, 0, message) + sent6[:500], ICMPV6), ICMPV6, 2)
    ((verdict, clause, (packet_out,)),) = translated([error6], *options)
    assert (verdict, clause, len(packet_out)) == ("translated", "error-to-ipv4", 20 + 8 + 480)
    assert (packet_out[20:22], packet_out[26:28], checksum(packet_out[20:])) == (
        b"\3\4",
        struct.pack("!H", expected),
        0,
    )
    quoted = packet_out[28:]
    assert quoted[:4] + quoted[6:10] + quoted[12:] == (sent4[:4] + sent4[6:10] + sent4[12:])[:476]
    assert checksum(quoted[:20]) == 0


def test_section_4_a_packet_without_df_is_cut_for_every_link(translated: Translated) -> None:
    before = sealed(to_known4(udp(bytes(1400)), identification=0x1234), UDP, 6)
    whole = sealed(to_known6(udp(bytes(1400)), hop_limit=63), UDP, 6)[40:]
    room = 1280 - 48
    pieces = [
        to_known6(fragment_header(UDP, 0, True, 0x1234) + whole[:room], 44, hop_limit=63),
        to_known6(fragment_header(UDP, room, False, 0x1234) + whole[room:], 44, hop_limit=63),
    ]
    assert translated([before]) == [("translated", "fragmented", pieces)]
    ((_, clause, packets),) = translated([before], "--lowest-ipv6-mtu", "1500")
    assert (clause, packets) == ("to-ipv6", [to_known6(whole, hop_limit=63)])


def test_fragments_both_ways(translated: Translated) -> None:
    in4 = to_known4(bytes(800), identification=77, flags_and_offset=MORE | 100)
    in6 = to_known6(fragment_header(UDP, 800, True, 77) + bytes(800), 44, hop_limit=63)
    assert translated([in4]) == [("translated", "fragment-to-ipv6", [in6])]
    in6 = from_known6(fragment_header(UDP, 1600, False, 0xABCD0042) + bytes(80), 44)
    in4 = from_known4(bytes(80), ttl=63, identification=0x42, flags_and_offset=200)
    assert translated([in6]) == [("translated", "fragment-to-ipv4", [in4])]


def test_section_4_5_udp_without_a_checksum(translated: Translated) -> None:
    before = to_known4(udp(b"data"))
    assert translated([before]) == [("dropped", "zero-checksum", [])]
    after = sealed(to_known6(udp(b"data"), hop_limit=63), UDP, 6)
    assert translated([before], "--zero-checksum", "compute") == [("translated", "checksum-computed", [after])]


def test_errors_of_its_own_come_out_too(translated: Translated) -> None:
    late4, late6 = to_known4(udp(b"x" * 8), ttl=1), from_known6(udp(b"x" * 8), hop_limit=1)
    long4 = sealed(to_known4(udp(bytes(1473)), flags_and_offset=DF), UDP, 6)
    long6 = sealed(from_known6(udp(bytes(1453))), UDP, 6)
    actual_translated = translated([late4, late6, long4, long6], "--mtu4", "1480")
    assert [(verdict, clause) for verdict, clause, _ in actual_translated] == [
        ("answered", "hop-limit"),
        ("answered", "hop-limit"),
        ("answered", "fragmentation-needed"),
        ("answered", "packet-too-big"),
    ]
    answers = [answer for _, _, (answer,) in actual_translated]
    for answer in answers[0::2]:
        assert (answer[12:16], answer[16:20]) == (IPv4Address(OWN4).packed, IPv4Address(HOST4).packed)
        assert (checksum(answer[:20]), checksum(answer[20:])) == (0, 0)
    for answer in answers[1::2]:
        assert (answer[8:24], answer[24:40]) == (IPv6Address(OWN6).packed, IPv6Address(KNOWN6).packed)
        assert checksum(pseudo(answer, ICMPV6) + answer[40:]) == 0
    assert [answers[0][20], answers[1][40], answers[2][20], answers[3][40]] == [11, 3, 3, 2]
    assert (answers[0][28:], answers[1][48:]) == (late4, late6)
    assert (answers[2][26:28], answers[3][44:48]) == (struct.pack("!H", 1480), struct.pack("!I", 1500))


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
    ],
)
def test_rfc_6052_prefixes_of_every_length(tmp_path: Path, sixbench: Command, prefix: str, expected: str) -> None:
    packet = sealed(ipv4(udp(b"data"), source="192.0.2.33", destination="192.0.2.33"), UDP, 6)
    (tmp_path / "in.pcap").write_bytes(pcap([packet]))
    done = sixbench("translate", "siit", "--prefix", prefix, "--in", tmp_path / "in.pcap", "--json")
    (out,) = json.loads(done.stdout)["out"]
    assert out["source"] == out["destination"] == str(IPv6Address(expected))


def test_several_prefixes_and_mappings(translated: Translated) -> None:
    options = ("--prefix", "2001:db8:64::/96", "--eam", "203.0.113.16/28=2001:db8:aaaa::/64")
    packet = sealed(
        ipv6(udp(b"data"), source="2001:db8:aaaa::7000:0:0:0", destination="2001:db8:64::198.51.100.2"), UDP, 6
    )
    # The four bits behind the mapping's prefixes are the host's in both: RFC 7757 section 3.2.
    after = sealed(ipv4(udp(b"data"), source="203.0.113.23", destination=HOST4, ttl=63), UDP, 6)
    ((verdict, _, (packet_out,)),) = translated([packet], *options)
    assert (verdict, without_identification(packet_out)) == ("translated", without_identification(after))


def test_denied_addresses_and_who_is_told(translated: Translated) -> None:
    packet = sealed(to_known4(udp(b"data")), UDP, 6)
    deny = ("--deny", "198.51.100.0/24")
    assert translated([packet], *deny) == [("dropped", "denied", [])]
    assert translated([packet], "--deny", "198.51.100.3")[0][0] == "translated"
    ((verdict, clause, (answer,)),) = translated([packet], *deny, "--tell", "denied")
    assert (verdict, clause, answer[20:22], answer[28:]) == ("answered", "denied", b"\3\x0d", packet)
    assert answer[12:20] == IPv4Address(OWN4).packed + IPv4Address(HOST4).packed


@pytest.mark.parametrize(
    ("prefix", "destination", "clause", "option"),
    [
        ("64:ff9b::/96", "10.0.0.1", "non-global", "--allow-private"),
        (PREFIX, "240.0.0.1", "not-unicast", "--allow-reserved"),
    ],
)
def test_addresses_that_have_to_be_allowed(
    tmp_path: Path, sixbench: Command, prefix: str, destination: str, clause: str, option: str
) -> None:
    packet = sealed(ipv4(udp(b"data"), source="192.0.2.1", destination=destination), UDP, 6)
    (tmp_path / "in.pcap").write_bytes(pcap([packet]))
    arguments = ("--prefix", prefix, "--eam", f"{KNOWN4}/32={KNOWN6}/128", "--in", tmp_path / "in.pcap", "--json")
    refused, allowed = (
        json.loads(sixbench("translate", "siit", *arguments, *options).stdout) for options in ((), (option,))
    )
    assert (refused["verdict"], refused["clause"], refused["out"]) == ("dropped", clause, [])
    embedded = IPv6Address(int(IPv6Address(prefix.removesuffix("/96"))) + int(IPv4Address(destination)))
    assert (allowed["verdict"], allowed["out"][0]["destination"]) == ("translated", str(embedded))


def test_rfc_6791_errors_of_routers_that_nothing_maps(translated: Translated) -> None:
    sent6 = sealed(to_known6(udp(b"data"), hop_limit=1), UDP, 6)
    late6 = ipv6(struct.pack("!BBHI", 3, 0, 0, 0) + sent6, source="2001:db8:99::1", destination=HOST6, protocol=ICMPV6)
    late6 = sealed(late6, ICMPV6, 2)
    sources = [
        packet[12:16]
        for options in ((), ("--error-pool4", "203.0.113.77"), ("--error-pool4", "203.0.113.0/24"))
        for _, _, (packet,) in translated([late6], *options)
    ]
    assert sources[:2] == [IPv4Address(OWN4).packed, IPv4Address("203.0.113.77").packed]
    assert sources[2][:3] == IPv4Address("203.0.113.0").packed[:3]
    sent4 = sealed(from_known4(udp(b"data"), ttl=1), UDP, 6)
    late4 = ipv4(struct.pack("!BBHI", 11, 0, 0, 0) + sent4, source="10.9.9.9", destination=KNOWN4, protocol=ICMP)
    late4, deny = sealed(late4, ICMP, 2), ("--deny", "10.0.0.0/8")
    for options, source in (((), OWN6), (("--error-pool6", "2001:db8:aa::7"), "2001:db8:aa::7")):
        ((verdict, clause, (packet,)),) = translated([late4], *deny, *options)
        assert (verdict, clause, packet[8:24]) == ("translated", "error-to-ipv6", IPv6Address(source).packed)
        assert checksum(pseudo(packet, ICMPV6) + packet[40:]) == 0


@pytest.mark.parametrize(
    ("options", "expected"), [((), 1280), (("--plateaus", "1400,1300,68"), 1420), (("--plateaus", "1300,68"), 1320)]
)
def test_rfc_1191_plateaus_for_routers_that_tell_no_mtu(
    translated: Translated, options: tuple[str, ...], expected: int
) -> None:
    sent4 = sealed(from_known4(udp(bytes(1400)), flags_and_offset=DF), UDP, 6)
    error4 = sealed(to_known4(struct.pack("!BBHHH", 3, 4, 0, 0, 0) + sent4[:100], ICMP), ICMP, 2)
    ((_, _, (packet,)),) = translated([error4], *options)
    assert (packet[40], struct.unpack("!I", packet[44:48])[0]) == (2, expected)


def test_what_is_written_into_headers(translated: Translated) -> None:
    in4, in6 = sealed(to_known4(udp(b"data"), tos=0xFF), UDP, 6), sealed(from_known6(udp(b"data")), UDP, 6)
    options = ("--tos", "8", "--traffic-class", "17", "--no-hop")
    out6, out4 = (packet for _, _, (packet,) in translated([in4, in6], *options))
    assert (out6[0] << 4 & 0xF0 | out6[1] >> 4, out6[7]) == (17, 64)
    assert (out4[1], out4[8], checksum(out4[:20])) == (8, 64, 0)


def test_identifications_by_a_seed(translated: Translated) -> None:
    packets = [sealed(from_known6(udp(b"data")), UDP, 6)] * 50
    counted, seeded, again, other = (
        [struct.unpack("!H", packet[4:6])[0] for _, _, (packet,) in translated(packets, *options)]
        for options in ((), *(("--identification-seed", seed) for seed in ("7", "7", str(2**64 - 1))))
    )
    assert counted == list(range(1, 51))
    assert seeded == again
    assert len({tuple(counted), tuple(seeded), tuple(other)}) == 3
    assert len(set(seeded)) == 50


def test_udp_without_a_checksum_goes_on_where_it_may(translated: Translated) -> None:
    ((verdict, _, packets),) = translated([to_known4(udp(b"data"))], "--zero-checksum", "forward")
    assert (verdict, packets) == ("translated", [to_known6(udp(b"data"), hop_limit=63)])


def test_rfc_7757_hosts_of_the_table_reach_each_other(translated: Translated) -> None:
    other4, other6 = "192.0.2.9", "2001:db8::9"
    options = ("--eam", f"{other4}/32={other6}/128")
    there = sealed(ipv6(udp(b"data"), source=KNOWN6, destination=f"64:ff9b:1::{other4}"), UDP, 6)
    after = sealed(ipv6(udp(b"data"), source=f"64:ff9b:1::{KNOWN4}", destination=other6, hop_limit=63), UDP, 6)
    assert translated([there], *options, "--hairpin") == [("translated", "hairpin", [after])]
    assert translated([there], *options)[0][1] == "to-ipv4"


def test_a_table_alone_and_mappings_in_one_another(tmp_path: Path, sixbench: Command) -> None:
    packet = sealed(ipv4(udp(b"data"), source="192.0.2.1", destination="192.0.2.2"), UDP, 6)
    (tmp_path / "in.pcap").write_bytes(pcap([packet]))
    wide, narrow = "192.0.2.0/24=2001:db8:1::/120", "192.0.2.2/32=2001:db8:2::2/128"
    arguments = ("translate", "siit", "--in", tmp_path / "in.pcap", "--json", "--eam", wide)
    (out,) = json.loads(sixbench(*arguments).stdout)["out"]
    assert (out["source"], out["destination"]) == ("2001:db8:1::1", "2001:db8:1::2")
    refused = sixbench(*arguments, "--eam", narrow)
    assert (refused.exit, "RFC 7757" in refused.stderr) == (2, True)
    (out,) = json.loads(sixbench(*arguments, "--eam", narrow, "--overlapping").stdout)["out"]
    assert (out["source"], out["destination"]) == ("2001:db8:1::1", "2001:db8:2::2")


@pytest.mark.parametrize(
    ("packet", "clause"),
    [
        (from_known6(udp(b"data"))[:-1], "malformed"),
        (ipv6(udp(b"data"), source="2001:db8:5::1", destination=HOST6), "no-mapping"),
        (ipv4(udp(b"data"), source=HOST4, destination="224.0.0.1"), "not-unicast"),
        (from_known6(struct.pack("!BBHI", 135, 0, 0, 0), ICMPV6), "malformed"),
        (sealed(from_known6(struct.pack("!BBHI", 135, 0, 0, 0), ICMPV6), ICMPV6, 2), "untranslated-icmp"),
        (to_known4(struct.pack("!BBHI", 8, 0, 0, 0), ICMP, flags_and_offset=MORE), "fragmented-icmp"),
        (b"", "malformed"),
    ],
)
def test_what_goes_no_further_has_its_rule(translated: Translated, packet: bytes, clause: str) -> None:
    assert translated([packet]) == [("dropped", clause, [])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prefix", "2001:db8::/80"], "has none of the lengths 32, 40, 48, 56, 64 and 96 (RFC 6052 section 2.2)"),
        (["--prefix", PREFIX, "--prefix", "nothing"], '--prefix: "nothing" is not an IPv6 prefix, such as'),
        (["--prefix", PREFIX, "--eam", "192.0.2.1/32"], "is not IPV4/N=IPV6/M, such as"),
        (["--prefix", PREFIX, "--eam", "192.0.2.1/24=::/64"], "is not an IPv4 prefix"),
        (["--prefix", PREFIX, "--eam", "192.0.2.0/24=2001:db8::/128"], "RFC 7757"),
        (["--prefix", PREFIX, "--zero-checksum", "keep"], '"keep" is not one of drop, compute, forward'),
        (["--prefix", PREFIX, "--lowest-ipv6-mtu", "1279"], "is not a number from 1280 to 65535"),
        (["--prefix", PREFIX, "--mtu4", "67"], "is not a number from 68 to 65535"),
        (["--prefix", PREFIX, "--own4", "::1"], '--own4: "::1" is not an IPv4 address'),
        (["--prefix", PREFIX, "--deny", "192.0.2.1/24"], '--deny: "192.0.2.1/24" is not an IPv4 prefix or address'),
        (["--prefix", PREFIX, "--error-pool4", "224.0.0.0/4"], "has addresses that no host may have"),
        (["--prefix", PREFIX, "--error-pool6", "192.0.2.1"], "is not an IPv6 prefix or address"),
        (["--prefix", PREFIX, "--plateaus", "1500,"], '--plateaus: "" is not a number from 1 to 65535'),
        (["--prefix", PREFIX, "--traffic-class", "256"], "is not a number from 0 to 255"),
        (["--prefix", PREFIX, "--identification-seed", str(2**64)], "is not a number from 0 to"),
        (["--prefix", PREFIX, "--tell", "rudely"], 'sixbench: there is no rule "rudely"\n'),
        (["--prefix", PREFIX, "--tell", "malformed"], "no source is informed by malformed"),
        ([], "there is no prefix for IPv4 addresses (RFC 6052)"),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, sixbench: Command, options: list[str], message: str) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([]))
    done = sixbench("translate", "siit", *options, "--in", tmp_path / "in.pcap", "--json")
    assert (done.exit, done.stdout) == (2, "")
    assert message in done.stderr

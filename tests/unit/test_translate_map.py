"""`sixbench translate map-t` with the real agent: a packet from a customer edge to the border relay and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest
from ip_packets import datagram, ipv4, pcap
from packets_through import packets_through

pytestmark = pytest.mark.computes

Command = Callable[..., Any]
Through = Callable[..., list[tuple[str, str, list[bytes]]]]

RULE = ("--rule-prefix", "2001:db8::/40", "--rule-ipv4", "192.0.2.0/24", "--ea-bits", "16")
"""RFC 7597 appendix A, example 1."""
OPTIONS = (*RULE, "--dmr-prefix", "64:ff9b:1::/96", "--no-hop")
EDGE = ("--ce", "2001:db8:12:3400::/56")
MAP_ADDRESS = IPv6Address("2001:db8:12:3400:0:c000:212:34")
SHARED, OUTSIDE = "192.0.2.18", "198.51.100.2"


@pytest.fixture
def through(tmp_path: Path, sixbench: Command) -> Through:
    """Verdict, rule and packets out of each packet that goes in."""

    def run(packets: Sequence[bytes], *options: str) -> list[tuple[str, str, list[bytes]]]:
        return packets_through(sixbench, tmp_path, ("map-t", *OPTIONS, *options), packets)

    return run


def sent(source: str, destination: str, ports: tuple[int, int]) -> bytes:
    """A packet over IPv4."""
    payload = datagram(IPv4Address(source), IPv4Address(destination), ports)
    return ipv4(payload, source=source, destination=destination, identification=1)


def test_what_an_edge_sends_the_border_relay_takes_and_answers(through: Through) -> None:
    [(verdict, clause, [carried])] = through([sent(SHARED, OUTSIDE, (1232, 53))], *EDGE)
    assert (verdict, clause) == ("translated", "to-ipv6")
    embedded = IPv6Address("64:ff9b:1::c633:6402")
    assert carried[8:40] == MAP_ADDRESS.packed + embedded.packed
    assert carried[40:] == datagram(MAP_ADDRESS, embedded, (1232, 53))
    assert through([carried]) == [("translated", "to-ipv4", [sent(SHARED, OUTSIDE, (1232, 53))])]
    [(_, _, [answer])] = through([sent(OUTSIDE, SHARED, (53, 1232))])
    assert answer[8:40] == embedded.packed + MAP_ADDRESS.packed
    assert through([answer], *EDGE) == [("translated", "to-ipv4", [sent(OUTSIDE, SHARED, (53, 1232))])]


def test_a_border_relay_turns_packets_between_customer_edges_back(through: Through) -> None:
    """It uses the addresses that both have outside, so that the answer comes back the same way."""
    other = ("--rule", "2001:db8:ff00::/48,203.0.113.0/24,16,6", "--hairpin")
    [(_, _, [carried])] = through([sent(SHARED, "203.0.113.18", (1232, 1232))], *EDGE)
    [(verdict, clause, [back])] = through([carried], *other)
    assert (verdict, clause) == ("translated", "hairpin")
    assert back[8:24] == IPv6Address("64:ff9b:1::c000:212").packed
    assert back[24:40] == IPv6Address("2001:db8:ff00:1234::cb00:7112:34").packed
    answer = ipv6_answer(back)
    [(_, _, [answered])] = through([answer], *other)
    assert (answered[8:24], answered[24:40]) == (carried[24:40], carried[8:24])
    # A port that no customer edge has.
    [(_, _, [nobodys])] = through([sent(SHARED, "203.0.113.18", (1232, 80))], *EDGE)
    assert through([nobodys], *other) == [("dropped", "port-set", [])]
    assert through([carried], *other[:2]) == [("translated", "to-ipv4", [sent(SHARED, "203.0.113.18", (1232, 1232))])]


def ipv6_answer(packet: bytes) -> bytes:
    """The same datagram the other way: its ports are the same, and sums do not depend on the order."""
    return packet[:8] + packet[24:40] + packet[8:24] + packet[40:]


def test_ports_of_others_are_dropped(through: Through) -> None:
    assert through([sent(SHARED, OUTSIDE, (1236, 53))], *EDGE) == [("dropped", "port-set", [])]
    assert through([sent(OUTSIDE, SHARED, (53, 80))]) == [("dropped", "port-set", [])]
    [(_, _, [carried])] = through([sent(SHARED, OUTSIDE, (1232, 53))], *EDGE)
    spoofed = carried[:40] + datagram(MAP_ADDRESS, IPv6Address(carried[24:40]), (1236, 53))
    assert through([spoofed]) == [("dropped", "not-by-rule", [])]


def test_edges_in_a_mesh_need_no_border_relay(through: Through) -> None:
    between = sent(SHARED, SHARED, (1232, 1236))
    [(_, _, [carried])] = through([between], *EDGE, "--mesh")
    assert IPv6Address(carried[24:40]) == IPv6Address("2001:db8:12:3500:0:c000:212:35")
    assert through([carried], "--ce", "2001:db8:12:3500::/56", "--mesh") == [("translated", "to-ipv4", [between])]


def test_a_prefix_of_more_than_64_bits_takes_the_first_bits_of_the_interface_identifier(through: Through) -> None:
    rule = ("--rule-prefix", "2001:db8:0:5::/64", "--ea-bits", "16")
    [(_, _, [carried])] = through([sent(SHARED, OUTSIDE, (1232, 53))], *rule, "--ce", "2001:db8:0:5:1234::/80")
    assert IPv6Address(carried[8:24]) == IPv6Address("2001:db8:0:5:1234:c000:212:34")
    assert through([carried], *rule) == [("translated", "to-ipv4", [sent(SHARED, OUTSIDE, (1232, 53))])]


def test_a_domain_has_several_rules_and_edges_with_an_ipv4_prefix(through: Through) -> None:
    rules = ("--rule", "2001:db9::/40,203.0.113.0/24,4", "--rule", "2001:dba::/40,203.0.114.0/24,16,4")
    text = "203.0.113.83"
    packet, answer = sent(text, OUTSIDE, (80, 53)), sent(OUTSIDE, text, (53, 80))
    edge = ("--ce", "2001:db9:50::/44")
    [(_, _, [carried])] = through([packet], *rules, *edge)
    assert IPv6Address(carried[8:24]) == IPv6Address("2001:db9:50:0:0:cb00:7153:0")
    [(verdict, _, [packet_out])] = through([carried], *rules)
    assert (verdict, packet_out) == ("translated", packet)
    [(_, _, [carried])] = through([answer], *rules)
    [(verdict, _, [packet_out])] = through([carried], *rules, *edge)
    assert (verdict, packet_out) == ("translated", answer)
    [(_, _, [carried])] = through([sent(OUTSIDE, "203.0.114.1", (53, 4096))], *rules)
    assert IPv6Address(carried[24:40]) == IPv6Address("2001:dba:1::cb00:7201:0")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--psid-offset", "9"), "leaves no ports"),
        (("--dmr-prefix", "2001:db8:77::/64"), "of the Default Mapping Rule overlaps the rule prefix 2001:db8::/40"),
        (("--rule-ipv4", "224.0.0.0/24"), "the IPv4 prefix 224.0.0.0/24 is for no hosts; give another one"),
        (("--rule-prefix", "ff02::/40"), "the rule prefix ff02::/40 is for no hosts; give another one"),
        (("--rule", "ff05::/40,198.51.100.0/24,16"), "the rule prefix ff05::/40 is for no hosts"),
        (("--rule-ipv4", "240.0.0.0/24"), "the IPv4 prefix 240.0.0.0/24 is for no hosts"),
        (("--rule", "2001:db8::/40,203.0.113.0/24,16"), "two rules have the Rule IPv6 prefix 2001:db8::/40"),
        (("--rule", "2001:db8:100::/40,192.0.2.0/24,16"), "two rules have the Rule IPv4 prefix 192.0.2.0/24"),
        (("--rule", "2001:db8:100::/40,192.0.2.0/24"), "is not PREFIX,IPV4/N,EA-BITS[,OFFSET]"),
        (("--ce", "2001:db8:12:3400::/57"), "is the prefix of no customer edge: one has 56 bits"),
        (("--dmr-prefix", "64:ff9b::/95"), "has none of the lengths"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(
    sixbench: Command, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([]))
    done = sixbench("translate", "map-t", *OPTIONS, *options, "--in", tmp_path / "in.pcap", "--explain")
    assert done.exit == 2
    assert words in " ".join(done.stderr.split())

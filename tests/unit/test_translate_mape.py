"""`sixbench translate map-e` with the real agent: a packet from a customer edge to the border relay and back."""

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

OPTIONS = (
    "--rule-prefix",
    "2001:db8::/40",
    "--rule-ipv4",
    "192.0.2.0/24",
    "--ea-bits",
    "16",
    "--br",
    "2001:db8:ffff::1",
)
"""RFC 7597 appendix A, example 1."""
EDGE = ("--ce", "2001:db8:12:3400::/56")
MAP_ADDRESS, RELAY = IPv6Address("2001:db8:12:3400:0:c000:212:34"), IPv6Address("2001:db8:ffff::1")
SHARED, OUTSIDE = "192.0.2.18", "198.51.100.2"


@pytest.fixture
def through(tmp_path: Path, sixbench: Command) -> Through:
    """Verdict, rule and packets out of each packet that goes in."""

    def run(packets: Sequence[bytes], *options: str) -> list[tuple[str, str, list[bytes]]]:
        as_it_is = () if "--ce" in options else ("--no-hop",)
        return packets_through(sixbench, tmp_path, ("map-e", *OPTIONS, *as_it_is, *options), packets)

    return run


def sent(source: str, destination: str, ports: tuple[int, int]) -> bytes:
    """A datagram over IPv4."""
    payload = datagram(IPv4Address(source), IPv4Address(destination), ports)
    return ipv4(payload, source=source, destination=destination, identification=1)


def test_what_an_edge_sends_the_border_relay_takes_and_answers(through: Through) -> None:
    packet, answer = sent(SHARED, OUTSIDE, (1232, 53)), sent(OUTSIDE, SHARED, (53, 1232))
    [(verdict, rule, [carried])] = through([packet], *EDGE)
    assert (verdict, rule) == ("translated", "encapsulated")
    assert carried[8:40] == MAP_ADDRESS.packed + RELAY.packed
    assert through([carried]) == [("translated", "decapsulated", [packet])]
    [(_, _, [carried])] = through([answer])
    assert carried[8:40] == RELAY.packed + MAP_ADDRESS.packed
    assert through([carried], *EDGE) == [("translated", "decapsulated", [answer])]


def test_ports_of_others_are_dropped(through: Through) -> None:
    assert through([sent(SHARED, OUTSIDE, (1236, 53))], *EDGE) == [("dropped", "inner-source-mismatch", [])]
    assert through([sent(OUTSIDE, SHARED, (53, 80))]) == [("dropped", "no-mapping", [])]
    [(_, _, [carried])] = through([sent(SHARED, OUTSIDE, (1232, 53))], *EDGE)
    assert through([carried[:40] + sent(SHARED, OUTSIDE, (1236, 53))]) == [("dropped", "inner-source-mismatch", [])]


def test_edges_in_a_mesh_need_no_border_relay(through: Through) -> None:
    between = sent(SHARED, SHARED, (1232, 1236))
    [(_, _, [carried])] = through([between], *EDGE, "--mesh")
    assert IPv6Address(carried[24:40]) == IPv6Address("2001:db8:12:3500:0:c000:212:35")
    assert through([carried], "--ce", "2001:db8:12:3500::/56", "--mesh") == [("translated", "decapsulated", [between])]


def test_a_domain_has_several_rules_and_edges_with_an_ipv4_prefix(through: Through) -> None:
    rules = ("--rule", "2001:db9::/40,203.0.113.0/24,4", "--rule", "2001:dba::/40,203.0.114.0/24,16,4")
    text = "203.0.113.83"
    packet, answer = sent(text, OUTSIDE, (80, 53)), sent(OUTSIDE, text, (53, 80))
    edge = ("--ce", "2001:db9:50::/44")
    [(_, _, [carried])] = through([packet], *rules, *edge)
    assert IPv6Address(carried[8:24]) == IPv6Address("2001:db9:50:0:0:cb00:7150:0")
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
        (("--br", "2001:db8:12:3400::1"), "the border relay's address 2001:db8:12:3400::1 is in 2001:db8::/40"),
        (("--br", "2001:db8:12:3400::1", *EDGE), "is in 2001:db8:12:3400::/56, which customer edges have"),
        (("--rule-ipv4", "127.0.0.0/24"), "the IPv4 prefix 127.0.0.0/24 is for no hosts; give another one"),
        (("--mtu4", "576", *EDGE), "--mtu4 is not for a customer edge"),
        (("--no-hop", *EDGE), "--no-hop is not for a customer edge"),
        (("--rule", "2001:db8::/40,203.0.113.0/24,16"), "two rules have the Rule IPv6 prefix 2001:db8::/40"),
        (("--ce", "2001:db8:12:3400::/57"), "is the prefix of no customer edge: one has 56 bits"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(
    sixbench: Command, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([]))
    done = sixbench("translate", "map-e", *OPTIONS, *options, "--in", tmp_path / "in.pcap", "--explain")
    assert done.exit == 2
    assert words in " ".join(done.stderr.split())

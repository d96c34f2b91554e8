"""Refusals of `sixbench translate --engine`, the place in its network that a packet comes from, and meanings of
counters."""

from __future__ import annotations

from typing import Any

import pytest
from ip_packets import ipv4, ipv6

from sixbench.model.errors import UsageError
from sixbench.model.observation import CountersAnswer, InterfaceCounters, PacketCount, TranslatorState
from sixbench.translate.engines import carrying
from sixbench.translate.mechanisms import PACKET_MECHANISMS
from sixbench.translate.mechanisms.nat64 import hosts_of
from sixbench.translate.passing.counted import DeviceCounts, SlowPathBacklog, of_translator
from sixbench.translate.passing.translators import translator_network
from sixbench.translate.passing.tunnels import tunnel_network

pytestmark = pytest.mark.computes

LOCAL, REMOTE = "192.0.2.1", "192.0.2.2"
SIIT = {"prefix": ["2001:db8:64::/96"]}
MAP = {"rule-prefix": "2001:db8::/40", "rule-ipv4": "192.0.2.0/24", "ea-bits": 16, "br": "2001:db8:b::1"}
NAT64 = {"prefix": ["64:ff9b::/96"], "pool": [{"net": "192.0.2.0/28", "first": 1024, "last": 65535}]}


@pytest.mark.parametrize(
    ("engine", "mechanism", "given", "message"),
    [
        ("bpf", "siit", SIIT, '--engine "bpf": it is one of user, ebpf, tayga'),
        ("ebpf", "siit", {**SIIT, "hop": False}, "--engine ebpf: --no-hop: a node takes one from the hop limit"),
        ("ebpf", "siit", {**SIIT, "traffic-class": 3}, "--engine ebpf: --traffic-class: "),
        ("ebpf", "map-e", MAP, "has a tunnel for each customer edge, and these are 65536, over 64"),
        ("ebpf", "map-e", {**MAP, "ce": "2001:db8:12:3400::/56", "mesh": True}, "and --mesh asks for more"),
        (
            "ebpf",
            "nat64",
            {**NAT64, "seed": 1},
            "Linux's connection tracking, which has no --seed; --engine user does it",
        ),
        ("ebpf", "nat64", {**NAT64, "udp-timeout": 9}, "Linux's connection tracking, which has no --udp-timeout"),
        ("ebpf", "nat64", {**NAT64, "pool": NAT64["pool"] * 2}, "its NAT44 has one --pool, and these are 2"),
        ("tayga", "siit", {**SIIT, "zero-checksum": "drop"}, "tayga.conf has no setting for --zero-checksum"),
        ("tayga", "siit", {"eam": [["192.0.2.1/32", "2001:db8::1/128"]]}, "--engine tayga: tayga has one --prefix"),
        ("tayga", "nat64", NAT64, "--engine tayga: tayga is a translator without state"),
    ],
)
def test_what_an_engine_cannot_is_said(engine: str, mechanism: str, given: dict[str, Any], message: str) -> None:
    [kind] = [kind for kind in PACKET_MECHANISMS if kind.name == mechanism]
    with pytest.raises(UsageError) as caught, carrying(kind, given, engine, []):
        pass
    assert str(caught.value).startswith(message) or message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_hosts_of_a_nat64_are_the_sources_of_its_capture() -> None:
    """Not those of ICMPv6 errors, which any router sends."""
    error, echo = (ipv6(bytes([kind, 0, 0, 0]), source=f"2001:db8::{kind}", protocol=58) for kind in (3, 128))
    first_ipv6, other = (ipv6(b"", source=f"2001:db8::{number}") for number in (1, 2))
    hosts = hosts_of([ipv4(b""), other, error, first_ipv6, echo, other, b"", first_ipv6[:30]])
    assert [str(host) for host in hosts] == ["2001:db8::2", "2001:db8::1", "2001:db8::128"]


def test_a_packet_comes_from_the_side_to_which_it_belongs() -> None:
    translator = translator_network("siit", {"prefixes": ["2001:db8:64::/96"]}, hosts_are=6)
    assert [translator.side_of(item) for item in (ipv4(b""), ipv6(b""), b"", b"\x10")] == ["near", "far", None, None]
    cut = [packet[:length] for packet in (ipv4(b""), ipv6(b"")) for length in range(len(packet))]
    assert {translator.side_of(item) for item in cut} == {None}
    fields = {"device": "t", "mtu_bytes": 1480, "local": LOCAL, "mapping": {"kind": "fixed", "remote": REMOTE}}
    fields |= {"ttl": 64, "tos": "inherit", "ecn": True, "pmtu": "static", "outer": "ipv4"}
    sixinfour = tunnel_network({**fields, "payload": "ipv6"}, {})
    assert [sixinfour.side_of(item) for item in (ipv4(b""), ipv6(b""))] == ["far", "near"]
    gre = tunnel_network({**fields, "payload": "gre"}, {})
    packets = ipv4(b""), ipv4(b"", destination=LOCAL), ipv6(b"")
    assert [gre.side_of(packet) for packet in packets] == ["near", "far", "near"]


def counted(outcomes: dict[str, int], node: dict[str, int], handed: int = 0) -> DeviceCounts:
    return DeviceCounts(outcomes=outcomes, handed=handed, done=None, node=node, passed={}, is_still=True)


@pytest.mark.parametrize(
    ("outcomes", "node", "verdict", "reason", "words"),
    [
        ({"way to-ipv6": 8}, {}, "translated", "to-ipv6", "The program in the kernel did it (fast path): to-ipv6."),
        (
            {"way to-ipv6": 8, "slow fragmented": 3},
            {},
            "translated",
            "fragmented",
            "User space did it (slow path): fragmented.",
        ),
        ({"dropped denied": 1}, {}, "dropped", "denied", "The device dropped it: denied."),
        ({"waits": 1}, {}, "waits", "fragment-waits", "It waits in user space for another fragment of its packet."),
        (
            {},
            {"Ip.ReasmReqds": 1},
            "waits",
            "fragment-waits",
            "The device's node kept it for reassembly, and not the device: Ip.ReasmReqds.",
        ),
        (
            {"way to-ipv6": 8, "slow error-to-ipv4": 3},
            {"Icmp6.OutTimeExcds": 1},
            "answered",
            "node",
            "User space did it (slow path): error-to-ipv4. "
            "The device's node answered, and not the device: Icmp6.OutTimeExcds.",
        ),
        ({}, {}, None, "node", "Neither the device nor its node has counted it."),
    ],
)
def test_counters_say_what_became_of_a_packet(
    outcomes: dict[str, int], node: dict[str, int], verdict: str | None, reason: str, words: str
) -> None:
    before = counted({"way to-ipv6": 7, "slow fragmented": 2, "slow error-to-ipv4": 2}, {"Ip.InHdrErrors": 5})
    rises = counted({**before.outcomes, **outcomes}, {**before.node, **node}).risen(before)
    assert (rises.verdict, rises.reason, rises.words) == (verdict, reason, words)


NONE = PacketCount(packets=0, bytes=0)


def translator_counted(handed: int, drops: dict[str, int] | None = None, **counts: int) -> DeviceCounts:
    """A translator's counters, where that many packets were left to user space."""
    of = {name: PacketCount(packets=number, bytes=0) for name, number in counts.items()}
    state = TranslatorState(
        to_ipv6=of.get("to_ipv6", NONE),
        to_ipv4=NONE,
        slow={"fragmented": of["slow"]} if "slow" in of else {},
        answered={},
        drops={reason: PacketCount(packets=number, bytes=0) for reason, number in (drops or {}).items()},
        waiting=of.get("waiting", NONE),
    )
    others = ("rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "tx_bytes", "tx_errors", "tx_dropped")
    near = InterfaceCounters(tx_packets=handed, **dict.fromkeys(others, 0))
    return of_translator(state, CountersAnswer(interfaces={"siit-1": near}, snmp={}), ["siit-1"])


def test_the_time_of_a_fragment_is_up_while_another_packet_is_under_way() -> None:
    """The outcome of that packet is its own, and the fragment is among those that waited in vain."""
    waits = translator_counted(1, waiting=1)
    assert waits.risen(translator_counted(0)).verdict == "waits"
    after = translator_counted(1, drops={"first-fragment-missing": 1}, to_ipv6=1)
    rises = after.risen(waits)
    assert (rises.verdict, rises.reason) == ("translated", "to-ipv6")
    assert (waits.fragments_in_vain, after.fragments_in_vain, after.backlog) == (1, 1, 0)
    another = translator_counted(2, drops={"first-fragment-missing": 1}, waiting=1, to_ipv6=1)
    assert another.risen(after).verdict == "waits"
    assert translator_counted(1, drops={"first-fragment-missing": 1}).risen(waits).verdict is None


def test_a_packet_of_the_nodes_own_is_not_waited_for_twice() -> None:
    """It was in the device when the counters were read that a packet is held against."""
    backlogs = SlowPathBacklog()
    backlogs.note(translator_counted(5, slow=5))
    before = translator_counted(6, slow=5)
    backlogs.note(before)
    assert not backlogs.is_idle(translator_counted(7, slow=6))
    assert backlogs.is_idle(translator_counted(7, slow=7))
    assert backlogs.is_idle(counted({}, {}, handed=9)), "no program that tells nothing is waited for"

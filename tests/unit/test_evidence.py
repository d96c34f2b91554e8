"""What proves that a trial took its path."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sixbench.mechanisms.native import NATIVE4, NATIVE6
from sixbench.model.experiment import Experiment
from sixbench.mechanisms.kind import Mechanism
from sixbench.model.topology import Topology
from sixbench.model.workload import Traffic
from sixbench.run.evidence import Judgement, Viewpoint, judge, link_traffic, to_pcap, viewpoint

Read = Callable[[str], Experiment]
Counters = dict[str, Any]

TUNNEL = Mechanism(name="6in4", doc="", family=6, layers=("ipv4", "ipv6"), carriers=frozenset({4}))
"""IPv6 in IPv4."""


def line(read: Read, kinds: str, link: str = "mtu: 1500") -> Topology:
    """Nodes in a line, from a word such as `hrrh`; links are named by their number."""
    names = [f"{kind}{index}" for index, kind in enumerate(kinds)]
    nodes = ", ".join(f"{name}: {'host' if name[0] == 'h' else 'router'}" for name in names)
    links = ", ".join(f"{{endpoints: [{a}, {b}], name: l{i}, {link}}}" for i, (a, b) in enumerate(pairwise(names)))
    text = f"topology: {{nodes: {{{nodes}}}, links: [{links}]}}\npaths: {{a: native4}}\nworkloads: [ping]\n"
    return read(text).topologies[0]


@pytest.mark.parametrize(
    ("kinds", "link", "node", "towards_server"),
    [
        ("hh", "l0", "h1", False),
        ("hrh", "l0", "r1", False),
        ("hrrh", "l1", "r2", False),
        ("hrrrh", "l1", "r2", False),
    ],
)
def test_the_middle_link_is_seen_from_a_router(
    read: Read, kinds: str, link: str, node: str, towards_server: bool
) -> None:
    topology = line(read, kinds)
    view = viewpoint(topology, "h0", f"h{len(kinds) - 1}")
    assert (view.link.name, view.end.node, view.towards_server) == (link, node, towards_server)
    back = viewpoint(topology, f"h{len(kinds) - 1}", "h0")
    assert topology.nodes[back.end.node].kind == topology.nodes[node].kind


def packet(*kinds: str, wire_bytes: int = 100, total_bytes: int | None = None, **last: Any) -> dict[str, Any]:
    layers: list[dict[str, Any]] = [{"kind": "ethernet", "bytes": 14}]
    layers += [{"kind": kind, "bytes": 20, "total_bytes": total_bytes or wire_bytes - 14} for kind in kinds]
    layers[-1] |= last
    return {"realtime_ns": 1_760_000_000_123_456_789, "wire_bytes": wire_bytes, "layers": layers, "data": "00" * 14}


def counters(interface: str, packets: int, octets: int, ip: int = 0, ip6: int = 0) -> Counters:
    counted = {f"{way}_{what}": n for way in ("rx", "tx") for what, n in (("packets", packets), ("bytes", octets))}
    return {
        "interfaces": {interface: counted, "lo": dict.fromkeys(counted, 0)},
        "snmp": {"Ip": {"InReceives": ip}, "Ip6": {"InReceives": ip6}},
    }


TRAFFIC = Traffic(forward_payload_bytes=1000, reverse_payload_bytes=500, forward_datagrams=10)


@pytest.fixture
def view(read: Read) -> Viewpoint:
    return viewpoint(line(read, "hrrh", "rate: 1Gbit"), "h0", "h3")


def judged(
    view: Viewpoint,
    packets: list[dict[str, Any]],
    mechanism: Mechanism = NATIVE4,
    after: Counters | None = None,
    traffic: Traffic = TRAFFIC,
) -> Judgement:
    node, interface = view.end.node, view.end.name
    before = {node: counters(interface, 5, 500)}
    return judge(
        view,
        mechanism,
        {"packets": packets, "dropped": 0},
        before,
        {node: counters(interface, 105, 10_500, ip=100) if after is None else after},
        traffic,
    )


def test_a_trial_that_took_its_path(view: Viewpoint) -> None:
    found = judged(view, [packet("ipv4", "tcp"), packet("ipv4", "tcp", wire_bytes=1514)])
    assert found.invalid == []
    assert found.evidence["stacks"] == {"ipv4": 2}
    assert found.evidence["claimed"] == "ipv4"
    assert found.evidence["families"] == {"ipv4": 2, "ipv6": 0}
    assert found.evidence["max_ip_bytes"] == 1500
    assert found.evidence["packets"][0]["wire_bytes"] == 1514
    assert found.evidence["counters"][view.end.node]["interfaces"] == {
        view.end.name: {"rx_packets": 100, "tx_packets": 100, "rx_bytes": 10_000, "tx_bytes": 10_000}
    }


@pytest.mark.parametrize(
    ("mechanism", "kinds", "stack"),
    [
        (NATIVE4, ("ipv6", "tcp"), "ipv6"),
        (NATIVE6, ("ipv4", "tcp"), "ipv4"),
        (NATIVE6, ("ipv4", "ipv6", "tcp"), "ipv6 in ipv4"),
        (TUNNEL, ("ipv6", "tcp"), "ipv6"),
        (TUNNEL, ("ipv6", "ipv4", "tcp"), "ipv4 in ipv6"),
    ],
)
def test_other_packets_than_claimed_are_invalid(
    view: Viewpoint, mechanism: Mechanism, kinds: tuple[str, ...], stack: str
) -> None:
    right = packet(*mechanism.layers, "tcp")
    found = judged(view, [right, packet(*kinds)], mechanism, counters(view.end.name, 105, 10_500))
    claimed = " in ".join(reversed(mechanism.layers))
    assert found.invalid == [
        f"1 of 2 packets seen on l1 at {view.end.node} were {stack}, where {mechanism.name} claims {claimed}"
    ]


def test_a_tunnel_shows_what_it_carries(view: Viewpoint) -> None:
    found = judged(view, [packet("ipv4", "ipv6", "udp")], TUNNEL)
    assert found.invalid == []
    assert found.evidence["stacks"] == {"ipv6 in ipv4": 1}
    assert found.evidence["families"] == {"ipv4": 1, "ipv6": 0}


@pytest.mark.parametrize("type_", [130, 133, 135, 136, 143])
def test_discovery_on_the_link_says_nothing_of_the_path(view: Viewpoint, type_: int) -> None:
    """The kernel probes the neighbours of an IPv6 trial seconds later, in the midst of an IPv4 trial."""
    found = judged(view, [packet("ipv4", "tcp"), packet("ipv6", "icmpv6", type=type_)])
    assert found.invalid == []
    assert found.evidence["stacks"] == {"ipv4": 1}


def test_an_echo_over_the_wrong_family_is_no_discovery(view: Viewpoint) -> None:
    assert judged(view, [packet("ipv4", "icmp"), packet("ipv6", "icmpv6", type=128)]).invalid


@pytest.mark.parametrize("packets", [[], [packet("arp")], [packet("ipv6", "icmpv6", type=135)]])
def test_no_packet_is_no_evidence(view: Viewpoint, packets: list[dict[str, Any]]) -> None:
    found = judged(view, packets)
    assert found.invalid == [f"no packet of the trial was seen on l1 at {view.end.node}"]
    assert found.evidence["max_ip_bytes"] is None


def test_a_packet_over_the_mtu(read: Read, view: Viewpoint) -> None:
    large = [packet("ipv4", "tcp", wire_bytes=9014)]
    assert judged(view, large).invalid == [
        f"a packet of 9000 bytes was seen on l1 at {view.end.node}, whose MTU is 1500"
    ]
    with_offload = viewpoint(line(read, "hrrh"), "h0", "h3")
    assert judged(with_offload, large).invalid == []


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (
            (105, 1400),
            "1000 bytes of payload arrived to the server, but only 900 bytes crossed l1: they took another way",
        ),
        ((14, 10_500), "10 datagrams arrived, but only 9 packets crossed l1"),
        ((105, 10_500, 0, 106), "received 106 ipv6 packets during a trial over ipv4"),
    ],
)
def test_counters_that_contradict(view: Viewpoint, after: tuple[int, ...], message: str) -> None:
    found = judged(view, [packet("ipv4", "udp")], after=counters(view.end.name, *after))
    assert len(found.invalid) == 1
    assert message in found.invalid[0]


def test_background_of_the_other_family_is_no_contradiction(view: Viewpoint) -> None:
    after = counters(view.end.name, 105, 10_500, ip=100, ip6=100)
    assert judged(view, [packet("ipv4", "udp")], after=after).invalid == []


@pytest.mark.parametrize("after", [{}, {"interfaces": {}, "snmp": {}}, {"interfaces": {"eth9": {}}, "snmp": {}}])
def test_counters_that_are_not_there_are_told(view: Viewpoint, after: Counters) -> None:
    node = view.end.node
    before = {node: counters(view.end.name, 5, 500)}
    found = judge(view, NATIVE4, {"packets": [packet("ipv4")]}, before, {node: after} if after else {}, TRAFFIC)
    assert found.invalid == [f"{node} could not be asked for the counters of {view.end.name}"]
    assert link_traffic(view, before, {node: after} if after else {}) is None


def test_packets_and_bytes_of_the_link(view: Viewpoint) -> None:
    node, name = view.end.node, view.end.name
    assert link_traffic(view, {node: counters(name, 5, 500)}, {node: counters(name, 8, 900)}) == (6, 800)


def test_a_capture_is_a_pcap_file(tmp_path: Path) -> None:
    frame = "020000000002020000000001080045000014000000004001ad5bc6120001c6120002"
    path = tmp_path / "x.pcap"
    path.write_bytes(to_pcap([packet("ipv4", wire_bytes=1514) | {"data": frame}]))
    content = path.read_bytes()
    assert content[:4] == bytes.fromhex("4d3cb2a1")
    assert len(content) == 24 + 16 + 34
    assert int.from_bytes(content[24 + 12 : 24 + 16], "little") == 1514
    assert content[40:].hex() == frame

"""What proves that a trial took its path: packets captured on the middle link, and counters of the nodes passed."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.mechanism import MechanismKind
from ..model.topology import Interface, Link, Topology
from ..model.workload import Traffic

CAPTURE_PACKETS = 64
CAPTURE_SNAPLEN_BYTES = 128
SHOWN_PACKETS = 4
"""So many packets are kept in the record as decoded headers; the pcap has all."""

BACKGROUND_PACKETS = 100
"""So many packets of the other family may pass a node in a trial without meaning anything: neighbour discovery, MLD,
address resolution."""

IP_LAYERS = ("ipv4", "ipv6")

LINK_ICMPV6_TYPES = frozenset({*range(130, 138), 143})
"""Multicast listener discovery (RFC 2710, RFC 3810), neighbour discovery (RFC 4861 section 4). The kernel sends them
when its timers say so: for a neighbour of an earlier trial in the midst of a later one."""


@dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """Where a trial is observed: one end of the middle link of the route.

    Attributes:
        link: the middle link.
        end: the observing end; a router's where there is one.
        towards_server: whether packets from client to server leave through it (else they arrive through it).
    """

    link: Link
    end: Interface
    towards_server: bool


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Evidence as a record carries it, and what is wrong with it."""

    evidence: dict[str, Any]
    invalid: list[str] = field(default_factory=list)


def viewpoint(topology: Topology, client: str, server: str) -> Viewpoint:
    """The middle link of the route, seen from a router if one is at its ends."""
    route = topology.route(client, server)
    assert route, "an experiment whose hosts are not connected is refused when it is read"
    index = (len(route) - 1) // 2
    link = route[index]
    near = client
    for passed in route[:index]:
        near = passed.other_end(near).node
    near_end, far_end = link.end_of(near), link.other_end(near)
    if topology.nodes[far_end.node].kind == "router" or topology.nodes[near_end.node].kind == "host":
        return Viewpoint(link=link, end=far_end, towards_server=False)
    return Viewpoint(link=link, end=near_end, towards_server=True)


def judge(
    view: Viewpoint,
    mechanism: MechanismKind,
    capture: Mapping[str, Any],
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
    traffic: Traffic,
) -> Judgement:
    """Holds what was seen against what the path claims.

    Args:
        capture: the agent's answer to `capture-stop`.
        before, after: counters of the nodes on the way, by node.
        traffic: what must have crossed the link.
    """
    invalid: list[str] = []
    packets = capture.get("packets") or []
    stacks: dict[str, int] = {}
    largest = 0
    for packet in packets:
        layers = [layer for layer in packet["layers"] if layer["kind"] in IP_LAYERS]
        if layers and not _keeps_the_link_going(packet["layers"]):
            stack = " in ".join(layer["kind"] for layer in reversed(layers))
            stacks[stack] = stacks.get(stack, 0) + 1
            largest = max(largest, int(layers[0].get("total_bytes") or 0))
    claimed = " in ".join(reversed(mechanism.layers))
    place = f"on {view.link.name} at {view.end.node}"
    if not stacks:
        invalid.append(f"no packet of the trial was seen {place}")
    for stack, count in stacks.items():
        if stack != claimed:
            invalid.append(
                f"{count} of {len(packets)} packets seen {place} were {stack}, where {mechanism.name} claims {claimed}"
            )
    if largest > view.link.mtu_bytes and not view.link.offload_on:
        invalid.append(f"a packet of {largest} bytes was seen {place}, whose MTU is {view.link.mtu_bytes}")
    deltas = {node: _delta(before[node], after[node]) for node in after if node in before}
    invalid += _count_checks(view, mechanism, deltas, traffic)
    return Judgement(
        evidence={
            "link": view.link.name,
            "node": view.end.node,
            "interface": view.end.name,
            "claimed": claimed,
            "stacks": stacks,
            "families": {
                kind: sum(count for stack, count in stacks.items() if stack.endswith(kind)) for kind in IP_LAYERS
            },
            "captured_packets": len(packets),
            "capture_dropped": capture.get("dropped"),
            "max_ip_bytes": largest or None,
            "packets": [
                {"wire_bytes": packet["wire_bytes"], "layers": packet["layers"]}
                for packet in _largest_first(packets)[:SHOWN_PACKETS]
            ],
            "payload_bytes": {"forward": traffic.forward_payload_bytes, "reverse": traffic.reverse_payload_bytes},
            "counters": {node: _shown(delta) for node, delta in deltas.items()},
        },
        invalid=invalid,
    )


def _keeps_the_link_going(layers: list[Mapping[str, Any]]) -> bool:
    """Whether a packet is neighbour or multicast listener discovery, which says nothing of the trial's path."""
    outermost = [layer for layer in layers if layer["kind"] != "ethernet"][:2]
    kinds = [layer["kind"] for layer in outermost]
    return kinds == ["ipv6", "icmpv6"] and outermost[1].get("type") in LINK_ICMPV6_TYPES


def to_pcap(packets: list[Mapping[str, Any]]) -> bytes:
    """The captured headers as a pcap file (nanoseconds, Ethernet), which tcpdump and tshark read."""
    content = bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    for packet in packets:
        data = bytes.fromhex(packet["data"])
        seconds, nanoseconds = divmod(int(packet.get("realtime_ns", 0)), 10**9)
        content += struct.pack(
            "<IIII", seconds & 0xFFFFFFFF, nanoseconds, len(data), max(int(packet["wire_bytes"]), len(data))
        )
        content += data
    return bytes(content)


def link_traffic(view: Viewpoint, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[int, int] | None:
    """Packets and bytes that crossed the middle link, both ways; None where they are not known."""
    if view.end.node not in before or view.end.node not in after:
        return None
    delta = _delta(before[view.end.node], after[view.end.node])["interfaces"].get(view.end.name)
    if delta is None:
        return None
    return int(delta["rx_packets"] + delta["tx_packets"]), int(delta["rx_bytes"] + delta["tx_bytes"])


def _count_checks(view: Viewpoint, mechanism: MechanismKind, deltas: Mapping[str, Any], traffic: Traffic) -> list[str]:
    wrong = []
    here = deltas.get(view.end.node)
    interface = here and here["interfaces"].get(view.end.name)
    if not here or not interface:
        return [f"{view.end.node} could not be asked for the counters of {view.end.name}"]
    forward, reverse = ("tx", "rx") if view.towards_server else ("rx", "tx")
    for direction, prefix, payload in (
        ("to the server", forward, traffic.forward_payload_bytes),
        ("to the client", reverse, traffic.reverse_payload_bytes),
    ):
        crossed = interface[f"{prefix}_bytes"]
        if crossed < payload:
            wrong.append(
                f"{payload} bytes of payload arrived {direction}, "
                f"but only {crossed} bytes crossed {view.link.name}: they took another way"
            )
    if (
        traffic.forward_datagrams is not None
        and interface[f"{forward}_packets"] < traffic.forward_datagrams
        and not view.link.offload_on
    ):
        wrong.append(
            f"{traffic.forward_datagrams} datagrams arrived, "
            f"but only {interface[f'{forward}_packets']} packets crossed {view.link.name}"
        )
    outer = mechanism.layers[0]
    for kind, group in (("ipv4", "Ip"), ("ipv6", "Ip6")):
        seen = here["snmp"].get(group, {}).get("InReceives", 0)
        if kind not in mechanism.layers and seen > BACKGROUND_PACKETS + interface["rx_packets"] // 20:
            wrong.append(f"{view.end.node} received {seen} {kind} packets during a trial over {outer}")
    return wrong


def _delta(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    interfaces = {
        name: {key: value - before["interfaces"][name][key] for key, value in counters.items()}
        for name, counters in after["interfaces"].items()
        if name in before["interfaces"]
    }
    snmp = {
        group: {key: value - before["snmp"].get(group, {}).get(key, 0) for key, value in counters.items()}
        for group, counters in after["snmp"].items()
    }
    return {"interfaces": interfaces, "snmp": snmp}


def _shown(delta: dict[str, Any]) -> dict[str, Any]:
    """What is kept in a record: what changed."""
    return {
        "interfaces": {
            name: {k: v for k, v in counters.items() if v}
            for name, counters in delta["interfaces"].items()
            if name != "lo"
        },
        "snmp": {
            group: changed
            for group, counters in delta["snmp"].items()
            if (changed := {k: v for k, v in counters.items() if v})
        },
    }


def _largest_first(packets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(packets, key=lambda packet: -int(packet["wire_bytes"]))

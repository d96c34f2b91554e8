"""Packets on the links of the way, and counts in its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from ..captured import KeptPacket
from ..form import Counts, Kept, Name, Natural, Whole

Changes = dict[Name, Whole]
"""Increases of counters, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment(Kept):
    """Packets that were seen on a link of the way. Counts are of packets.

    Attributes:
        node, interface: where it was looked at.
        claimed: the headers that the path claims there.
        stacks: by their headers (`model.headers.stack_name`).
        outer: by their outermost addresses, such as `198.18.1.1 > 198.18.1.2`.
        other_addresses, other_hop_limits: those that have the path's headers, and other addresses or hop limits in
            them than the path, by the first of these. None: they were not compared.
        errors: of ICMP outside the tunnel, by type and code.
        leftovers: those of earlier trials, by their headers.
        atomic_fragments: those that have a Fragment header and are whole.
        captured_packets, capture_dropped: those that the capture took, and that it had no room for.
        max_ip_bytes: the length of the largest.
        packets: the largest ones.
    """

    link: Name
    node: Name | None = None
    interface: Name | None = None
    claimed: Name | None = None
    stacks: Counts = field(default_factory=dict)
    outer: Counts = field(default_factory=dict)
    other_addresses: Counts | None = None
    other_hop_limits: Counts | None = None
    errors: Counts = field(default_factory=dict)
    leftovers: Counts = field(default_factory=dict)
    atomic_fragments: Natural | None = None
    captured_packets: Natural | None = None
    capture_dropped: Natural | None = None
    max_ip_bytes: Natural | None = None
    packets: Annotated[tuple[KeptPacket, ...], Field(max_length=1000)] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeCounters(Kept):
    """Increases of a node's counters, without those that did not change.

    Attributes:
        interfaces: by interface.
        snmp: by group, named as in `/proc/net/snmp`.
    """

    interfaces: dict[Name, Changes] = field(default_factory=dict)
    snmp: dict[Name, Changes] = field(default_factory=dict)

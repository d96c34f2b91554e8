"""Time for which packets can be under way, by what is known of their network."""

from __future__ import annotations

from collections.abc import Callable

from ..lab.queues import queue_bytes
from ..model.direction import LinkDirection
from ..model.network import Network
from ..model.topology import Link, Topology

LONGEST_PACKET_BYTES = 65535
MAX_RESIDUAL_NS = 2_000_000_000
"""RFC 2544 section 23 waits for two seconds."""
BUSY_NS = 300_000_000
"""Longest time that forwarding a packet may take on a machine that is busy with other things, all nodes together."""


def first_silence_ns(network: Network) -> int:
    """Time after a flow's end at which its first datagram may still arrive, where none has: each link's delay, the time
    of the longest packet on the wire, and the time that a busy machine takes."""
    return BUSY_NS + _crossing_ns(network.topology, lambda link, direction: LONGEST_PACKET_BYTES)


def delays_by_netem_ns(topology: Topology) -> int:
    """Time for which netem may keep packets, all links together."""
    ways = (
        [direction for state in link.states for direction in state]
        for link in topology.wires
        if link.emulator == "netem"
    )
    return min(
        sum(max(direction.impairments.longest_delay_ns for direction in directions) for directions in ways),
        MAX_RESIDUAL_NS,
    )


def residual_ns(topology: Topology) -> int:
    """Time for which packets may still be under way when a trial is over: the content of the queues at their rates, and
    the delays; at most the two seconds of RFC 2544 section 23."""
    return min(_crossing_ns(topology, queue_bytes), MAX_RESIDUAL_NS)


def _crossing_ns(topology: Topology, sent_bytes: Callable[[Link, LinkDirection], int]) -> int:
    """The longest delay of every link, and the time that this many bytes take at its rate, where it has one. The
    slowest of its directions counts, and of what events make of them."""
    return sum(
        max(_passing_ns(link, direction, sent_bytes) for state in link.states for direction in state)
        for link in topology.wires
    )


def _passing_ns(link: Link, direction: LinkDirection, sent_bytes: Callable[[Link, LinkDirection], int]) -> int:
    if direction.rate_bps is None:
        return direction.impairments.longest_delay_ns
    on_wire_bytes = direction.framing.carried_bytes(sent_bytes(link, direction))
    return direction.impairments.longest_delay_ns + 8 * on_wire_bytes * 10**9 // direction.rate_bps

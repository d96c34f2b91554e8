"""Fragments as nodes and links counted them, beside what theory says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..form import MAX_ITEMS, Flag, Kept, Name, Natural, Text, Whole
from .packets import Changes

Bounds = tuple[Whole, Whole]
"""The least and the most that something can be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FragmentLink(Kept):
    """Expected packets on a link of datagrams that may be fragmented, by theory, and the counted ones.

    Attributes:
        packets, sizes_bytes, wire_bytes: what one datagram is there once all path MTUs are known.
        expected_packets, expected_bytes: the least and the most that all datagrams are, bytes with Ethernet headers.
        counted_packets, counted_bytes: what crossed it. None: its counters are not known.
        agrees: whether that is what theory expects. Packets that keep a link going may be there besides, and what was
            lost may have been lost before it.
    """

    link: Name
    sizes_bytes: Annotated[tuple[Natural, ...], Field(max_length=MAX_ITEMS)]
    expected_packets: Bounds
    expected_bytes: Bounds
    packets: Natural | None = None
    wire_bytes: Natural | None = None
    counted_packets: Whole | None = None
    counted_bytes: Whole | None = None
    agrees: Flag | None = None

    def __post_init__(self) -> None:
        counted = (self.counted_packets, self.counted_bytes, self.agrees)
        if None in counted and counted != (None, None, None):
            raise ValueError("the counts of a link lack its packets, its bytes, or their agreement")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragments(Kept):
    """The fragments that nodes counted, and what theory says of them (`bench.proof.fragments`).

    Attributes:
        nodes: by node, then by family (`ipv4`, `ipv6`): what was `cut` into fragments, the fragments `created`, what
            was `too_long` to pass on, the fragments `collected`, the packets `reassembled` of them, what `failed` to
            be, all packets `forwarded`, and the errors about packets that are too big, `errors_sent` and
            `errors_received`. What is zero is left out.
        datagrams, delivered: those that were sent, and that arrived.
        not_predicted: why theory says nothing.
        known: whether the client had learned the path MTU before the trial.
        lost_first: the datagrams that theory expects to be lost while path MTUs are being learned.
        expected: the least and the most that theory expects, by node, family and name as in `nodes`.
        agrees: whether nodes and links counted what theory expects.
    """

    nodes: dict[Name, dict[Name, Changes]] | None = None
    datagrams: Natural | None = None
    delivered: Natural | None = None
    not_predicted: Text | None = None
    known: Flag | None = None
    lost_first: Natural | None = None
    links: tuple[FragmentLink, ...] | None = None
    expected: dict[Name, dict[Name, dict[Name, Bounds]]] | None = None
    agrees: Flag | None = None

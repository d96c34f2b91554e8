"""Losses and their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..form import MAX_ITEMS, Counts, Kept, Name, Natural, Text, Whole

Range = tuple[Natural, Natural]
"""Sequence numbers, both ends included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LostPlace(Kept):
    """A place at which packets were lost, and why (`bench.proof.losses`).

    Attributes:
        where: in words, such as `by r1, coming from access`.
        what: the reason in words.
        datagrams: those of the trial that were dropped there.
        other_packets: packets of the same protocol that could not be named: segments of TCP, later fragments.
        sequences: the numbers of the datagrams, as ranges with both ends included.
        node: the one that dropped.
        link, device: None at sockets, and where the kernel knows none.
        side: `ingress`: it had come from the link; `egress`: it was to go there; `socket`; `emulated`: the link is
            configured to lose; `unknown`.
        reason: the kernel's.
    """

    where: Name
    what: Name
    datagrams: Natural
    other_packets: Whole
    sequences: tuple[Range, ...] = ()
    node: Name | None = None
    link: Name | None = None
    device: Name | None = None
    side: Name | None = None
    reason: Name | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DropCounter(Kept):
    """A drop counter that rose. It counts everybody's packets."""

    node: Name
    counter: Name
    packets: Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Losses(Kept):
    """Losses and their places.

    Attributes:
        located: the places at which packets were lost. None: the kernel told nothing, as `not_told` says.
        counters: the drop counters that rose.
        refused: what the sender's socket refused, by error.
        lost: the datagrams that were sent and never arrived. None: the workload keeps no such ledger.
        unlocated: those of them that are at no place.
        unlocated_sequences: their numbers, where all are known.
    """

    located: Annotated[tuple[LostPlace, ...], Field(max_length=MAX_ITEMS)] | None = None
    counters: Annotated[tuple[DropCounter, ...], Field(max_length=MAX_ITEMS)] | None = None
    refused: Counts | None = None
    lost: Natural | None = None
    unlocated: Natural | None = None
    unlocated_sequences: tuple[Range, ...] | None = None
    not_told: Text | None = None

"""What nodes do to fragments and to ICMP errors that pass them, besides forwarding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..model.network import Network
from ..model.topology import Family

Drops = Literal["first", "later", "all"]

_TABLES: tuple[tuple[Family, str], ...] = ((4, r"table (ip|inet) "), (6, r"table (ip6|inet) "))


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """Of packets in passing.

    Attributes:
        reassembles: the families whose fragments it puts together before it forwards them: those in which it tracks
            connections, as translating addresses needs.
        silent: the families in which it neither sends nor forwards the errors of path MTU discovery.
        drops: which fragments it drops; None: none.
    """

    reassembles: frozenset[Family] = frozenset()
    silent: frozenset[Family] = frozenset()
    drops: Drops | None = None


def treatments(network: Network) -> dict[str, Treatment]:
    """By node; those that only forward are absent."""
    found = {}
    for name in network.topology.nodes:
        reassembles = _tracked(network, name)
        if reassembles:
            found[name] = Treatment(reassembles=reassembles)
    return found


def _tracked(network: Network, node: str) -> frozenset[Family]:
    """The families in which the path's mechanism tracks connections there: those of its tables that translate."""
    text = "".join(stage[node].nft for stage in network.stages if node in stage)
    if "masquerade" not in text:
        return frozenset()
    return frozenset(family for family, table in _TABLES if re.search(table, text))

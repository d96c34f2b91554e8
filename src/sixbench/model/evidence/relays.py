"""Counts of relays."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..form import Counts, Kept, Natural
from ..topology import Family


@dataclass(frozen=True, kw_only=True, slots=True)
class RelayCounters(Kept):
    """Counts of a relay (`bench.proof.relays`).

    Attributes:
        connections: pairs of connections that it made.
        pairs: pairs of hosts and ports between which it passed datagrams on.
        bytes_to_ipv6, bytes_to_ipv4: payload that it passed on.
        datagrams_to_ipv6, datagrams_to_ipv4: likewise.
        failed: what else became of sessions and datagrams, by name, without those of which there were none.
    """

    connections: Natural
    pairs: Natural
    bytes_to_ipv6: Natural
    bytes_to_ipv4: Natural
    datagrams_to_ipv6: Natural
    datagrams_to_ipv4: Natural
    failed: Counts = field(default_factory=dict)

    def bytes_to(self, family: Family) -> int:
        """Payload that it passed on to a family."""
        return self.bytes_to_ipv6 if family == 6 else self.bytes_to_ipv4

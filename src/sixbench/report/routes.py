"""The way that each path's packets take from client to server: over which links, and where inside which tunnels.

What a mechanism makes of a network follows from the experiment, so this needs nothing but the manifest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from ..mechanisms import MECHANISMS, MechanismError, install
from ..model.network import Network
from ..model.path import Path
from ..model.topology import Link, Topology


@dataclass(frozen=True, kw_only=True)
class AlikeLinks:
    """Links in a row on which packets are alike.

    Attributes:
        nodes: from the one before the first link to the one after the last.
        headers: IP and tunnel headers, outermost first.
        tunnels: those that the packets are in, the innermost last; empty: they go as they are.
    """

    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    headers: tuple[str, ...]
    tunnels: tuple[Link, ...]


@dataclass(frozen=True, kw_only=True)
class PathRoute:
    """The way of a path, from client to server."""

    path: Path
    network: Network
    stretches: tuple[AlikeLinks, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes passed, in order."""
        first = self.stretches[0].nodes[:1]
        return (*first, *(node for stretch in self.stretches for node in stretch.nodes[1:]))

    @property
    def deepest(self) -> AlikeLinks:
        """Place at which packets carry most headers."""
        return max(self.stretches, key=lambda stretch: len(stretch.headers))


def route_of(path: Path, topology: Topology, between: tuple[str, str]) -> PathRoute | None:
    """The way; None where there is none, or where this version does not know the mechanism."""
    if path.mechanism not in MECHANISMS:
        return None
    try:
        network = install(path, topology, between)
    except (MechanismError, KeyError):
        return None
    stretches = [
        AlikeLinks(
            nodes=(alike[0].near, *(crossing.far for crossing in alike)),
            links=tuple(crossing.link for crossing in alike),
            headers=alike[0].headers,
            tunnels=tuple(tunnel.link for tunnel in alike[0].tunnels),
        )
        for _, group in groupby(network.crossings, key=lambda crossing: (crossing.headers, crossing.tunnels))
        if (alike := list(group))
    ]
    return PathRoute(path=path, network=network, stretches=tuple(stretches)) if stretches else None

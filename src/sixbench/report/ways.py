"""The way that each path's packets take from client to server: over which links, and where inside which tunnels.

What a mechanism makes of a network follows from the experiment, so this needs nothing but the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ..mechanisms import MECHANISMS, MechanismError, install
from ..model.network import Network
from ..model.path import Path
from ..model.topology import Link, Topology


@dataclass(frozen=True, kw_only=True)
class Stretch:
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
class Way:
    """The way of a path, from client to server."""

    path: Path
    network: Network
    stretches: tuple[Stretch, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes passed, in order."""
        first = self.stretches[0].nodes[:1]
        return (*first, *(node for stretch in self.stretches for node in stretch.nodes[1:]))

    @property
    def deepest(self) -> Stretch:
        """Where packets carry most headers."""
        return max(self.stretches, key=lambda stretch: len(stretch.headers))


@dataclass(frozen=True, kw_only=True)
class _Hop:
    near: str
    far: str
    link: Link
    headers: tuple[str, ...]
    tunnels: tuple[Link, ...]


def way_of(path: Path, topology: Topology, between: tuple[str, str]) -> Way | None:
    """The way; None where there is none, or where this version does not know the mechanism."""
    if path.mechanism not in MECHANISMS:
        return None
    try:
        network = install(path, topology, between)
    except (MechanismError, KeyError):
        return None
    inner = "ipv6" if network.ends.family == 6 else "ipv4"
    route = network.topology.route(*between, network.ends.family) or []
    hops = _hops(network.topology, between[0], route, (inner,), ())
    stretches = [
        Stretch(
            nodes=(alike[0].near, *(hop.far for hop in alike)),
            links=tuple(hop.link for hop in alike),
            headers=alike[0].headers,
            tunnels=alike[0].tunnels,
        )
        for _, group in groupby(hops, key=lambda hop: (hop.headers, [link.name for link in hop.tunnels]))
        if (alike := list(group))
    ]
    return Way(path=path, network=network, stretches=tuple(stretches)) if stretches else None


def _hops(
    topology: Topology, start: str, route: Sequence[Link], headers: tuple[str, ...], tunnels: tuple[Link, ...]
) -> list[_Hop]:
    """The wires of a route, those below its tunnels included."""
    found: list[_Hop] = []
    at = start
    for link in route:
        reached = link.other_end(at).node
        if link.is_tunnel:
            below = topology.route(at, reached, link.carrier) or []
            found += _hops(topology, at, below, (*link.headers, *headers), (link, *tunnels))
        else:
            found.append(_Hop(near=at, far=reached, link=link, headers=headers, tunnels=tunnels))
        at = reached
    return found

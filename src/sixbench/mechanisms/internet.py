"""The paths to servers of others: the network is not ours, and nothing is installed in it."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from .kind import Mechanism, MechanismError


def _nowhere(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    raise MechanismError(f"{path.mechanism} leads to servers: give servers instead of a topology")


INTERNET4 = Mechanism(
    name="internet4",
    doc="IPv4 to a server, over a network that is not known.",
    family=lambda options: 4,
    install=_nowhere,
    carriers=frozenset({4}),
)
INTERNET6 = Mechanism(
    name="internet6",
    doc="IPv6 to a server, over a network that is not known.",
    family=lambda options: 6,
    install=_nowhere,
    carriers=frozenset({6}),
)
INTERNET: Mapping[str, Mechanism] = {mechanism.name: mechanism for mechanism in (INTERNET4, INTERNET6)}
"""The mechanisms of experiments with servers, by name."""

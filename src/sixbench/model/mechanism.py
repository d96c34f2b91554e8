"""What an experiment may say of a mechanism, and what is checked before anything is built.

The mechanisms themselves, with the commands that install them, are in `lab.mechanisms`: one file each and one line in
its registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .path import Path
from .topology import Family, Topology


@dataclass(frozen=True, kw_only=True)
class MechanismKind:
    """A mechanism as experiments see it.

    Attributes:
        name: as experiments write it.
        family: of the addresses that applications use over it.
        layers: the IP headers that its packets show on the middle link, outermost first, such as `("ipv4", "ipv6")`.
        carriers: the families that links on its way must carry.
        node_count: how many nodes it is installed on, least and most; (0, 0) for native paths.
        engines: who can execute it, best first.
        check: what is wrong with such a path on that network between those hosts, as a sentence; None if nothing.
    """

    name: str
    doc: str
    family: Family
    layers: tuple[str, ...]
    carriers: frozenset[Family]
    node_count: tuple[int, int] = (0, 0)
    engines: tuple[str, ...] = ("kernel",)
    check: Callable[[Path, Topology, tuple[str, str]], str | None] = lambda path, topology, between: None

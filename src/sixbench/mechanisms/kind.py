"""What a transition mechanism is: how experiments name it, what they may say of it, and what it makes of a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..model.network import Network
from ..model.path import Path
from ..model.topology import Family, Topology
from ..model.workload import Parameter, Scalar


class MechanismError(Exception):
    """A path that cannot be: what is wrong, as a sentence for the user.

    Attributes:
        option: the option that is wrong, where it is one.
    """

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


Options = Mapping[str, Scalar]
"""A path's options by name, checked and in base units (bytes)."""

Install = Callable[[Path, Topology, tuple[str, str]], Network]
"""A path, a plain network and the hosts between which traffic goes, to the network with the path installed. Pure.
Raises `MechanismError`."""


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism. A new one is a file here and a line in the registry.

    Attributes:
        name: as experiments write it.
        family: of the addresses that applications use over it, by its options.
        headers: what it puts before a packet, outermost first; empty for native paths.
        carriers: the families that links on its way must carry.
        node_count: how many nodes it is installed on, least and most; (0, 0) for native paths.
        node_order: what the nodes are, in order, such as "the B4s, then the AFTR".
        engines: who can execute it, in the order in which they are taken where the experiment names none.
        options: what an experiment may set.
        sample: nodes and options to try it with, between h1 and h2 in a row h1, r1, r2, h2.
    """

    name: str
    doc: str
    family: Callable[[Options], Family]
    install: Install
    headers: tuple[str, ...] = ()
    carriers: frozenset[Family]
    node_count: tuple[int, int] = (0, 0)
    node_order: str = ""
    engines: tuple[str, ...] = ("kernel",)
    options: tuple[Parameter, ...] = ()
    sample: tuple[str, ...] = ()

    def option(self, name: str) -> Parameter | None:
        """The option that an experiment writes so."""
        return next((option for option in self.options if option.name == name), None)

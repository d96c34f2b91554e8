"""The type of a transition mechanism: its name in experiments, its options, and its installation in a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..engines import ENGINES, KERNEL, Engine
from ..model.network import Network
from ..model.parameter import Parameter, Scalar
from ..model.path import Path
from ..model.topology import Family, Topology
from ..model.workload import WorkloadKind


class MechanismError(Exception):
    """A path that cannot be installed, with the reason as a sentence for the user.

    Attributes:
        option: the option that is wrong, where it is one.
    """

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


Options = Mapping[str, Scalar]
"""A path's options by name, checked and in base units (bytes)."""

Install = Callable[[Path, Topology, tuple[str, str]], Network]
"""Takes a path, a plain network and the two hosts; gives the network with the path installed. Pure.
Raises `MechanismError`."""


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism. A new one is a file here and a line in the registry.

    Attributes:
        name: as experiments write it.
        family: the family of the addresses that the client's applications use over it, by its options.
        server_family: that of the server's, by its options and nodes, where it may be another; None: it is the same.
        headers: what it puts before a packet, outermost first; empty for native paths.
        inner_mtu_bytes: the MTU of what is inside, where it is not what the carrier leaves room for.
        carriers: the families that the links of its carrier must have.
        node_count: how many nodes it is installed on, least and most; (0, 0) for native paths.
        node_order: what the nodes are, in order, such as "the B4s, then the AFTR".
        executed_by: the engines that can execute it, in the order in which they are tried where the experiment names
            none. One that nothing else uses is in the mechanism's own file.
        options: what an experiment may set.
        held_against: what speaks against its use in a network of today, as sentences with their source. The report of a
            run with it has them.
        unfit: why a workload cannot go over it, as a sentence; None if it can.
        sample: nodes to try it with, between h1 and h2 in a row h1, r1, r2, h2.
        sample_options: the options that it then has.
    """

    name: str
    doc: str
    family: Callable[[Options], Family]
    install: Install
    headers: tuple[str, ...] = ()
    inner_mtu_bytes: int | None = None
    carriers: frozenset[Family] = frozenset({4, 6})
    node_count: tuple[int, int] = (0, 0)
    node_order: str = ""
    executed_by: tuple[Engine, ...] = (KERNEL,)
    options: tuple[Parameter, ...] = ()
    held_against: str = ""
    sample: tuple[str, ...] = ()
    sample_options: Options = field(default_factory=dict)
    server_family: Callable[[Options, Sequence[str]], Family] | None = None
    unfit: Callable[[WorkloadKind], str | None] = lambda kind: None

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines that can execute it, in the order in which they are tried."""
        others = (engine for engine in ENGINES.values() if self.name in engine.executes)
        return tuple(engine.name for engine in (*self.executed_by, *others))

    def option(self, name: str) -> Parameter | None:
        return next((option for option in self.options if option.name == name), None)

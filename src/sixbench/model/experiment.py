"""An experiment, read and checked; and its plan of trials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .direction import Directions
from .path import Path
from .topology import Topology
from .trace import Trace
from .workload import Scalar, Workload


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """How often, and when to stop.

    Attributes:
        minimum, maximum: blocks of each combination.
        precision: stop a combination when the confidence interval of every path's ratio to the baseline (primary
            metric of the workload) has a half-width of at most this share of the ratio; None: always the maximum.
        deviation: stop a combination when the standard deviation of every path's primary metric is under this share of
            its mean; None: no such rule.
    """

    minimum: int
    maximum: int
    precision: float | None = None
    deviation: float | None = None


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """How trials become findings.

    Attributes:
        confidence: of every interval.
        margin: differences within this share count as none; equivalence is tested against it.
        trim: how many of the lowest and of the highest trials a path's *estimate* leaves out (raicu-stack-rtt: 1);
            intervals use all.
    """

    confidence: float = 0.95
    margin: float = 0.01
    trim: int = 0


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """What becomes of a link in the midst of every trial, and is undone after it.

    Attributes:
        at_ns: after the traffic begins, the warm-up included.
        mtu_bytes: of both its ends from then on.
        directions: what packets meet from then on that leave its first end, and its second.
    """

    at_ns: int
    link: str
    mtu_bytes: int
    directions: Directions


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One combination of levels: a workload on a concrete network.

    Attributes:
        name: `c0001` ...
        levels: what distinguishes it, by column (`message_bytes`, `rate_bps`, `link_mtu_bytes`); part of every record
            and finding.
        topology: index into `Experiment.topologies`.
        events: what changes during its trials, in the order of time.
        topology_by_path: index of the network of those paths that have another one: a difference that is known.
    """

    name: str
    workload: Workload
    levels: dict[str, Scalar]
    topology: int
    events: tuple[LinkChange, ...] = ()
    topology_by_path: dict[str, int] = field(default_factory=dict)

    def topology_of(self, path: str) -> int:
        """Index of the network that a path of that name has."""
        return self.topology_by_path.get(path, self.topology)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything an experiment file says, with all defaults filled in."""

    name: str
    title: str
    description: str
    file: str
    text: str
    topologies: tuple[Topology, ...]
    between: tuple[str, str]
    paths: tuple[Path, ...]
    baseline: str
    combinations: tuple[Combination, ...]
    blocks: Blocks
    statistics: Statistics
    seed: int
    bottleneck: Literal["any", "path"] = "any"
    """`path`: a trial that the machine rather than the path limited is invalid."""
    notes: tuple[str, ...] = field(default=())
    traces: dict[str, Trace] = field(default_factory=dict)
    """What is sent of the captures that the workloads name, by the name."""
    kernels: tuple[str, ...] = ()
    """Run in an emulated machine with each of these; of several, each combination has its kernel as a level. Empty: run
    on this machine."""

    def path(self, name: str) -> Path:
        """The path of that name, which must exist."""
        return next(path for path in self.paths if path.name == name)


@dataclass(frozen=True, kw_only=True)
class PlannedTrial:
    """One trial to be run. `key` names it in the run directory, the same in every expansion with the same seed."""

    block: int
    combination: str
    path: str

    @property
    def key(self) -> str:
        """Such as `b001-c0002-ipv6`."""
        return f"b{self.block:03d}-{self.combination}-{self.path}"

"""An experiment, read and checked; and its plan of trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from .direction import Directions
from .host import Host
from .identifiers import LINK_NAME, NAME, require
from .parameter import Scalar
from .path import Path
from .placement import Placement
from .recorded_page import RecordedPage
from .server import SERVER_COLUMN, VANTAGE_COLUMN, Server
from .topology import Topology
from .trace import Trace
from .workload import Workload


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """The number of blocks, and the rule to stop.

    Attributes:
        minimum, maximum: blocks of each combination.
        precision: stop a combination when the confidence interval of every path's ratio to the baseline (primary
            metric of the workload) has a half-width of at most this share of the ratio; None: always the maximum.
        deviation: stop a combination when the standard deviation of every path's primary metric is under this share of
            its mean; None: no such rule.
        until: `decided`: stop a combination when every path's primary metric is different from the baseline's, or
            equivalent to it, by tests that allow for all looks; None: no such rule.
        time_ns: begin no block after the minimum that would end later than this after the run began; None: no limit.
    """

    minimum: int
    maximum: int
    precision: float | None = None
    deviation: float | None = None
    until: Literal["decided"] | None = None
    time_ns: int | None = None

    @property
    def may_end_early(self) -> bool:
        """True if a rule or the time may end a combination before the maximum."""
        return any(rule is not None for rule in (self.precision, self.deviation, self.until, self.time_ns))


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """The statistics of findings.

    Attributes:
        confidence: of every interval.
        margin: differences within this share count as none; equivalence is tested against it.
        margins: the same of workloads that have one of their own, by the workload's name.
        trim: how many of the lowest and of the highest trials a path's *estimate* leaves out (raicu-stack-rtt: 1);
            intervals use all.
        estimator: how the ratios of a comparison's blocks become one: `biweight` gives those that are far from the
            others less weight, or none (from five blocks on); `mean` is their geometric mean.
        pool: the column of a factor whose levels are groups of comparisons, such as servers: their mean is given too,
            by random effects. None: no factor is one.
    """

    confidence: float = 0.95
    margin: float = 0.01
    trim: int = 0
    estimator: Literal["biweight", "mean"] = "biweight"
    margins: dict[str, float] = field(default_factory=dict)
    pool: str | None = None

    def margin_of(self, workload: str) -> float:
        return self.margins.get(workload, self.margin)

    def margins_of(self, workloads: Iterable[str]) -> list[float]:
        """The margins of these workloads, each once, from the least."""
        return sorted({self.margin_of(workload) for workload in workloads})


Taken = Literal["link", "addresses"]
"""A loss of the client of a trial."""


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """A change of a link in the middle of every trial. It is undone after the trial.

    Attributes:
        at_ns: after the traffic begins, the warm-up included.
        mtu_bytes: the MTU of both its ends from then on.
        directions: the treatment, from then on, of packets that leave its first end, and its second.
        takes: what the client loses of it: the link, whose end goes down there, or the addresses that it has at it.
            None: nothing.
    """

    at_ns: int
    link: str
    mtu_bytes: int
    directions: Directions
    takes: Taken | None = None

    def __post_init__(self) -> None:
        require(LINK_NAME, self.link, "a link")


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
        paths: the names of the paths that it goes over; empty: it goes over all.
    """

    name: str
    workload: Workload
    levels: dict[str, Scalar]
    topology: int
    events: tuple[LinkChange, ...] = ()
    topology_by_path: dict[str, int] = field(default_factory=dict)
    paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(NAME, self.name, "a combination")

    def topology_of(self, path: str) -> int:
        """Index of the network that a path of that name has."""
        return self.topology_by_path.get(path, self.topology)

    def goes_over(self, path: str) -> bool:
        """True if it has trials on a path of that name."""
        return not self.paths or path in self.paths


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
    placement: Placement | None = None
    """Placement of the nodes of a path. None: each workload's own policy."""
    keep_awake: bool | None = None
    """True if processors are kept from sleeping. None: where the machine is virtual."""
    notes: tuple[str, ...] = field(default=())
    traces: dict[str, Trace] = field(default_factory=dict)
    """The datagrams of the captures that the workloads name, by the name."""
    pages: dict[str, RecordedPage] = field(default_factory=dict)
    """The pages of the HAR files that the workloads name, by the name."""
    repeats: int = 0
    """Largest number of repeats, within its block, of a trial during which the machine was disturbed (`repeats`)."""
    kernels: tuple[str, ...] = ()
    """The kernels with which it is run, each in an emulated machine. Where there are several, the kernel is a level of
    each combination. Empty: it is run on this machine."""
    servers: tuple[Server, ...] = ()
    """The servers that it measures to, each a level of its combinations, over a network that is not known. Empty: its
    network is one of the topologies."""
    resolver: str | None = None
    """The address of the resolver that is asked for the names of servers. None: that of the system."""
    hides_addresses: bool = False
    """True if the addresses of the machines that measure, and of their networks, are kept out of every file."""
    vantages: tuple[Host, ...] = ()
    """The machines that it measures to servers from, each a level of its combinations. Empty: this machine, and no
    level names it."""

    def __post_init__(self) -> None:
        require(NAME, self.name, "an experiment")

    def path(self, name: str) -> Path:
        """The path of that name, which must exist."""
        return next(path for path in self.paths if path.name == name)

    def combination(self, name: str) -> Combination:
        """The combination of that name, which must exist."""
        return next(combination for combination in self.combinations if combination.name == name)

    def server_of(self, combination: Combination) -> Server:
        """The server of a combination of an experiment with servers."""
        label = combination.levels[SERVER_COLUMN]
        return next(server for server in self.servers if server.label == label)

    def vantage_of(self, combination: Combination) -> Host | None:
        """The machine that a combination of an experiment with servers is measured from. None: this one."""
        name = combination.levels.get(VANTAGE_COLUMN) if self.vantages else None
        return None if name is None else next(host for host in self.vantages if host.name == name)

    def paths_of(self, combination: Combination) -> tuple[Path, ...]:
        """The paths on which a combination has trials."""
        return tuple(path for path in self.paths if combination.goes_over(path.name))

    def baseline_of(self, combination: Combination) -> str:
        """Reference of the other paths of a combination: the baseline, or the first path that the combination names
        where it does not go over that one."""
        return self.baseline if combination.goes_over(self.baseline) else combination.paths[0]

    @property
    def path_combinations(self) -> list[tuple[Combination, Path]]:
        """Each combination with each path that it goes over."""
        return [(combination, path) for combination in self.combinations for path in self.paths_of(combination)]


@dataclass(frozen=True, kw_only=True)
class PlannedTrial:
    """One trial to be run. `key` names it in the run directory, the same in every expansion with the same seed.

    Attributes:
        repeat: which repeat it is, from 1. None: it is the trial itself.
    """

    block: int
    combination: str
    path: str
    repeat: int | None = None

    @property
    def key(self) -> str:
        """Such as `b001-c0002-ipv6`, and `b001-c0002-ipv6+1` of its first repeat: no name has a plus sign."""
        trial = f"b{self.block:03d}-{self.combination}-{self.path}"
        return trial if self.repeat is None else f"{trial}+{self.repeat}"

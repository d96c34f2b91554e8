"""Networks that differ by a known amount: one experiment with several paths, each with a network of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sixbench.mechanisms import MECHANISMS
from sixbench.model.experiment import Blocks, Experiment
from sixbench.model.workload import Workload
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.changes import ExperimentChanges
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.loading import load_experiment
from sixbench.plan.yaml_source import parse_yaml

from .curve import Truth, known_ratio

MOST_BLOCKS = 999
"""The time ends the measuring, and not the number of blocks."""
PLAIN = "plain"
"""The path that the others are compared with."""

RATE_MBIT = 100
DELAY_US = 500
"""Delay of the emulated link, each way. It is there with every delay, so that the delays differ and nothing else
does."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Results of the long measurement for the plain side, for truths that depend on it.

    Attributes:
        plain: the mean of the metric over all of its trials, in the metric's unit.
        theory: what theory expects of the changed side over what it expects of the plain one; None: it says nothing.
    """

    plain: float
    theory: float | None


@dataclass(frozen=True, kw_only=True)
class Side:
    """A path with its network.

    Attributes:
        name: the path.
        title: the difference in words, such as `1 % of rate`.
        topology: its YAML.
        truth: what is known of its difference from the plain side.
        mechanism: as in `paths`; None: that of the differences.
    """

    name: str
    title: str
    topology: str
    truth: Callable[[Measured], Truth]
    mechanism: str | None = None


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Sides that one workload is measured over.

    Attributes:
        workload: with the parameters that it has in `quickstart --quick`.
        mechanism: of the plain side.
    """

    name: str
    workload: str
    mechanism: str
    plain: str
    sides: tuple[Side, ...]
    fills_link: bool = False

    @property
    def metric(self) -> str:
        """Metric by which the sides are compared."""
        return WORKLOADS[self.workload].primary

    def experiment(self) -> Experiment:
        """All sides as paths of one experiment, each on its own network, in blocks without an end."""
        texts = [self._text(topology) for topology in (self.plain, *(side.topology for side in self.sides))]
        read = [read_experiment(parse_yaml(text, self.name), MECHANISMS) for text in texts]
        [combination] = read[0].combinations
        numbers = {side.name: number for number, side in enumerate(self.sides, start=1)}
        return replace(
            read[0],
            topologies=tuple(item.topologies[0] for item in read),
            combinations=(
                replace(combination, workload=workload_of_quickstart(self.workload), topology_by_path=numbers),
            ),
            blocks=Blocks(minimum=MOST_BLOCKS, maximum=MOST_BLOCKS),
        )

    def _text(self, topology: str) -> str:
        paths = {PLAIN: self.mechanism} | {side.name: side.mechanism or self.mechanism for side in self.sides}
        lines = "".join(f"  {name}: {mechanism}\n" for name, mechanism in paths.items())
        limit = "path" if self.fills_link else "any"
        return (
            f"experiment: {self.name}\ntopology:\n{topology}between: [client, server]\npaths:\n{lines}"
            f"baseline: {PLAIN}\nworkloads: [{self.workload}]\nbottleneck: {limit}\n"
        )


def workload_of_quickstart(kind: str) -> Workload:
    """The workload as `quickstart --quick` has it: its largest messages, and the times that sixbench finds enough."""
    combinations = load_experiment("quickstart", ExperimentChanges(quick=True)).combinations
    workloads = [combination.workload for combination in combinations if combination.workload.kind == kind]
    if not workloads:
        raise SystemExit(f"bench-precision: quickstart has no {kind} whose length could be taken")
    return workloads[-1]


def _row(first: str, second: str = "") -> str:
    """Two hosts and a router between them."""
    return (
        "  nodes: {client: host, router: router, server: host}\n  links:\n"
        f"    - {{endpoints: [client, router]{first}}}\n    - {{endpoints: [router, server]{second}}}\n"
    )


def _rate(share_less: float) -> str:
    """At that share less than the rate, with the buckets and queues of quickstart."""
    link = f", rate: {RATE_MBIT * (1 - share_less):g}Mbit, mtu: 1500, queue: 50ms, burst: 125kB"
    return _row(link, link)


def _delay(more_us: float) -> str:
    """The same row with so much more delay in a round trip."""
    return _row("", f", delay: {DELAY_US + more_us / 2:g}us, emulator: user")


_TWO_ROUTERS = (
    "  nodes: {client: host, router: router, another: router, server: host}\n  links:\n"
    "    - {endpoints: [client, router]}\n    - {endpoints: [router, another]}\n    - {endpoints: [another, server]}\n"
)


def _slower(percent: int) -> Side:
    return Side(
        name=f"rate-{percent}",
        title=f"{percent} % of rate",
        topology=_rate(percent / 100),
        truth=lambda _: known_ratio(1 - percent / 100),
    )


def _later(more_us: int) -> Side:
    return Side(
        name=f"delay-{more_us}",
        title=f"{more_us} us of delay",
        topology=_delay(more_us),
        truth=lambda measured: known_ratio(1 + more_us * 1000 / measured.plain),
    )


def _same(topology: str, title: str) -> Side:
    return Side(name="same", title=title, topology=topology, truth=lambda _: known_ratio(1.0))


def _by_theory(measured: Measured) -> Truth:
    if measured.theory is None:
        raise SystemExit("bench-precision: theory does not say what the tunnel's header costs")
    return known_ratio(measured.theory)


RATE = Differences(
    name="precision-rate",
    workload="tcp-stream",
    mechanism="native4",
    plain=_rate(0),
    sides=(_slower(0), _slower(1), _slower(3), _slower(10)),
    fills_link=True,
)
DELAY = Differences(
    name="precision-delay",
    workload="tcp-rr",
    mechanism="native4",
    plain=_delay(0),
    sides=(_later(0), _later(2), _later(10), _later(50)),
)
HEADER = Differences(
    name="precision-header",
    workload="tcp-stream",
    mechanism="native6",
    plain=_rate(0),
    sides=(
        _same(_rate(0), "the same headers"),
        Side(
            name="header",
            title="one more header (6in4)",
            topology=_rate(0),
            truth=_by_theory,
            mechanism="{6in4: [client, server]}",
        ),
    ),
    fills_link=True,
)
HOP = Differences(
    name="precision-hop",
    workload="tcp-rr",
    mechanism="native4",
    plain=_row(""),
    sides=(
        _same(_row(""), "the same routers"),
        Side(
            name="hop",
            title="one more router",
            topology=_TWO_ROUTERS,
            truth=lambda _: Truth(ratio=None, direction="higher"),
        ),
    ),
)

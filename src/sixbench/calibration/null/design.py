"""The comparisons that are made, each with its experiment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...mechanisms import MECHANISMS
from ...model.experiment import Experiment
from ...model.workloads import WORKLOADS
from ...plan.experiment_file import read_experiment
from ...plan.yaml_source import parse_yaml

Between = Literal["ipv4", "ipv6", "families"]
"""The two sides: a path against itself over IPv4 or IPv6, or IPv6 against IPv4."""

COMPARISONS = 200
QUICK_COMPARISONS = 40
"""Each kind runs twice with each number of blocks. That is enough to see that it works, but only the full number is a
calibration."""

CHANGED_SHARE = 4
"""The number of comparisons without a difference for each one with a known difference."""

BLOCKS = (5, 10)
"""The fewest that the biweight takes (`stats.biweight`), where its quantiles are farthest from Student's, and ten."""

RATE_MBIT = 100
CHANGE = 0.03
"""The share by which the link of a changed path is slower."""

_WORKLOADS = {
    "tcp-stream": "tcp-stream: {message: 64KiB, duration: 150ms, warmup: 50ms}",
    "udp-stream": "udp-stream: {datagram: 1400B, rate: 50Mbit, duration: 150ms, warmup: 20ms}",
    "tcp-rr": "tcp-rr: {message: 64B, duration: 150ms, warmup: 20ms}",
    "tcp-connect": "tcp-connect: {duration: 150ms, warmup: 20ms}",
    "udp-flood": "udp-stream: {datagram: 1400B, rate: 110Mbit, duration: 150ms, warmup: 20ms}",
}
"""Workloads by name. The flood is more than the link carries, so that the link's rate shows in it."""

_FILLING = ("tcp-stream", "udp-flood")
"""Workloads that fill the link. If this machine's CPU was the limit instead, a trial says nothing about the link and
is invalid."""

WORKLOAD_TITLES = {
    "tcp-stream": "TCP stream",
    "udp-stream": "UDP stream",
    "tcp-rr": "TCP round trips",
    "tcp-connect": "TCP connections",
    "udp-flood": "UDP over the rate",
}

_TITLES: dict[Between, str] = {
    "ipv4": "IPv4 against itself",
    "ipv6": "IPv6 against itself",
    "families": "IPv6 against IPv4",
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of comparison.

    Attributes:
        workload: a name in `_WORKLOADS`.
        between: the two sides of the comparison.
        is_changed: whether one of the two has the slower link.
    """

    workload: str
    between: Between
    is_changed: bool = False

    @property
    def title(self) -> str:
        """The sides in words, such as `IPv4 against itself`."""
        return _TITLES[self.between]


KINDS = (
    Kind(workload="tcp-stream", between="ipv4"),
    Kind(workload="tcp-stream", between="ipv6"),
    Kind(workload="tcp-stream", between="families"),
    Kind(workload="udp-stream", between="ipv4"),
    Kind(workload="udp-stream", between="ipv6"),
    Kind(workload="udp-stream", between="families"),
    Kind(workload="tcp-rr", between="ipv4"),
    Kind(workload="tcp-rr", between="ipv6"),
    Kind(workload="tcp-connect", between="ipv4"),
    Kind(workload="tcp-connect", between="ipv6"),
)
"""The kinds of null comparisons. Times of round trips and connections are not compared between the families, because
the kernel's code for one is longer than for the other."""

CHANGED_KINDS = tuple(
    Kind(workload=workload, between=between, is_changed=True)
    for workload in ("tcp-stream", "udp-flood")
    for between in ("ipv4", "ipv6")
)


@dataclass(frozen=True, kw_only=True)
class PlannedComparison:
    """One comparison that is to be made.

    Attributes:
        name: the name of its run directory.
        experiment: an experiment with two paths, the baseline and the one that is compared with it.
    """

    name: str
    kind: Kind
    blocks: int
    experiment: Experiment

    @property
    def primary(self) -> str:
        """The metric by which it counts."""
        [combination] = self.experiment.combinations
        return WORKLOADS[combination.workload.kind].primary

    @property
    def trials(self) -> int:
        """The number of trials of both paths."""
        return 2 * self.blocks


def plan_comparisons(comparisons: int = COMPARISONS, changed: int | None = None) -> list[PlannedComparison]:
    """The null comparisons and the changed ones, spread evenly over the kinds and the numbers of blocks, and mixed, so
    that all see the machine at all times. The first n of each are the same however many there are.

    Args:
        comparisons: the number of null comparisons.
        changed: the number of changed ones. None: one for every `CHANGED_SHARE` null ones.
    """
    number_changed = -(-comparisons // CHANGED_SHARE) if changed is None else changed
    planned = [(number / comparisons, _planned("null", KINDS, number)) for number in range(comparisons)]
    planned += [
        (number / number_changed, _planned("changed", CHANGED_KINDS, number)) for number in range(number_changed)
    ]
    return [planned_comparison for _, planned_comparison in sorted(planned, key=lambda item: item[0])]


def _planned(prefix: str, kinds: tuple[Kind, ...], number: int) -> PlannedComparison:
    kind = kinds[number % len(kinds)]
    blocks = BLOCKS[number // len(kinds) % len(BLOCKS)]
    name = f"{prefix}-{number + 1:04d}-{kind.workload}-{kind.between}"
    return PlannedComparison(
        name=name, kind=kind, blocks=blocks, experiment=_experiment(name, kind, blocks, number + 1)
    )


def _experiment(name: str, kind: Kind, blocks: int, seed: int) -> Experiment:
    text = _text(name, kind, blocks, seed, RATE_MBIT)
    experiment = read_experiment(parse_yaml(text, name), MECHANISMS)
    if not kind.is_changed:
        return experiment
    slower = read_experiment(parse_yaml(_text(name, kind, blocks, seed, (1 - CHANGE) * RATE_MBIT), name), MECHANISMS)
    [combination] = experiment.combinations
    changed = next(path.name for path in experiment.paths if path.name != experiment.baseline)
    return replace(
        experiment,
        topologies=(*experiment.topologies, *slower.topologies),
        combinations=(replace(combination, topology_by_path={changed: 1}),),
    )


def _text(name: str, kind: Kind, blocks: int, seed: int, rate_mbit: float) -> str:
    if kind.between == "families":
        paths = "{ipv4: native4, ipv6: native6}"
    elif kind.is_changed:
        paths = f"{{{kind.between}: native{kind.between[-1]}, {kind.between}-slower: native{kind.between[-1]}}}"
    else:
        paths = f"{{{kind.between}: native{kind.between[-1]}}}\naa: true"
    changed = f"; the link of {kind.between}-slower is slower by {100 * CHANGE:g} %" if kind.is_changed else ""
    return f"""\
experiment: {name}
title: {kind.title}{changed}
topology:
  nodes: {{client: host, router: router, server: host}}
  links:
    - {{endpoints: [client, router], mtu: 1500, offload: false}}
    - {{endpoints: [router, server], mtu: 1500, rate: {rate_mbit:g}Mbit, queue: 50ms}}
between: [client, server]
paths: {paths}
workloads:
  - {_WORKLOADS[kind.workload]}
bottleneck: {"path" if kind.workload in _FILLING else "any"}
blocks: {blocks}
seed: {seed}
"""

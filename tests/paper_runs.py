"""Papers and runs for tests of what is made of them: small ones that are made up, and the shipped ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path as FilePath

from sixbench.analysis.claims import judge
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.mechanisms import MECHANISMS
from sixbench.model.experiment import Blocks, Combination, Experiment, Statistics
from sixbench.model.finding import ClaimResult, PublishedComparison
from sixbench.model.kernels import COLUMN
from sixbench.model.metric import CPU_METRICS, METRICS
from sixbench.model.paper import Claim, ClaimTest, OurMeasurement, OurTheory, Paper, PublishedValue, Selector
from sixbench.model.path import Path
from sixbench.model.topology import Interface, Link, Node, Topology
from sixbench.model.trial import TrialRecord
from sixbench.model.workload import Workload
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.overrides import apply, apply_quick
from sixbench.plan.paper_file import paper_beside, read_paper
from sixbench.plan.yaml_source import parse_yaml, read_yaml
from sixbench.store import Environment, Manifest, Run

EXPERIMENTS = FilePath(__file__).parents[1] / "experiments"

# A small run, and a paper of what is asked of it

LENGTHS = (128, 640, 1408)
Value = Callable[[str, int], float]
"""Value of a path at a length."""

GOODPUT = Selector(workloads=("tcp-stream",), metric="goodput", paths=("ipv6",))
BOTH = replace(GOODPUT, paths=("ipv4", "ipv6"))


def run_of(value: Value, blocks: int = 6, noise: float = 0.001, column: str = "goodput_bps") -> Run:
    """Trials of `value` with a little noise of their own."""
    address = IPv4Interface("198.18.0.1/24")
    ends = (Interface(node="a", name="eth0", ipv4=address, ipv6=None),) * 2
    link = Link(name="a-b", ends=ends, mtu_bytes=1500)
    combinations = tuple(
        Combination(
            name=f"c{length:04d}",
            workload=Workload(kind="tcp-stream", params={"message_bytes": length, "sndbuf_bytes": 4096}),
            levels={"length_bytes": length},
            topology=0,
        )
        for length in LENGTHS
    )
    experiment = Experiment(
        name="claims",
        title="claims",
        description="",
        file="claims.yaml",
        text="",
        topologies=(Topology(nodes={name: Node(name=name, kind="host") for name in "ab"}, links=(link,)),),
        between=("a", "b"),
        paths=(Path(name="ipv4", mechanism="native4", family=4), Path(name="ipv6", mechanism="native6", family=6)),
        baseline="ipv4",
        combinations=combinations,
        blocks=Blocks(minimum=blocks, maximum=blocks),
        statistics=Statistics(),
        seed=1,
    )
    environment = Environment(
        kernel="6.18", machine="x86_64", cpu="cpu", distribution="Linux", cores=4, memory_bytes=2**30, versions={}
    )
    dice = random.Random(6)
    trials = [
        TrialRecord(
            key=f"b{block:03d}-{combination.name}-{path.name}",
            sequence=block,
            block=block,
            combination=combination.name,
            path=path.name,
            mechanism=path.mechanism,
            engine="kernel",
            workload="tcp-stream",
            params=combination.workload.params,
            levels=combination.levels,
            status="ok",
            started_realtime_ns=0,
            elapsed_ns=1,
            metrics={column: value(path.name, int(combination.levels["length_bytes"])) * (1 + dice.gauss(0, noise))},
        )
        for block in range(1, blocks + 1)
        for combination in combinations
        for path in experiment.paths
    ]
    manifest = Manifest(
        run="r", experiment=experiment, environment=environment, state="complete", started_realtime_ns=0
    )
    return Run(directory=FilePath("none"), manifest=manifest, trials=trials)


def paper_of(*tests: ClaimTest, values: tuple[PublishedValue, ...] = ()) -> Paper:
    claims = tuple(
        Claim(name=f"claim{index}", text="text", source="section 1", test=test) for index, test in enumerate(tests)
    )
    return Paper(
        name="p",
        title="t",
        authors=("a",),
        year=None,
        published="nowhere",
        doc="d",
        systems={"old": "Old Linux"},
        tables=(),
        values=values,
        claims=claims,
        notes=(),
        deviations=(),
    )


def verdict(test: ClaimTest, run: Run) -> ClaimResult:
    actual_estimates = estimates(run)
    [result], _ = judge(paper_of(test), run, findings(run, actual_estimates), actual_estimates)
    return result


def beside(ours: OurMeasurement | OurTheory, run: Run, value: float = 1, unit: str = "%") -> PublishedComparison:
    published = PublishedValue(source="Table 1", what="w", system="old", value=value, unit=unit, ours=ours)
    actual_estimates = estimates(run)
    _, [comparison] = judge(paper_of(values=(published,)), run, findings(run, actual_estimates), actual_estimates)
    return comparison


def slower_ipv6(path: str, length: int) -> float:
    """IPv6 costs 5 % at every length; throughput grows with it."""
    return length * 1e6 * (0.95 if path == "ipv6" else 1.0)


def same(path: str, length: int) -> float:
    return 1e8


# The shipped papers


def experiment(name: str, quick: bool, kernels: tuple[str, ...] = ()) -> Experiment:
    source = read_yaml(EXPERIMENTS / name / "experiment.yaml")
    source = apply_quick(source) if quick else source
    return read_experiment(apply(source, "kernels", list(kernels), "--kernels") if kernels else source, MECHANISMS)


def paper(name: str) -> Paper:
    published = paper_beside(EXPERIMENTS / name / "experiment.yaml")
    assert published is not None
    return published


def imagined(chosen: Experiment) -> Run:
    """A run of it with every metric that its workloads have, a little worse over IPv6 and on later kernels."""
    dice = random.Random(1)

    def level(path: Path, combination: Combination) -> float:
        later = chosen.kernels.index(str(combination.levels[COLUMN])) if len(chosen.kernels) > 1 else 0
        return 1e6 * (1 if path.family == 4 else 1.03) * 1.1**later

    trials = [
        TrialRecord(
            key=f"b{block:03d}-{combination.name}-{path.name}",
            sequence=block,
            block=block,
            combination=combination.name,
            path=path.name,
            mechanism=path.mechanism,
            engine="kernel",
            workload=combination.workload.kind,
            params=combination.workload.params,
            levels=combination.levels,
            status="ok",
            started_realtime_ns=0,
            elapsed_ns=1,
            metrics={
                METRICS[metric].column: level(path, combination) * (1 + dice.gauss(0, 0.01))
                for metric in (*WORKLOADS[combination.workload.kind].metrics, *CPU_METRICS)
            },
        )
        for block in range(1, chosen.blocks.minimum + 1)
        for combination in chosen.combinations
        for path in chosen.paths
    ]
    environment = Environment(
        kernel="6.18", machine="x86_64", cpu="cpu", distribution="Linux", cores=2, memory_bytes=2**30, versions={}
    )
    guests = {name: replace(environment, kernel=f"{name.removeprefix('debian-')}.0-1-amd64") for name in chosen.kernels}
    manifest = Manifest(
        run="r",
        experiment=chosen,
        environment=environment,
        state="complete",
        started_realtime_ns=0,
        guests=guests,
    )
    return Run(directory=FilePath("none"), manifest=manifest, trials=trials)


# A paper from text

HEAD = """\
paper: p
title: t
authors: [a]
published: here
doc: d
systems: {old: Old Linux}
"""


def read(text: str) -> Paper:
    return read_paper(parse_yaml(text, "published.yaml"))


def claim(test: str) -> str:
    return f"{HEAD}claims:\n  - claim: c\n    text: x\n    source: s\n    {test}\n"

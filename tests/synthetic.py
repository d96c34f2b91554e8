"""Runs that never took place, for tests: plausible numbers from a seed, as records, manifests and run directories.

The values follow simple models (header overhead on a link, a time per round trip and byte) with a drift that trials of
one block share and a little noise of their own. They are rounded, so that they are the same on every machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Interface, IPv6Interface
from itertools import pairwise
from pathlib import Path
from typing import Any

from synthetic_values import Noise, Series, evidence, measure

from sixbench.model.direction import LinkDirection
from sixbench.model.experiment import Blocks, Combination, Experiment, PlannedTrial, Statistics
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path as NetworkPath
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.topology import Interface, Link, Node, Topology
from sixbench.model.trial import Status, TrialRecord
from sixbench.model.workload import Workload
from sixbench.store import Environment, Manifest, Run, create_run, read_run

STARTED_NS = 1_760_000_000_000_000_000
SECOND_NS = 10**9

TEXT = """\
experiment: synthetic
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 100Mbit}
    - {endpoints: [r1, r2], rate: 100Mbit}
    - {endpoints: [r2, h2], rate: 100Mbit}
between: [h1, h2]
paths: {ipv4: native4, ipv4-again: native4, ipv6: native6}
"""

NATIVE = (
    NetworkPath(name="ipv4", mechanism="native4", family=4),
    NetworkPath(name="ipv4-again", mechanism="native4", family=4, aa_of="ipv4"),
    NetworkPath(name="ipv6", mechanism="native6", family=6),
)
TRANSITION = (
    *NATIVE,
    NetworkPath(name="router-to-router", mechanism="6in4", family=6, nodes=("r1", "r2"), engine="kernel"),
    NetworkPath(name="host-to-host", mechanism="6over4", family=6, nodes=("h1", "h2"), engine="ebpf"),
)


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """A run that can be written, or used without ever being on a disk (then without its series)."""

    manifest: Manifest
    trials: list[TrialRecord]
    series: dict[str, Series] = field(default_factory=dict)

    def in_memory(self) -> Run:
        """The run, with a directory that does not exist."""
        return Run(directory=Path("runs") / self.manifest.run, manifest=self.manifest, trials=self.trials)

    def write(self, directory: Path) -> Run:
        """Writes the run directory and reads it back."""
        writer = create_run(directory, self.manifest)
        for trial in self.trials:
            writer.add_trial(trial, self.series.get(trial.key, {}))
        return read_run(directory)


def standard(blocks: int = 6) -> Synthetic:
    """IPv4 (twice: an A/A path) and IPv6 at 100 Mbit/s: all workloads, some trials invalid or failed."""
    sizes = [64, 256, 1024, 8192, 65536]
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": [*sizes]}),
        ("tcp-rr", {"message_bytes": [*sizes]}),
        ("tcp-connect", {}),
        ("tcp-crr", {}),
        ("udp-stream", {"datagram_bytes": [1200]}),
        ("ping", {}),
    ]
    run = build(experiment(NATIVE, workloads, blocks=blocks), blocks)
    spoilt: dict[str, tuple[Status, str]] = {
        "b002-c0001-ipv6": ("invalid", "the machine's CPU was busy for 97 % of the trial: the tester was the limit"),
        "b003-c0002-ipv6": ("invalid", "the machine's CPU was busy for 97 % of the trial: the tester was the limit"),
        "b004-c0011-ipv4": ("invalid", "wrong packets on r1-r2: 214 of 214 packets were IPv6"),
        "b005-c0013-ipv6": ("failed", "agent h2: peer-lost: the peer fell silent for 5 s"),
    }
    return spoil(run, spoilt)


def small(blocks: int = 4) -> Synthetic:
    """A bulk transfer at two message sizes and an echo, one trial invalid and one failed: little enough to read."""
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": [64, 65536]}),
        ("ping", {}),
    ]
    run = build(experiment(NATIVE, workloads, blocks=blocks, name="small"), blocks)
    spoilt: dict[str, tuple[Status, str]] = {
        "b002-c0001-ipv6": ("invalid", "the machine's CPU was busy for 97 % of the trial: the tester was the limit"),
        "b003-c0003-ipv4": ("failed", "agent h2: peer-lost: the peer fell silent for 5 s"),
    }
    return replace_run(spoil(run, spoilt), run="small")


def one_block() -> Synthetic:
    """One block only: estimates, but no interval anywhere."""
    return replace_run(standard(blocks=1), run="one-block")


def no_valid_trial() -> Synthetic:
    """Every trial is invalid or failed."""
    run = standard(blocks=2)
    reasons: dict[str, tuple[Status, str]] = {
        trial.key: ("failed", "agent h2 died: exit code 137")
        if index % 3
        else ("invalid", "the clock was stepped by 2 s")
        for index, trial in enumerate(run.trials)
    }
    return replace_run(spoil(run, reasons), run="no-valid-trial", state="partial")


def no_trials() -> Synthetic:
    """Interrupted before the first trial was over."""
    run = standard(blocks=1)
    return replace(replace_run(run, run="no-trials", state="interrupted"), trials=[], series={})


def many_levels(blocks: int = 4) -> Synthetic:
    """Four link rates, two MTUs, six message sizes, five paths (two of them tunnels): several hundred findings."""
    sizes: list[Scalar] = [64, 256, 1024, 4096, 16384, 65536]
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": sizes}),
        ("tcp-rr", {"message_bytes": sizes}),
        ("tcp-connect", {}),
    ]
    links: list[dict[str, Scalar]] = [
        {"link_rate_bps": rate_mbps * 10**6, "link_mtu_bytes": mtu_bytes}
        for rate_mbps in (10, 100, 1000, 10000)
        for mtu_bytes in (1500, 9000)
    ]
    chosen = experiment(TRANSITION, workloads, links=links, blocks=blocks, name="many-levels")
    return replace_run(build(chosen, blocks), run="many-levels")


def transition(blocks: int = 12) -> Synthetic:
    """A paper's experiment: two tunnels against native IPv6."""
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": [64, 1024, 8192, 65536]}),
        ("tcp-connect", {}),
    ]
    chosen = experiment(TRANSITION, workloads, blocks=blocks, name="router-to-router-or-host-to-host", baseline="ipv6")
    paths = tuple(path for path in chosen.paths if path.name != "ipv4-again")
    run = build(replace(chosen, paths=paths), blocks)
    return replace_run(run, run="transition", paper="raicu-zeadally-transition")


def experiment(
    paths: tuple[NetworkPath, ...],
    workloads: list[tuple[str, dict[str, list[Scalar]]]],
    *,
    links: list[dict[str, Scalar]] | None = None,
    blocks: int = 6,
    name: str = "synthetic",
    baseline: str = "ipv4",
) -> Experiment:
    """An experiment on h1 - r1 - r2 - h2: workloads with the levels they sweep, and levels of the links."""
    link_levels: list[dict[str, Scalar]] = links or [{}]
    combinations: list[Combination] = []
    for kind, swept in workloads:
        for index, link in enumerate(link_levels):
            for levels in _product(swept):
                combinations.append(
                    Combination(
                        name=f"c{len(combinations) + 1:04d}",
                        workload=Workload(
                            kind=kind, params={"duration_ns": 5 * SECOND_NS, "warmup_ns": 5 * 10**8} | levels
                        ),
                        levels=levels | link,
                        topology=index,
                    )
                )
    return Experiment(
        name=name,
        title="IPv4 and IPv6 through two routers",
        description="What a native IPv6 path costs against IPv4 where both cross the same two routers.",
        file=f"{name}.yaml",
        text=TEXT,
        topologies=tuple(chain(**_link_settings(link)) for link in link_levels),
        between=("h1", "h2"),
        paths=paths,
        baseline=baseline,
        combinations=tuple(combinations),
        blocks=Blocks(minimum=blocks, maximum=blocks, precision=0.02),
        statistics=Statistics(),
        seed=1,
    )


def chain(
    rate_bps: int | None = 100_000_000, mtu_bytes: int = 1500, names: tuple[str, ...] = ("h1", "r1", "r2", "h2")
) -> Topology:
    """Nodes in a row, the first and the last being hosts."""
    ends = {names[0], names[-1]}
    return Topology(
        nodes={name: Node(name=name, kind="host" if name in ends else "router") for name in names},
        links=tuple(link(a, b, index, rate_bps, mtu_bytes) for index, (a, b) in enumerate(pairwise(names))),
    )


def both_ways(rate_bps: int | None) -> tuple[LinkDirection, LinkDirection]:
    """Both directions of a link at that rate."""
    return LinkDirection(rate_bps=rate_bps), LinkDirection(rate_bps=rate_bps)


def rate_of(link: Link) -> int | None:
    """The rate of a link whose directions are alike."""
    [rate_bps] = {direction.rate_bps for direction in link.directions}
    return rate_bps


def link(a: str, b: str, index: int, rate_bps: int | None = 100_000_000, mtu_bytes: int = 1500) -> Link:
    """A link between two nodes with the `index`-th of the benchmarking prefixes."""

    def end(node: str, host: int) -> Interface:
        return Interface(
            node=node,
            name=f"eth-{index}",
            ipv4=IPv4Interface(f"198.18.{index}.{host}/24"),
            ipv6=IPv6Interface(f"2001:2:0:{index:x}::{host}/64"),
        )

    return Link(
        name=f"{a}-{b}",
        ends=(end(a, 1), end(b, 2)),
        mtu_bytes=mtu_bytes,
        directions=both_ways(rate_bps),
    )


def environment() -> Environment:
    """A machine."""
    return Environment(
        kernel="6.18.0",
        machine="x86_64",
        cpu="Example CPU at 2.50GHz",
        distribution="Debian GNU/Linux 13 (trixie)",
        cores=2,
        memory_bytes=8 * 2**30,
        versions={"sixbench": "0.1.0", "agent": "0.1.0", "python": "3.11.9", "iproute2": "6.15.0", "numpy": "2.1.0"},
        sysctls={"net.ipv4.tcp_congestion_control": "bbr", "net.ipv4.tcp_rmem": "4096\t131072\t6291456"},
    )


_WRONG: dict[Status, ReasonKind] = {"invalid": ReasonKind.CPU_LIMITED, "failed": ReasonKind.AGENT_FAILED}


def spoil(run: Synthetic, reasons: dict[str, tuple[Status, str]]) -> Synthetic:
    """The run with some trials, by key, made invalid or failed."""
    trials = []
    for trial in run.trials:
        if trial.key in reasons:
            status, reason = reasons[trial.key]
            wrong = Reason(kind=_WRONG[status], text=reason)
            kept = trial.metrics if status == "invalid" else {}
            trials.append(replace(trial, status=status, reasons=[wrong], metrics=kept, histograms={}))
        else:
            trials.append(trial)
    return replace(run, trials=trials)


def disturb(run: Synthetic, key: str, times: int = 1) -> Synthetic:
    """The run with a trial that the machine disturbed so many times, until its repeat was valid: two are allowed."""
    late = [Reason(kind=ReasonKind.LATE_TIMERS, text="late timers kept r1 from sending on r1-r2")]
    trials: list[TrialRecord] = []
    for trial in run.trials:
        if trial.key != key:
            trials.append(trial)
            continue
        for number in range(times + 1):
            again = replace(trial, key=f"{key}+{number}", repeat=number) if number else trial
            spoilt = {"status": "invalid", "reasons": late, "metrics": {"goodput_bps": 1.0}}
            trials.append(replace(again, **(spoilt if number < times else {})))  # type: ignore[arg-type]
    numbered = [replace(trial, sequence=number) for number, trial in enumerate(trials, 1)]
    changed = replace_run(run, experiment=replace(run.manifest.experiment, repeats=2))
    return replace(changed, trials=numbered)


def replace_run(run: Synthetic, /, **changes: Any) -> Synthetic:
    """The run with some fields of its manifest changed."""
    return replace(run, manifest=replace(run.manifest, **changes))


def _link_settings(levels: dict[str, Scalar]) -> dict[str, int]:
    names = {"link_rate_bps": "rate_bps", "link_mtu_bytes": "mtu_bytes"}
    return {names[column]: int(value) for column, value in levels.items()}


def _product(swept: dict[str, list[Scalar]]) -> list[dict[str, Scalar]]:
    combinations: list[dict[str, Scalar]] = [{}]
    for column, values in swept.items():
        combinations = [levels | {column: value} for levels in combinations for value in values]
    return combinations


def build(chosen: Experiment, blocks: int) -> Synthetic:
    trials: list[TrialRecord] = []
    series: dict[str, Series] = {}
    for block in range(1, blocks + 1):
        for combination in chosen.combinations:
            drift = random.Random(f"{chosen.seed}/{block}/{combination.name}").gauss(0, 0.004)
            for path in chosen.paths:
                planned = PlannedTrial(block=block, combination=combination.name, path=path.name)
                dice = random.Random(f"{chosen.seed}/{planned.key}")
                trial, of_trial = _trial(chosen, combination, path, planned, len(trials) + 1, Noise(dice, drift))
                trials.append(trial)
                if of_trial:
                    series[trial.key] = of_trial
    manifest = Manifest(
        run="synthetic",
        experiment=chosen,
        environment=environment(),
        state="complete",
        started_realtime_ns=STARTED_NS,
        ended_realtime_ns=STARTED_NS + 6 * SECOND_NS * len(trials),
        command=["sixbench", "run", chosen.file, "--seed", "1", "--out", "runs/a run"],
        lab_build_ns=[180_000_000],
        install_ns={path.name: [61_000_000, 58_500_000, 90_000_000] for path in chosen.paths if path.nodes},
    )
    return Synthetic(manifest=manifest, trials=trials, series=series)


def _trial(
    chosen: Experiment, combination: Combination, path: NetworkPath, planned: PlannedTrial, sequence: int, noise: Noise
) -> tuple[TrialRecord, Series]:
    link_used = chosen.topologies[combination.topology].links[1]
    measured = measure(combination, path, link_used, noise)
    record = TrialRecord(
        key=planned.key,
        sequence=sequence,
        block=planned.block,
        combination=combination.name,
        path=path.name,
        mechanism=path.mechanism,
        engine=path.engine or "kernel",
        workload=combination.workload.kind,
        params=combination.workload.params,
        levels=combination.levels,
        status="ok",
        started_realtime_ns=STARTED_NS + 6 * SECOND_NS * sequence,
        elapsed_ns=5_600_000_000,
        metrics=measured.metrics,
        theory=measured.theory,
        limited_by="path",
        histograms=measured.histograms,
        evidence=evidence(path, chosen.topologies[combination.topology], chosen.between),
    )
    return record, measured.series

"""Trials of made-up values and their experiment: for tests of what is concluded from numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sixbench.model.experiment import Blocks, Combination, Experiment, Statistics
from sixbench.model.path import Path
from sixbench.model.trial import Status, TrialRecord
from sixbench.model.workload import Workload


def combination_of(name: str, **levels: Any) -> Combination:
    """A combination of bulk transfer."""
    return Combination(name=name, workload=Workload(kind="tcp-stream", params={}), levels=levels, topology=0)


def experiment_of(
    paths: Sequence[Path], combinations: Sequence[Combination], blocks: Blocks, **statistics: Any
) -> Experiment:
    """An experiment without a network. Its baseline is the first path."""
    return Experiment(
        name="made-up",
        title="",
        description="",
        file="made-up.yaml",
        text="",
        topologies=(),
        between=("h1", "h2"),
        paths=tuple(paths),
        baseline=paths[0].name,
        combinations=tuple(combinations),
        blocks=blocks,
        statistics=Statistics(**statistics),
        seed=1,
    )


def trial_of(
    combination: str, path: str, block: int, metrics: Mapping[str, float], status: Status = "ok", **changes: Any
) -> TrialRecord:
    """A trial of bulk transfer, unless `changes` say otherwise."""
    values: dict[str, Any] = {
        "key": f"b{block:03d}-{combination}-{path}",
        "sequence": block,
        "block": block,
        "combination": combination,
        "path": path,
        "mechanism": "native4",
        "engine": "kernel",
        "workload": "tcp-stream",
        "params": {},
        "levels": {},
        "status": status,
        "started_realtime_ns": 0,
        "elapsed_ns": 1,
        "metrics": dict(metrics),
    }
    return TrialRecord(**(values | changes))


def trials_of(combination: str, values: Mapping[str, Sequence[float | None]]) -> list[TrialRecord]:
    """One goodput a block by path; None is a failed trial."""
    return [
        trial_of(combination, path, block, {}, "failed")
        if value is None
        else trial_of(combination, path, block, {"goodput_bps": value})
        for path, of_path in values.items()
        for block, value in enumerate(of_path, start=1)
    ]

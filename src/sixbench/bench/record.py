"""The record of a trial: as it is before the trial, and results in the form in which it keeps them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..mechanisms import engine_of
from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.json_object import JsonObject
from ..model.path import Path
from ..model.programs.end import PROGRAM
from ..model.trial import TrialRecord
from ..model.workload import Result, WorkloadKind
from ..model.workloads import WORKLOADS


@dataclass(frozen=True, kw_only=True)
class TrialTask:
    """A trial of an experiment that is to be run.

    Attributes:
        sequence: its place in the order of execution, from 1.
    """

    experiment: Experiment
    combination: Combination
    planned: PlannedTrial
    sequence: int

    @property
    def path(self) -> Path:
        return self.experiment.path(self.planned.path)

    @property
    def kind(self) -> WorkloadKind:
        return WORKLOADS[self.combination.workload.kind]


def blank_record(trial: TrialTask) -> TrialRecord:
    """The record of a trial before anything is known about how it went."""
    path, combination = trial.path, trial.combination
    return TrialRecord(
        key=trial.planned.key,
        sequence=trial.sequence,
        block=trial.planned.block,
        combination=combination.name,
        path=path.name,
        mechanism=path.mechanism,
        engine=engine_of(path),
        workload=combination.workload.kind,
        params=dict(combination.workload.params),
        levels=dict(combination.levels),
        status="failed",
        started_realtime_ns=time.time_ns(),
        elapsed_ns=0,
        repeat=trial.planned.repeat,
    )


def without_series(result: Result) -> JsonObject:
    """A result in the form in which a record keeps it, without what is stored elsewhere (series, histograms' buckets,
    packets, programs)."""
    kept: JsonObject = {}
    for key, value in result.items():
        if not isinstance(value, dict):
            kept[key] = value
        elif key not in ("series", "packet_log", PROGRAM) and "buckets" not in value:
            kept[key] = without_series(value)
    return kept

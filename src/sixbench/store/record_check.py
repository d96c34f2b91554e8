"""Checks whether a record that was read belongs to its run.

A record may come from anyone. `model.record_types` says which types it has; here it is held against the experiment.
Code that computes with a record or shows it relies on both checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ..model.experiment import Experiment, PlannedTrial
from ..model.quoting import shown, visible
from ..model.trial import TrialRecord

_OF_NUMBERS = ("_ns", "_pps")
"""Endings of parameters with which reports compute: times, and rates of packets."""


@dataclass(frozen=True, kw_only=True)
class RecordPlan:
    """The experiment's plan, for looking it up once a record.

    Attributes:
        workloads: the kind of workload of each combination, by name.
        mechanisms: the mechanism of each path, by name.
        paths: the paths that each combination goes over, by name.
        workers: the machines that measured, by name; empty for a run on one machine.
    """

    workloads: Mapping[str, str]
    mechanisms: Mapping[str, str]
    paths: Mapping[str, frozenset[str]]
    workers: Collection[str]

    @classmethod
    def of(cls, experiment: Experiment, workers: Collection[str]) -> RecordPlan:
        """The plan of an experiment that these workers measure."""
        return cls(
            workloads={combination.name: combination.workload.kind for combination in experiment.combinations},
            mechanisms={path.name: path.mechanism for path in experiment.paths},
            paths={
                combination.name: frozenset(path.name for path in experiment.paths_of(combination))
                for combination in experiment.combinations
            },
            workers=workers,
        )


def problems_of(record: TrialRecord, directory: str, planned: RecordPlan) -> Iterator[str]:
    """The problem with a record, in words.

    Args:
        directory: the name of the directory that the record is in.
        planned: what the experiment of the run plans.
    """
    key = PlannedTrial(block=record.block, combination=record.combination, path=record.path, repeat=record.repeat).key
    if not record.key == key == directory:
        what = f"block {record.block}, {shown(record.combination)}, {shown(record.path)}"
        yield f"it is the record of {shown(record.key)}: {what}"
        return
    yield from _not_planned(record, planned)
    for column, value in record.params.items():
        if column.endswith(_OF_NUMBERS) and not isinstance(value, (int, float)):
            yield f"params.{visible(column)} is {shown(value)}, which is not a number"
    if record.worker is None and planned.workers:
        yield "it does not say which worker measured it"
    elif record.worker is not None and record.worker not in planned.workers:
        yield f"the run has no worker {shown(record.worker)}"
    if record.status == "ok" and record.reasons:
        yield "its status is ok, but it has reasons for another status"


def _not_planned(record: TrialRecord, planned: RecordPlan) -> Iterator[str]:
    workload = planned.workloads.get(record.combination)
    if workload is None:
        yield f"the experiment has no combination {shown(record.combination)}"
    elif workload != record.workload:
        yield f"its workload is {shown(record.workload)}, and that of {record.combination} is {workload}"
    mechanism = planned.mechanisms.get(record.path)
    if mechanism is None:
        yield f"the experiment has no path {shown(record.path)}"
    elif mechanism != record.mechanism:
        yield f"its mechanism is {shown(record.mechanism)}, and that of {record.path} is {mechanism}"
    elif workload is not None and record.path not in planned.paths[record.combination]:
        yield f"{record.combination} does not go over {record.path}"

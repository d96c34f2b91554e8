"""Readings, taken from the trials of a run: what each trial says of its truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..model.trial import TrialRecord
from ..store import Run
from .design import FACTOR
from .metric import CalibratedMetric, Level, Reading, ReadingSource

TRIALS = "trials"


@dataclass(kw_only=True)
class Readings:
    """All trials of one truth over one path.

    Attributes:
        by_block: the readings of valid trials.
        unusable: the reasons why the other trials have none, and how many trials have each.
    """

    metric: CalibratedMetric
    level: Level
    path: str
    by_block: dict[int, Reading] = field(default_factory=dict)
    unusable: Counter[str] = field(default_factory=Counter)


def readings(run: Run, metrics: Iterable[CalibratedMetric]) -> list[Readings]:
    """The readings by metric, path and truth, in the order of the registry and the experiment. Metrics that the
    registry no longer has are left out."""
    known = {metric.name: metric for metric in metrics}
    references = _references(run, known)
    results: dict[tuple[str, str, float], Readings] = {}
    for record in run.trials:
        metric = known.get(str(record.levels.get(FACTOR)))
        level = None if metric is None else _level(metric, record)
        if metric is None or level is None or level.is_reference:
            continue
        key = (metric.name, record.path, level.truth)
        of_level = results.setdefault(key, Readings(metric=metric, level=level, path=record.path))
        if record.status != "ok":
            of_level.unusable[record.reasons[0].text if record.reasons else record.status] += 1
            continue
        reference = references.get((metric.name, record.block, record.path, level.reference))
        directory = run.directory / TRIALS / record.key
        reading = metric.read(ReadingSource(level=level, record=record, reference=reference, directory=directory))
        if reading is None:
            of_level.unusable["it, or the trial that it is compared with, does not say"] += 1
        else:
            of_level.by_block[record.block] = reading
    order = {name: number for number, name in enumerate(known)}
    paths = {path.name: number for number, path in enumerate(run.manifest.experiment.paths)}
    return sorted(
        results.values(), key=lambda of_level: (order[of_level.metric.name], paths[of_level.path], of_level.level.truth)
    )


def _references(run: Run, known: dict[str, CalibratedMetric]) -> dict[tuple[str, int, str, float | None], TrialRecord]:
    """The valid reference trials by metric, block, path and truth."""
    records: dict[tuple[str, int, str, float | None], TrialRecord] = {}
    for record in run.trials:
        metric = known.get(str(record.levels.get(FACTOR)))
        level = None if metric is None else _level(metric, record)
        if metric is not None and level is not None and level.is_reference and record.status == "ok":
            records[metric.name, record.block, record.path, level.truth] = record
    return records


def _level(metric: CalibratedMetric, record: TrialRecord) -> Level | None:
    truth = record.levels.get(metric.column)
    return next((level for level in metric.levels if level.truth == truth), None)

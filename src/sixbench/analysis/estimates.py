"""The results of each path by itself: the value of every metric over its valid trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..model.experiment import Experiment, Statistics
from ..model.finding import Estimate
from ..model.metric import COLUMNS, METRICS
from ..model.quantity import Metric
from ..model.trial import TrialRecord
from ..stats import own_values, trimmed_mean

if TYPE_CHECKING:
    from ..store import Run


@dataclass(kw_only=True)
class PathTrials:
    """The trials of one path at one combination.

    Attributes:
        ok: the valid ones, by block. Only they enter a statistic.
        invalid: how many are invalid or failed.
        theory: what the path should give, by column. It is the same in all of its trials, so it is taken from the
            first.
    """

    ok: dict[int, TrialRecord] = field(default_factory=dict)
    invalid: int = 0
    theory: dict[str, float] = field(default_factory=dict)

    @property
    def attempted(self) -> bool:
        """True if there was any trial."""
        return bool(self.ok) or self.invalid > 0


def group_trials(run: Run) -> dict[tuple[str, str], PathTrials]:
    """The trials by combination and path, for every combination and each path that it goes over."""
    return by_path(run.manifest.experiment, run.trials)


def by_path(experiment: Experiment, trials: Iterable[TrialRecord]) -> dict[tuple[str, str], PathTrials]:
    """These trials by combination and path, for every combination and each path that it goes over."""
    groups = {(combination.name, path.name): PathTrials() for combination, path in experiment.path_combinations}
    for trial in trials:
        group = groups.setdefault((trial.combination, trial.path), PathTrials())
        if trial.status == "ok":
            group.ok[trial.block] = trial
        else:
            group.invalid += 1
        for column, value in trial.theory.items():
            group.theory.setdefault(column, value)
    return groups


def measured_metrics(group: PathTrials) -> list[Metric]:
    """The metrics that any valid trial has, in the registry's order. Columns that the registry does not know are left
    out."""
    columns = {column for trial in group.ok.values() for column in trial.metrics}
    return [metric for column, metric in COLUMNS.items() if column in columns]


def estimates(run: Run) -> list[Estimate]:
    """One estimate for each combination, path and metric that was measured, in the order of experiment and registry.

    The value and its interval are those of `stats.own_value`: robust, and never negative where no value is. Blocks
    count as independent. With `experiment.statistics.trim` it is the mean without so many of the lowest and of the
    highest trials, and the interval is that of the mean of all valid trials. To compare paths use findings, which are
    paired and immune to what drifts from block to block.
    """
    experiment = run.manifest.experiment
    groups = group_trials(run)
    pairs: list[tuple[Estimate, list[float]]] = []
    for combination, path in experiment.path_combinations:
        group = groups[combination.name, path.name]
        for metric in measured_metrics(group):
            column = metric.column
            values = [trial.metrics[column] for trial in group.ok.values() if column in trial.metrics]
            estimate = Estimate(
                workload=combination.workload.kind,
                metric=metric.name,
                unit=metric.unit,
                levels=combination.levels,
                combination=combination.name,
                path=path.name,
                n=len(values),
                value=values[0],
                theory=group.theory.get(column),
            )
            pairs.append((estimate, values))
    return _with_values(pairs, experiment.statistics)


def _with_values(pairs: list[tuple[Estimate, list[float]]], statistics: Statistics) -> list[Estimate]:
    """Those of equal n and of one scale at once, which is what makes thousands cheap."""
    results = [estimate for estimate, _ in pairs]
    alike: dict[tuple[int, bool, bool], list[int]] = defaultdict(list)
    for index, estimate in enumerate(results):
        metric = METRICS[estimate.metric]
        alike[estimate.n, metric.scale == "ratio", metric.may_be_negative].append(index)
    for (_, by_ratio, may_be_negative), indices in alike.items():
        samples = np.array([pairs[index][1] for index in indices], dtype=np.float64)
        values = own_values(
            samples,
            statistics.confidence,
            by_ratio=by_ratio,
            may_be_negative=may_be_negative,
            estimator="mean" if statistics.trim else statistics.estimator,
        )
        for place, index in enumerate(indices):
            known = {
                "value": trimmed_mean(pairs[index][1], statistics.trim)
                if statistics.trim
                else float(values.value[place]),
                "ci_low": None if values.low is None else float(values.low[place]),
                "ci_high": None if values.high is None else float(values.high[place]),
                "outlying": int(values.outlying[place]),
            }
            # Not by `replace`, which takes ten times as long.
            results[index] = Estimate(**{**vars(results[index]), **known})
    return results

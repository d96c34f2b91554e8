"""The results of each path by itself: the mean of every metric over its valid trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..model.experiment import Experiment
from ..model.finding import Estimate
from ..model.metric import COLUMNS, Metric
from ..model.trial import TrialRecord
from ..stats import half_widths, trimmed_mean

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
        """Whether there was any trial."""
        return bool(self.ok) or self.invalid > 0


def group_trials(run: Run) -> dict[tuple[str, str], PathTrials]:
    """The trials by combination and path, for every combination and each path that it goes over."""
    return by_path(run.manifest.experiment, run.trials)


def by_path(experiment: Experiment, trials: Iterable[TrialRecord]) -> dict[tuple[str, str], PathTrials]:
    """These trials by combination and path, for every combination and each path that it goes over."""
    groups = {(combination.name, path.name): PathTrials() for combination, path in experiment.cells}
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

    The value is the mean without the `experiment.statistics.trim` lowest and highest trials. Its interval is that of
    the mean of all valid trials, as if blocks were independent. To compare paths use findings, which are paired
    and immune to what drifts from block to block.
    """
    experiment = run.manifest.experiment
    groups = group_trials(run)
    found: list[tuple[Estimate, list[float]]] = []
    for combination, path in experiment.cells:
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
                value=trimmed_mean(values, experiment.statistics.trim),
                theory=group.theory.get(column),
            )
            found.append((estimate, values))
    return _with_intervals(found, experiment.statistics.confidence)


def _with_intervals(found: list[tuple[Estimate, list[float]]], confidence: float) -> list[Estimate]:
    """Those of equal n at once, which is what makes thousands cheap."""
    results = [estimate for estimate, _ in found]
    for n in {estimate.n for estimate in results} - {1}:
        indices = [index for index, estimate in enumerate(results) if estimate.n == n]
        values = np.array([found[index][1] for index in indices], dtype=np.float64)
        centres, widths = values.mean(axis=1), half_widths(values, [confidence])[0]
        for index, low, high in zip(indices, (centres - widths).tolist(), (centres + widths).tolist(), strict=True):
            # Built anew rather than with `replace`, which takes ten times as long.
            results[index] = Estimate(**{**vars(results[index]), "ci_low": low, "ci_high": high})
    return results

"""Compares two runs of one experiment: every metric, by workload, path and levels, and whether it became worse by more
than a limit.

*Samples.* The trials of the two runs come from different blocks, so they form no pairs. They are compared by Welch's t
(`stats.unpaired`), by ratio or by difference as in findings. A metric that is a share (loss) changes by percentage
points, and the limit is a limit of the share itself. For other metrics that are compared by difference, the limit is a
share of the old mean.

*The limit.* The hypothesis is that a metric became worse by at most the limit. It is over the limit if this is rejected
at half of 1 - confidence, which means that the whole interval is beyond the limit. The p-values are adjusted by Holm
over all comparisons that the limit is for. The chance that any of them is wrongly called worse is at most half of 1 -
confidence. Where neither run has any spread (a virtual clock), nothing is left to chance, and the values decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import exp, fsum, log, log1p, sinh
from typing import TYPE_CHECKING

from ..model.errors import UsageError
from ..model.experiment import Experiment
from ..model.metric import METRICS
from ..model.parameter import Scalar
from ..model.quantity import Metric
from ..model.run_comparison import Change, ComparedMetric, Lacking, RunComparison, TrialSample
from ..model.workloads import WORKLOADS
from ..stats import Unpaired, compare_unpaired, half_width, holm
from ..stats.comparison import LARGEST_LOG
from .blocks_needed import Unanswered, more_precise
from .clock import RunClock, clock_of, shown_metric
from .estimates import PathTrials, group_trials, measured_metrics
from .run_settings import check_comparable, differing_settings

if TYPE_CHECKING:
    from ..store import Run

Place = tuple[str, tuple[tuple[str, Scalar], ...], int, str]
"""Workload, levels, number among several such combinations, path."""


def compare_runs(old: Run, new: Run, limit: float | None = None, metrics: Collection[str] = ()) -> RunComparison:
    """Compares a new run with an old one.

    Args:
        limit: the share by which a metric may become worse, at least 0 and under 1. None: there is no limit.
        metrics: the metrics that the limit is for. Empty: the headline metrics of each workload.

    Raises:
        UsageError: the runs cannot be compared, or they have nothing in common.
    """
    check_comparable(old, new)
    clock = clock_of(old)
    confidence = old.manifest.experiment.statistics.confidence
    before, after = _places(old), _places(new)
    compared = [
        item
        for place in before
        if place in after
        for item in _compared(place, before[place], after[place], metrics, confidence, clock)
    ]
    if not compared:
        raise UsageError(
            f"{old.directory} and {new.directory} have no workload, path and levels in common "
            "for which both have valid trials"
        )
    return RunComparison(
        experiment=old.manifest.experiment.name,
        old=old.manifest.run,
        new=new.manifest.run,
        clock=str(clock),
        confidence=confidence,
        limit=limit,
        settings=differing_settings(old, new),
        metrics=_judged(compared, limit, old.manifest.experiment),
        lacking=_lacking(before, after),
    )


@dataclass(frozen=True, kw_only=True)
class _Compared:
    compared: ComparedMetric
    metric: Metric
    unpaired: Unpaired
    is_gated: bool


def _places(run: Run) -> dict[Place, PathTrials]:
    """The trials by workload, path and levels, which does not depend on the names of combinations."""
    groups = group_trials(run)
    seen: dict[tuple[str, tuple[tuple[str, Scalar], ...]], int] = defaultdict(int)
    places: dict[Place, PathTrials] = {}
    for combination in run.manifest.experiment.combinations:
        kind, levels = combination.workload.kind, tuple(sorted(combination.levels.items()))
        for path in run.manifest.experiment.paths_of(combination):
            places[kind, levels, seen[kind, levels], path.name] = groups[combination.name, path.name]
        seen[kind, levels] += 1
    return places


def _compared(
    place: Place,
    before: PathTrials,
    after: PathTrials,
    metrics: Collection[str],
    confidence: float,
    clock: RunClock,
) -> list[_Compared]:
    workload, levels, _, path = place
    common = [metric for metric in measured_metrics(before) if metric in measured_metrics(after)]
    results = []
    for metric in common:
        shown, divisor = shown_metric(metric, clock)
        samples = [[value / divisor for value in _values(group, metric)] for group in (before, after)]
        unpaired = compare_unpaired(samples[0], samples[1], metric.scale)
        interval = unpaired.interval(confidence)
        headline = metric.name in WORKLOADS[workload].headline
        compared = ComparedMetric(
            workload=workload,
            metric=shown.name,
            unit=shown.unit,
            levels=dict(levels),
            path=path,
            old=_sample(samples[0], confidence, is_ratio=unpaired.is_ratio),
            new=_sample(samples[1], confidence, is_ratio=unpaired.is_ratio),
            change="inconclusive",
            ratio=unpaired.change if unpaired.is_ratio else None,
            difference=None if unpaired.is_ratio else unpaired.change,
            ci_low=None if interval is None else interval[0],
            ci_high=None if interval is None else interval[1],
            headline=headline,
        )
        is_named = metric.name in metrics or shown.name in metrics
        is_gated = (is_named if metrics else headline) and metric.better != "neither"
        results.append(_Compared(compared=compared, metric=metric, unpaired=unpaired, is_gated=is_gated))
    return results


def _values(group: PathTrials, metric: Metric) -> list[float]:
    return [trial.metrics[metric.column] for trial in group.ok.values() if metric.column in trial.metrics]


def _sample(values: Sequence[float], confidence: float, *, is_ratio: bool) -> TrialSample:
    """The mean that the change is of: geometric where that is a ratio."""
    if not is_ratio:
        return TrialSample(n=len(values), value=fsum(values) / len(values), half_width=half_width(values, confidence))
    logs = [log(value) for value in values]
    value = min(max(exp(fsum(logs) / len(logs)), min(values)), max(values))
    width = half_width(logs, confidence)
    return TrialSample(
        n=len(values), value=value, half_width=None if width is None else value * sinh(min(width, LARGEST_LOG))
    )


def _judged(compared: Sequence[_Compared], limit: float | None, experiment: Experiment) -> list[ComparedMetric]:
    """The comparisons with what was decided of them.

    Args:
        experiment: the old run's: its margins, its confidence, and the precision that it asks for.
    """
    compared_metrics = [item.compared for item in compared]
    error = 1 - experiment.statistics.confidence
    for name in METRICS:
        indices = [index for index, item in enumerate(compared) if item.metric.name == name]
        for index, p_value in zip(indices, holm([compared[i].unpaired.p_none() for i in indices]), strict=True):
            compared_metrics[index] = _answered(compared[index], p_value, experiment)
    if limit is not None:
        gated = [index for index, item in enumerate(compared) if item.is_gated]
        for index, p_value in zip(gated, holm([_p_within(compared[i], limit) for i in gated]), strict=True):
            compared_metrics[index] = replace(
                compared_metrics[index], is_over=None if p_value is None else p_value < error / 2
            )
    return compared_metrics


def _answered(item: _Compared, p_value: float | None, experiment: Experiment) -> ComparedMetric:
    """The comparison with its change, with its equivalence, and with the blocks that would tell where it has
    neither."""
    error = 1 - experiment.statistics.confidence
    change = _change(item, p_value, error)
    is_equivalent = item.unpaired.is_within(
        _bound(item, experiment.statistics.margin_of(item.compared.workload)), error
    )
    compared = replace(item.compared, p_value=p_value, change=change, is_equivalent=is_equivalent)
    if p_value is None or change != "inconclusive" or is_equivalent:
        return compared
    unanswered = Unanswered(
        n=max(compared.old.n, compared.new.n),
        ratio=compared.ratio,
        difference=compared.difference,
        low=compared.ci_low,
        high=compared.ci_high,
        spread=item.unpaired.spread,
        unit=compared.unit,
        values=(compared.new.value, compared.old.value),
    )
    needed = more_precise(unanswered, experiment.blocks.precision, experiment.statistics.confidence)
    return compared if needed is None else replace(compared, blocks_needed=needed.blocks, blocks_tell=needed.tells)


def _change(item: _Compared, p_value: float | None, error: float) -> Change:
    if p_value is None or p_value >= error:
        return "inconclusive"
    direction: Change = "higher" if item.unpaired.shift > 0 else "lower"
    if item.metric.better == "neither":
        return direction
    return "better" if direction == item.metric.better else "worse"


def _p_within(item: _Compared, limit: float) -> float | None:
    """The p-value of the hypothesis that a metric became worse by at most the limit."""
    if item.metric.better == "lower":
        return item.unpaired.p_at_most(_bound(item, limit))
    return item.unpaired.p_at_least(-_bound(item, limit) if not item.unpaired.is_ratio else log1p(-limit))


def _bound(item: _Compared, limit: float) -> float:
    if item.unpaired.is_ratio:
        return log1p(limit)
    is_share = item.metric.scale == "difference" and item.metric.unit == "1"
    return limit if is_share else limit * abs(item.compared.old.value)


def _lacking(before: dict[Place, PathTrials], after: dict[Place, PathTrials]) -> list[Lacking]:
    lackings = []
    for place in {**before, **after}:
        worked = [place in side and bool(side[place].ok) for side in (before, after)]
        if worked[0] != worked[1]:
            workload, levels, _, path = place
            lacks = after if worked[0] else before
            lackings.append(
                Lacking(
                    workload=workload,
                    levels=dict(levels),
                    path=path,
                    absent="new" if worked[0] else "old",
                    is_planned=place in lacks,
                )
            )
    return lackings

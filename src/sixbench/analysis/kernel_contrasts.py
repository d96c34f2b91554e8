"""The kernels of a run against the one that it names first, path by path and paired by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..model.experiment import Combination, Statistics
from ..model.finding import KernelContrast
from ..model.kernels import COLUMN
from ..model.quantity import Metric
from ..model.workloads import WORKLOADS
from ..stats import Comparison, Pairs
from .blocks_needed import Unanswered, more_precise
from .candidates import adjusted_within, common_blocks, compare_each, direction, pairs_of, verdict
from .clock import RunClock, shown_metric
from .estimates import PathTrials, group_trials, measured_metrics
from .mixtures import apart_pairs

if TYPE_CHECKING:
    from ..store import Run


@dataclass(frozen=True, kw_only=True)
class _Contrast:
    """A comparison to be made: a combination on one kernel, against that on the reference."""

    combination: Combination
    reference: Combination
    metric: Metric
    path: str
    pairs: Pairs


def kernel_contrasts(run: Run, clock: RunClock) -> list[KernelContrast]:
    """One contrast for each path but A/A ones, kernel but the first, combination of the other levels, and metric that
    both have in some block. Empty for a run on one kernel. P-values are adjusted over all contrasts of a metric
    (Holm)."""
    experiment = run.manifest.experiment
    statistics, asked = experiment.statistics, experiment.blocks.precision
    contrasts = list(_contrasts(run))
    margins = [statistics.margin_of(contrast.combination.workload.kind) for contrast in contrasts]
    pairs = [contrast.pairs for contrast in contrasts]
    comparisons = compare_each(pairs, margins, statistics, [None] * len(pairs))
    p_values = adjusted_within([contrast.metric.name for contrast in contrasts], comparisons)
    return [
        _with_blocks_needed(_result(contrast, comparison, p_value, statistics, clock), asked, statistics.confidence)
        for contrast, comparison, p_value in zip(contrasts, comparisons, p_values, strict=True)
    ]


def _contrasts(run: Run) -> Iterator[_Contrast]:
    experiment, groups = run.manifest.experiment, group_trials(run)
    kernels: dict[object, list[Combination]] = {}
    for combination in experiment.combinations:
        if COLUMN in combination.levels:
            kernels.setdefault(_without_kernel(combination), []).append(combination)
    for reference, *others in kernels.values():
        for combination in others:
            for path in experiment.paths_of(combination):
                if path.aa_of is not None:
                    continue
                group = groups[combination.name, path.name]
                base = groups.get((reference.name, path.name), PathTrials())
                for metric in measured_metrics(group):
                    blocks = common_blocks(group, base, metric.column)
                    if blocks:
                        yield _Contrast(
                            combination=combination,
                            reference=reference,
                            metric=metric,
                            path=path.name,
                            pairs=pairs_of(group, base, metric, blocks),
                        )


def _without_kernel(combination: Combination) -> object:
    """Everything that combinations share which differ by their kernel alone."""
    levels = {column: value for column, value in combination.levels.items() if column != COLUMN}
    workload = combination.workload
    return workload.kind, tuple(sorted(workload.params.items())), tuple(levels.items()), combination.topology


def _result(
    contrast: _Contrast, comparison: Comparison, p_value: float | None, statistics: Statistics, clock: RunClock
) -> KernelContrast:
    metric, divisor = shown_metric(contrast.metric, clock)
    error = 1 - statistics.confidence
    apart = apart_pairs(contrast.pairs, comparison, statistics.margin_of(contrast.combination.workload.kind))
    ends_divisor = 1.0 if comparison.ratio is not None else divisor
    levels = contrast.combination.levels
    return KernelContrast(
        workload=contrast.combination.workload.kind,
        metric=metric.name,
        unit=metric.unit,
        levels={column: value for column, value in levels.items() if column != COLUMN},
        path=contrast.path,
        kernel=str(levels[COLUMN]),
        reference=str(contrast.reference.levels[COLUMN]),
        n=comparison.n,
        verdict=verdict(comparison, p_value, contrast.metric, error),
        direction=direction(comparison, p_value, error),
        apart=len(apart),
        apart_low=min(apart, default=None),
        apart_high=max(apart, default=None),
        value=_divided(comparison.value, divisor),
        reference_value=_divided(comparison.baseline, divisor),
        ratio=comparison.ratio,
        difference=_divided(comparison.difference, divisor),
        ci_low=_divided(comparison.low, ends_divisor),
        ci_high=_divided(comparison.high, ends_divisor),
        p_value=p_value,
        spread=_divided(comparison.spread, ends_divisor),
        headline=contrast.metric.name in WORKLOADS[contrast.combination.workload.kind].headline,
    )


def _with_blocks_needed(contrast: KernelContrast, asked: float | None, confidence: float) -> KernelContrast:
    """The contrast, with the blocks that would decide it where it is undecided or too variable."""
    if contrast.mark not in ("undecided", "too variable"):
        return contrast
    needed = more_precise(Unanswered.of(contrast), asked, confidence)
    return contrast if needed is None else replace(contrast, blocks_needed=needed.blocks, blocks_tell=needed.tells)


def _divided(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor

"""The comparisons that can be made of trials, and the finding that each becomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.experiment import Combination, Experiment, Statistics
from ..model.finding import Direction, Finding, Verdict
from ..model.metric import METRICS
from ..model.path import Path
from ..model.quantity import Metric
from ..model.workloads import WORKLOADS
from ..stats import Comparison, Looks, Pairs, compare_all, holm
from .estimates import PathTrials, measured_metrics
from .mixtures import apart_pairs


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A comparison to be made.

    Attributes:
        workers: the machine that measured each pair; None: that of the run.
    """

    combination: Combination
    metric: Metric
    path: Path
    baseline: str
    pairs: Pairs
    workers: tuple[str | None, ...]
    invalid: int
    theory: float | None
    theory_baseline: float | None

    @property
    def is_headline(self) -> bool:
        """True if it is in a headline metric of its workload."""
        return self.metric.name in WORKLOADS[self.combination.workload.kind].headline


def candidates(
    experiment: Experiment, combination: Combination, groups: Mapping[tuple[str, str], PathTrials]
) -> list[Candidate]:
    """The comparisons of a combination: of each path that was tried there, in each metric that some block has for both.

    A path that has no such metric is compared in the workload's primary one, with no pairs.

    Args:
        groups: the trials by combination and path.
    """
    results = []
    for path, baseline in compared_paths(experiment, combination):
        group, base = groups[combination.name, path.name], groups[combination.name, baseline]
        if not (group.attempted or base.attempted):
            continue  # an interrupted run has no such trials, which does not make them inconclusive
        common = {metric: common_blocks(group, base, metric.column) for metric in measured_metrics(group)}
        known = {metric: blocks for metric, blocks in common.items() if blocks}
        primary = METRICS[WORKLOADS[combination.workload.kind].primary]
        for metric, blocks in (known or {primary: list[int]()}).items():
            column = metric.column
            results.append(
                Candidate(
                    combination=combination,
                    metric=metric,
                    path=path,
                    baseline=baseline,
                    pairs=pairs_of(group, base, metric, blocks),
                    workers=tuple(group.ok[block].worker for block in blocks),
                    invalid=group.invalid + base.invalid,
                    theory=group.theory.get(column),
                    theory_baseline=base.theory.get(column),
                )
            )
    return results


def pairs_of(path: PathTrials, baseline: PathTrials, metric: Metric, blocks: Sequence[int]) -> Pairs:
    """The values of both in these blocks, which both have."""
    column = metric.column
    return Pairs(
        path=[path.ok[block].metrics[column] for block in blocks],
        baseline=[baseline.ok[block].metrics[column] for block in blocks],
        scale=metric.scale,
        is_exact=metric.is_exact,
        path_uncertainty=uncertainties(path, blocks, column),
        baseline_uncertainty=uncertainties(baseline, blocks, column),
    )


def adjusted_within(families: Sequence[Hashable], comparisons: Sequence[Comparison]) -> list[float | None]:
    """The p-value of each comparison, adjusted over those of its family (Holm)."""
    members: dict[Hashable, list[int]] = defaultdict(list)
    for index, family in enumerate(families):
        members[family].append(index)
    adjusted: list[float | None] = [None] * len(comparisons)
    for indices in members.values():
        for index, p_value in zip(indices, holm([comparisons[at].p_value for at in indices]), strict=True):
            adjusted[index] = p_value
    return adjusted


def uncertainties(group: PathTrials, blocks: Sequence[int], column: str) -> list[float]:
    """Errors that the values of these blocks may have, in the column's unit; empty where there are none."""
    values = [group.ok[block].uncertainty.get(column, 0.0) for block in blocks]
    return values if any(values) else []


def compared_paths(experiment: Experiment, combination: Combination) -> list[tuple[Path, str]]:
    """Every path that is compared at a combination, with the name of the one that it is compared with."""
    baseline = experiment.baseline_of(combination)
    return [(path, path.aa_of or baseline) for path in experiment.paths_of(combination) if path.name != baseline]


def common_blocks(path: PathTrials, baseline: PathTrials, column: str) -> list[int]:
    """The blocks in which both have a valid trial with that metric, by the same machine, in order."""
    return sorted(
        block
        for block, trial in path.ok.items()
        if column in trial.metrics
        and block in baseline.ok
        and column in baseline.ok[block].metrics
        and baseline.ok[block].worker == trial.worker
    )


def compare_candidates(
    compared: Sequence[Candidate], statistics: Statistics, looks: Mapping[str, Looks]
) -> list[Comparison]:
    """The comparisons, in order. Those of combinations with `looks` have the interval of the last look and a p-value
    that holds for all of them."""
    return compare_each(
        [candidate.pairs for candidate in compared],
        [statistics.margin_of(candidate.combination.workload.kind) for candidate in compared],
        statistics,
        [looks.get(candidate.combination.name) for candidate in compared],
    )


def compare_each(
    pairs: Sequence[Pairs], margins: Sequence[float], statistics: Statistics, looks: Sequence[Looks | None]
) -> list[Comparison]:
    """The comparisons of these pairs, each with its margin and the looks at it (None: one look), in order."""
    groups: dict[tuple[Looks | None, float], list[int]] = defaultdict(list)
    for index, key in enumerate(zip(looks, margins, strict=True)):
        groups[key].append(index)
    error = 1 - statistics.confidence
    results: list[Comparison] = [Comparison(n=0)] * len(pairs)
    for (look, margin), indices in groups.items():
        compared = compare_all(
            [pairs[index] for index in indices],
            confidence=statistics.confidence if look is None else 1 - look.level(error),
            equivalence=None if look is None else 1 - look.level(min(1.0, 2 * error)),
            margin=margin,
            estimator=statistics.estimator,
        )
        for index, comparison in zip(indices, compared, strict=True):
            adjusted = (
                comparison.p_value if look is None or comparison.p_value is None else look.adjusted(comparison.p_value)
            )
            results[index] = replace(comparison, p_value=adjusted)
    return results


def verdict(comparison: Comparison, p_value: float | None, metric: Metric, error: float) -> Verdict:
    """The finding of a comparison; see `findings`.

    Args:
        p_value: the p-value, adjusted for the number of comparisons.
        error: 1 - confidence.
    """
    if comparison.equivalent and (metric.scale == "ratio" or comparison.direction is None):
        return "equivalent"
    return direction(comparison, p_value, error) or "inconclusive"


def direction(comparison: Comparison, p_value: float | None, error: float) -> Direction | None:
    """On which side of no difference the path is for certain, however near; None where that is not known.

    Args:
        p_value: the p-value, adjusted for the number of comparisons.
        error: 1 - confidence.
    """
    is_certain = p_value is not None and p_value < error
    return comparison.direction if is_certain else None


def finding_of(
    candidate: Candidate,
    comparison: Comparison,
    p_value: float | None,
    values: Mapping[tuple[str, str, str], float],
    statistics: Statistics,
    looks: Mapping[str, Looks],
) -> Finding:
    """The finding, without its noise floor.

    Args:
        p_value: adjusted for the number of comparisons.
        values: the estimates by combination, path and metric.
        looks: by combination.
    """
    combination, metric = candidate.combination, candidate.metric
    look = looks.get(combination.name)
    error = 1 - statistics.confidence
    apart = apart_pairs(candidate.pairs, comparison, statistics.margin_of(combination.workload.kind))
    return Finding(
        workload=combination.workload.kind,
        metric=metric.name,
        unit=metric.unit,
        levels=combination.levels,
        combination=combination.name,
        path=candidate.path.name,
        baseline=candidate.baseline,
        n=comparison.n,
        verdict=verdict(comparison, p_value, metric, error),
        direction=direction(comparison, p_value, error),
        value=comparison.value,
        baseline_value=comparison.baseline,
        estimate=values.get((combination.name, candidate.path.name, metric.name)),
        baseline_estimate=values.get((combination.name, candidate.baseline, metric.name)),
        ratio=comparison.ratio,
        ci_low=comparison.low,
        ci_high=comparison.high,
        difference=comparison.difference,
        p_value=p_value,
        theory=candidate.theory,
        theory_baseline=candidate.theory_baseline,
        invalid=candidate.invalid,
        is_aa=candidate.path.aa_of is not None,
        headline=candidate.is_headline,
        spread=comparison.spread,
        looks=None if look is None else len(look.blocks),
        estimator=comparison.estimator if comparison.n else None,
        outlying=len(comparison.outlying),
        apart=len(apart),
        apart_low=min(apart, default=None),
        apart_high=max(apart, default=None),
        constant=comparison.constant,
    )

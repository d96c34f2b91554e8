"""What each path costs against its baseline, and whether that is certain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model.experiment import Combination, Experiment
from ..model.finding import Estimate, Finding, Verdict
from ..model.metric import METRICS, Metric
from ..model.path import Path
from ..model.workloads import WORKLOADS
from ..stats import Comparison, Pairs, compare_all, holm
from .estimates import PathTrials, group_trials, measured_metrics
from .estimates import estimates as estimate_all
from .noise import with_noise

if TYPE_CHECKING:
    from ..store import Run


def findings(run: Run, estimates: Sequence[Estimate] | None = None) -> list[Finding]:
    """One for each combination, path other than the baseline, and metric that some block has for both.

    A path that was tried at a combination and cannot be compared there has one for the workload's primary metric,
    with `n` 0, so that nothing disappears silently. An A/A path is compared with the path that it repeats.

    *Verdict.* `equivalent`: the path is within `statistics.margin` of the baseline by a test of equivalence; this
    comes first, for the margin is what was declared to be no difference. `higher` or `lower`: the p-value, adjusted,
    is under 1 - confidence *and* the interval is on one side of no difference. Else `inconclusive`: more blocks may
    tell. For metrics that are shares (loss), where the margin is of the share itself, a difference comes first, and
    an interval that leaves zero out is never called equivalent: a loss of 0.5 % against none is within a margin of
    1 %, and matters.

    *Families.* Holm's adjustment is over all findings of one metric in the run: one asks of a run "does goodput
    differ anywhere?", and the chance of any false answer to that is at most 1 - confidence. Metrics are not one
    family, since most are views of the same thing (five quantiles of one histogram) and would take each other's
    power. A/A comparisons are a family of their own: they ask about the testbed, not the paths, and their number must
    not make real differences harder to see. Equivalence is not adjusted: it is a statement about one comparison, each
    with an error of 1 - confidence.

    Args:
        run: as it was read.
        estimates: those of the run, where they are known already; computed otherwise.
    """
    experiment = run.manifest.experiment
    candidates = _candidates(run)
    comparisons = compare_all(
        [candidate.pairs for candidate in candidates],
        confidence=experiment.statistics.confidence,
        margin=experiment.statistics.margin,
    )
    adjusted = _adjust(candidates, comparisons)
    values = {(e.combination, e.path, e.metric): e.value for e in (estimates or estimate_all(run))}
    found = [
        _finding(candidate, comparison, p_value, values, 1 - experiment.statistics.confidence)
        for candidate, comparison, p_value in zip(candidates, comparisons, adjusted, strict=True)
    ]
    return with_noise(found, experiment)


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """A comparison to be made."""

    combination: Combination
    metric: Metric
    path: Path
    baseline: str
    pairs: Pairs
    invalid: int
    theory: float | None
    theory_baseline: float | None


def _candidates(run: Run) -> list[_Candidate]:
    experiment = run.manifest.experiment
    groups = group_trials(run)
    candidates = []
    for combination in experiment.combinations:
        for path, baseline in compared_paths(experiment):
            group, base = groups[combination.name, path.name], groups[combination.name, baseline]
            if not (group.attempted or base.attempted):
                continue  # An interrupted run that did not come to it: not tried is not inconclusive.
            metrics = [m for m in measured_metrics(group) if _common_blocks(group, base, m.column)]
            for metric in metrics or [METRICS[WORKLOADS[combination.workload.kind].primary]]:
                blocks, column = _common_blocks(group, base, metric.column), metric.column
                candidates.append(
                    _Candidate(
                        combination=combination,
                        metric=metric,
                        path=path,
                        baseline=baseline,
                        pairs=Pairs(
                            path=[group.ok[block].metrics[column] for block in blocks],
                            baseline=[base.ok[block].metrics[column] for block in blocks],
                            scale=metric.scale,
                        ),
                        invalid=group.invalid + base.invalid,
                        theory=group.theory.get(column),
                        theory_baseline=base.theory.get(column),
                    )
                )
    return candidates


def compared_paths(experiment: Experiment) -> list[tuple[Path, str]]:
    """Every path that is compared, with the name of the one that it is compared with."""
    return [(path, path.aa_of or experiment.baseline) for path in experiment.paths if path.name != experiment.baseline]


def _common_blocks(path: PathTrials, baseline: PathTrials, column: str) -> list[int]:
    """The blocks in which both have a valid trial with that metric, in order."""
    return sorted(
        block
        for block, trial in path.ok.items()
        if column in trial.metrics and block in baseline.ok and column in baseline.ok[block].metrics
    )


def _adjust(candidates: list[_Candidate], comparisons: list[Comparison]) -> list[float | None]:
    families: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for index, candidate in enumerate(candidates):
        families[candidate.metric.name, candidate.path.aa_of is not None].append(index)
    adjusted: list[float | None] = [None] * len(candidates)
    for indices in families.values():
        for index, p_value in zip(indices, holm([comparisons[i].p_value for i in indices]), strict=True):
            adjusted[index] = p_value
    return adjusted


def verdict(comparison: Comparison, p_value: float | None, metric: Metric, error: float) -> Verdict:
    """What a comparison says; see `findings`.

    Args:
        p_value: adjusted for how many comparisons there are.
        error: 1 - confidence.
    """
    direction = comparison.direction
    if comparison.equivalent and (metric.scale == "ratio" or direction is None):
        return "equivalent"
    if direction is not None and p_value is not None and p_value < error:
        return direction
    return "inconclusive"


def _finding(
    candidate: _Candidate,
    comparison: Comparison,
    p_value: float | None,
    values: dict[tuple[str, str, str], float],
    error: float,
) -> Finding:
    combination, metric = candidate.combination, candidate.metric
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
        headline=metric.name in WORKLOADS[combination.workload.kind].headline,
    )

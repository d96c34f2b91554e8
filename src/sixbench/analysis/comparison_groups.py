"""Groups of comparisons over a factor (`statistics.pool`): the mean change over its levels, by random effects.

Servers are such levels, and sites, access networks and days. The levels that were measured stand for many that were
not. So the interval of the mean allows for their differences, and narrows with their number and not with that of blocks
alone. `analysis.pooled` has the mean of the levels that were measured, and says nothing of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from ..model.comparison_group import ComparisonGroup, GroupMember, Outcome, PooledEffect
from ..model.experiment import Statistics
from ..model.finding import Finding
from ..stats import Effect, RandomEffects, biweight, random_effects
from ..stats.comparison import LARGEST_LOG


def comparison_groups(findings: Sequence[Finding], statistics: Statistics) -> list[ComparisonGroup]:
    """One group for each headline metric, path, baseline and combination of the other levels, without A/A comparisons.

    Empty where the statistics pool no factor. Combinations without that factor belong to no group, and one level alone
    is none.
    """
    factor = statistics.pool
    if factor is None:
        return []
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        if finding.headline and not finding.is_aa and factor in finding.levels:
            others = tuple((column, level) for column, level in finding.levels.items() if column != factor)
            key = (finding.workload, finding.metric, finding.path, finding.baseline, others)
            groups.setdefault(key, []).append(finding)
    return [_group(factor, members, statistics) for members in groups.values() if len(members) > 1]


def outcome_of(finding: Finding) -> Outcome:
    """The outcome of a comparison, by its mark."""
    match finding.mark:
        case "decided":
            return "higher" if finding.verdict == "higher" else "lower"
        case "small" | "equivalent":
            return "within"
        case "mixed" | "not compared" as mark:
            return mark
    return "undecided"


def effect_of(finding: Finding) -> Effect | None:
    """The change of a finding, as a log ratio or a difference, with its standard error; None without an interval."""
    value = finding.difference if finding.ratio is None else log(finding.ratio)
    if value is None or finding.spread is None or finding.n < 2:
        return None
    degrees = biweight.degrees(finding.n) if finding.estimator == "biweight" else finding.n - 1
    return Effect(value=value, error=finding.spread / sqrt(finding.n), degrees=degrees)


def _group(factor: str, findings: Sequence[Finding], statistics: Statistics) -> ComparisonGroup:
    first = findings[0]
    effects = {finding.combination: effect for finding in findings if (effect := effect_of(finding)) is not None}
    scales = {finding.ratio is not None for finding in findings if finding.combination in effects}
    is_ratio = scales == {True}
    mean = None
    if len(effects) > 1 and len(scales) == 1:
        mean = random_effects(list(effects.values()), statistics.confidence)
    weights = {} if mean is None else dict(zip(effects, mean.weights, strict=True))
    return ComparisonGroup(
        factor=factor,
        workload=first.workload,
        metric=first.metric,
        unit=first.unit,
        path=first.path,
        baseline=first.baseline,
        levels={column: level for column, level in first.levels.items() if column != factor},
        margin=statistics.margin_of(first.workload),
        members=[
            GroupMember(
                level=finding.levels[factor],
                combination=finding.combination,
                outcome=outcome_of(finding),
                weight=weights.get(finding.combination),
            )
            for finding in findings
        ],
        pooled=None if mean is None else _pooled(mean, is_ratio=is_ratio),
    )


def _pooled(mean: RandomEffects, *, is_ratio: bool) -> PooledEffect:
    def end(value: float) -> float:
        """An end of an interval, which stays a number even where it knows nothing."""
        return exp(max(-LARGEST_LOG, min(LARGEST_LOG, value))) if is_ratio else value

    width = mean.prediction_half_width
    return PooledEffect(
        groups=mean.groups,
        ratio=exp(mean.value) if is_ratio else None,
        difference=None if is_ratio else mean.value,
        ci_low=end(mean.value - mean.half_width),
        ci_high=end(mean.value + mean.half_width),
        tau=mean.tau,
        i_squared=mean.i_squared,
        q=mean.q,
        p_value=mean.p_value,
        predicted_low=None if width is None else end(mean.value - width),
        predicted_high=None if width is None else end(mean.value + width),
    )

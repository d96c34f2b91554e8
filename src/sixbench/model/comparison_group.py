"""The comparisons of the same two paths at all levels of a factor, such as servers or sites: each by itself, and all
together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .parameter import Scalar

Outcome = Literal["higher", "lower", "within", "mixed", "undecided", "not compared"]
"""The outcome of one comparison of a group, after Holm's adjustment over all comparisons of the metric.

`higher` or `lower`: decided. `within`: a test of equivalence shows that the change is within the margin either way,
whether or not it is real. `mixed`: the path or its baseline does two things. `not compared`: fewer than two pairs of
valid trials. All else is `undecided`, and so is a difference that the baseline may have from itself.
"""


@dataclass(frozen=True, kw_only=True)
class GroupMember:
    """The comparison at one level.

    Attributes:
        level: such as the name of a server.
        combination: by which it is found among the findings of the group's metric and path.
        weight: its share of the mean; None: it has no interval, and is not in the mean.
    """

    level: Scalar
    combination: str
    outcome: Outcome
    weight: float | None


@dataclass(frozen=True, kw_only=True)
class PooledEffect:
    """The mean change of a group, by random effects (`stats.random_effects`).

    Attributes:
        groups: the number of comparisons that it is of.
        ratio: the geometric mean of their ratios; None: they are compared by `difference`.
        difference: the mean of their differences, in the metric's unit; None where there is a ratio.
        ci_low, ci_high: confidence interval of the ratio (of the difference where `ratio` is None).
        tau: standard deviation of the true changes: of log ratios, or of differences.
        i_squared: share of tau² in the variance of a typical change.
        q, p_value: Cochran's Q, and the p-value of changes that are all the same; None where some change has no
            scatter.
        predicted_low, predicted_high: the interval in which the true change at one more level lies, as `ci_low`; None
            with fewer than three.
    """

    groups: int
    ratio: float | None
    difference: float | None
    ci_low: float
    ci_high: float
    tau: float
    i_squared: float
    q: float | None
    p_value: float | None
    predicted_low: float | None
    predicted_high: float | None


@dataclass(frozen=True, kw_only=True)
class ComparisonGroup:
    """One metric of one path against one baseline at every level of a factor, the other levels being the same.

    Attributes:
        factor: the column of levels.
        levels: those that all comparisons have, without the factor.
        margin: the largest difference that does not matter, as a share.
        members: the comparisons, in the order of the levels.
        pooled: their mean; None where fewer than two have an interval, or where some are ratios and others differences.
    """

    factor: str
    workload: str
    metric: str
    unit: str
    path: str
    baseline: str
    levels: dict[str, Scalar]
    margin: float
    members: list[GroupMember]
    pooled: PooledEffect | None

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of comparisons with each outcome that occurs."""
        outcomes = [member.outcome for member in self.members]
        order: tuple[Outcome, ...] = get_args(Outcome)
        return {outcome: outcomes.count(outcome) for outcome in order if outcome in outcomes}

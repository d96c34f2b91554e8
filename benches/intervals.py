"""Estimates from rounds: their middle with its interval, and whether an aim is met. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sixbench.stats import Looks, Pairs, compare

ERROR = 0.05
"""Error of an interval, whatever looks there were at its rounds."""
NEAR = 0.03
"""Within so much of its aim a figure counts as being at it."""
Verdict = Literal["met", "missed", "near", "open"]
"""`met`: the whole interval is on the right side of the aim. `missed`: it is on the wrong side. `near`: it holds the
aim, and reaches no farther from it than what counts as being at it, on both sides. `open`: it holds the aim and reaches
farther, or there is no interval, and more rounds would tell."""


@dataclass(frozen=True, kw_only=True)
class Aim:
    """Bound that a figure is to reach.

    Attributes:
        bound: of the figure; at most this where lower is better, else at least.
    """

    bound: float
    lower_is_better: bool = False

    def __str__(self) -> str:
        return f"{'≤' if self.lower_is_better else '≥'} {self.bound:g}"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure; the ends of its interval are absent where too few rounds were measured."""

    value: float
    low: float | None
    high: float | None
    n: int


def judge(aim: Aim, low: float | None, high: float | None, near: float = 0.0) -> Verdict:
    """Verdict on an aim: `met`, `missed`, `near` or `open`, by the place of the whole interval.

    Args:
        near: within which share of the aim a figure counts as being at it.
    """
    if low is None or high is None:
        return "open"
    if (high <= aim.bound) if aim.lower_is_better else (low >= aim.bound):
        return "met"
    if (low > aim.bound) if aim.lower_is_better else (high < aim.bound):
        return "missed"
    return "near" if (1 - near) * aim.bound <= low and high <= (1 + near) * aim.bound else "open"


def error_of(looked: Sequence[int], most: int, *, is_over: bool) -> float:
    """The error of the interval at the last look, such that all looks together have `ERROR`. Each look may spend as
    much of it as its rounds are of the most that there may be (`stats.sequential`).

    Args:
        looked: the rounds that there were at each look, ascending. Without a look nothing decides when rounds end.
        most: rounds at most.
        is_over: whether rounds end for another reason than what was seen: the last look then spends all that is left.
    """
    if not looked:
        return ERROR
    spent = [min(1.0, rounds / most) for rounds in looked]
    if is_over:
        spent[-1] = 1.0
    return Looks(blocks=tuple(looked), spent=tuple(spent)).level(ERROR)


def geometric(values: Sequence[float], error: float = ERROR) -> Estimate:
    """The middle of positive values, by the biweight of their logarithms, of which one in five may be wild: a machine
    that others share takes some rounds away, and those say nothing of the figure. Fewer than five: their mean.

    Args:
        error: the chance that the interval does not hold the truth.
    """
    alone = Pairs(path=values, baseline=[1.0] * len(values))
    comparison = compare(alone, confidence=1 - error, margin=0.0, estimator="biweight")
    assert comparison.ratio is not None  # all are positive
    return Estimate(value=comparison.ratio, low=comparison.low, high=comparison.high, n=comparison.n)

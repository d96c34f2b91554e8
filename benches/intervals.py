"""What rounds say: a trimmed mean with its interval, and whether an aim is met. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sixbench.stats import student_quantile, trimmed_mean

CONFIDENCE = 0.95
TRIMMED = 0.2
"""Of the rounds at each end: a machine that others share takes some rounds away, and those say nothing of the ratio."""

Verdict = Literal["met", "missed", "open"]
"""`met`: the whole interval is on the right side of the aim. `missed`: it is on the wrong side. `open`: the interval
holds the aim, or there is no interval, and more rounds would tell."""


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What is to be reached.

    Attributes:
        bound: of the figure; at most this where lower is better, else at least.
    """

    bound: float
    lower_is_better: bool = False

    def __str__(self) -> str:
        return f"{'≤' if self.lower_is_better else '≥'} {self.bound:g}"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure; the ends of its 95 % interval are absent where too few rounds were measured."""

    value: float
    low: float | None
    high: float | None
    n: int


def judge(aim: Aim, low: float | None, high: float | None) -> Verdict:
    """Whether the whole interval is on the right side of the aim, or on the wrong one."""
    if low is None or high is None:
        return "open"
    if aim.lower_is_better:
        return "met" if high <= aim.bound else "missed" if low > aim.bound else "open"
    return "met" if low >= aim.bound else "missed" if high < aim.bound else "open"


def geometric(values: Sequence[float]) -> Estimate:
    """The trimmed geometric mean of positive values, with Student's interval of a trimmed mean (J. W. Tukey and D. H.
    McLaughlin, Sankhya A 25, 1963): the spread is that of the values with the trimmed ones moved to the last kept."""
    logs = sorted(map(math.log, values))
    n, cut = len(logs), int(TRIMMED * len(logs))
    mean = trimmed_mean(logs, cut)
    value = math.exp(mean)
    free = n - 2 * cut - 1
    if free < 1:
        return Estimate(value=value, low=None, high=None, n=n)
    moved = [min(max(log, logs[cut]), logs[n - 1 - cut]) for log in logs]
    centre = math.fsum(moved) / n
    spread = math.sqrt(math.fsum((log - centre) ** 2 for log in moved) / (n - 1))
    half = student_quantile((1 + CONFIDENCE) / 2, free) * spread / ((1 - 2 * cut / n) * math.sqrt(n))
    return Estimate(value=value, low=math.exp(mean - half), high=math.exp(mean + half), n=n)

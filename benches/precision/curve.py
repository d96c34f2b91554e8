"""Width of the interval after so many seconds, and share of right verdicts. Pure.

One long measurement of many pairs is looked at through windows: each `n` consecutive pairs are what a short measurement
would have had. So nothing is measured twice, and the share of right verdicts of a short measurement is seen in all of
the long one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf, isinf, sqrt
from typing import Any, Literal

from sixbench.stats.interval import student_quantile

SECONDS = (6.0, 15.0, 30.0, 60.0)
"""Lengths of a comparison."""
CONFIDENCE = 0.95
"""1 - this is the share of false alarms that is accepted."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Truth of a difference, as far as it is known.

    Attributes:
        ratio: of the changed side to the other; None where only the direction is known.
        direction: on which side of no difference it is.
    """

    ratio: float | None
    direction: Literal["higher", "lower", "none"]


def known_ratio(ratio: float) -> Truth:
    """A truth that is known as a number."""
    return Truth(ratio=ratio, direction="none" if ratio == 1 else "higher" if ratio > 1 else "lower")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Estimate of the ratio in one window.

    Attributes:
        low, high: the interval of the ratio.
        is_declared: whether a difference is declared.
    """

    ratio: float
    low: float
    high: float
    is_declared: bool

    @property
    def half_width(self) -> float:
        """Half the width of the interval, as a share of the ratio."""
        return (self.high - self.low) / 2 / self.ratio if self.ratio > 0 else inf

    @property
    def direction(self) -> Literal["higher", "lower", "none"]:
        """On which side of no difference the whole interval is; `none` where it includes no difference."""
        return "higher" if self.low > 1 else "lower" if self.high < 1 else "none"

    def is_right(self, truth: Truth) -> bool:
        """True if the interval contains the truth, and excludes no difference where there is one."""
        contains = truth.ratio is None or self.low <= truth.ratio <= self.high
        return contains and self.direction == truth.direction


@dataclass(frozen=True, kw_only=True)
class Point:
    """Results of comparisons of one length.

    Attributes:
        seconds: what a comparison takes.
        pairs: how many pairs of measurements that is.
        windows: how many comparisons of that length were looked at. Neighbours share measurements.
        apart: how many of these share none.
        half_width: the median, as a share of the ratio; None where most windows have no interval.
        right, excluding, declared: how many windows have the right verdict, an interval without "no difference", and a
            declared difference.
        contradicting: how many have an interval without the truth, or on the wrong side where only the direction is
            known.
    """

    seconds: float
    pairs: int
    windows: int
    apart: int
    half_width: float | None
    right: int
    excluding: int
    declared: int
    contradicting: int


def points(
    pairs: int,
    pair_s: float,
    truth: Truth,
    answer: Callable[[range], Answer | None],
    seconds: Sequence[float] = SECONDS,
) -> list[dict[str, Any]]:
    """The points of one difference. Lengths for which too little was measured are left out.

    Args:
        pairs: so many pairs were measured.
        pair_s: what one took.
        answer: what the pairs of these numbers (from 0) say; None where too few of them are valid.
    """
    points = []
    for length in seconds:
        each = max(2, int(length / pair_s))
        if each > pairs:
            continue
        answers = [answer(range(start, start + each)) for start in range(pairs - each + 1)]
        points.append(asdict(_point(length, each, pairs // each, truth, answers)))
    return points


def _point(seconds: float, each: int, apart: int, truth: Truth, answers: list[Answer | None]) -> Point:
    known = [answer for answer in answers if answer is not None]
    middle = statistics.median_high([inf if answer is None else answer.half_width for answer in answers])
    return Point(
        seconds=seconds,
        pairs=each,
        windows=len(answers),
        apart=apart,
        half_width=None if isinf(middle) else middle,
        right=sum(known_item.is_right(truth) for known_item in known),
        excluding=sum(known_item.direction != "none" for known_item in known),
        declared=sum(known_item.is_declared for known_item in known),
        contradicting=sum(_contradicts(known_item, truth) for known_item in known),
    )


def _contradicts(answer: Answer, truth: Truth) -> bool:
    if truth.ratio is None:
        return answer.direction not in ("none", truth.direction)
    return not answer.low <= truth.ratio <= answer.high


def mean_and_t(plain: Sequence[float], changed: Sequence[float]) -> Answer | None:
    """Answer that a careful user computes: the mean of the differences of neighbours and its interval by Student's t,
    as a share of the mean of the plain ones. None for fewer than two pairs."""
    if len(plain) < 2:
        return None
    differences = [after - before for before, after in zip(plain, changed, strict=True)]
    base, centre = statistics.fmean(plain), statistics.fmean(differences)
    error = statistics.stdev(differences) / sqrt(len(plain))
    half = student_quantile((1 + CONFIDENCE) / 2, len(plain) - 1) * error
    low, high = (1 + (centre - half) / base, 1 + (centre + half) / base)
    return Answer(ratio=1 + centre / base, low=low, high=high, is_declared=not low <= 1 <= high)

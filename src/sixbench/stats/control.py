"""Looks at a series over time: whether its latest values still are what those of a baseline were.

Two tests share the error of each look in equal parts.

*Sudden.* The latest value alone. It is too far from the mean of the baseline if two chances are small: that of
Student's t for the next value (`prediction`), and that of a tail that falls with the power 2.5 of the distance. With
such a tail, the next of n + 1 alike values is k times as far out as the farthest of the n others with the chance
k^-2.5 / (n + 1). Scatter of networks has tails that Student's t does not know: of values with 3 degrees of freedom, t
alone calls six times as many sudden as it says.

*Lasting.* The latest 4, 8, 16 and 32 values, each against all of the baseline by ranks (`rank_sum`), a quarter of that
part each. Shifts are found that no single value shows.

The scatter is that between the values of the baseline, which are of other runs, hours or days. What varies within a
run does not enter. The number of looks does not matter, because each look has an error of its own: the share of the
looks that find a change where there is none is at most the error of a look. That of the lasting part holds for values
of any distribution, if they are alike and independent. That of the sudden part holds for normal values, and for tails
that fall with that power or faster. Share of the looks in percent that found a change in any of four series, of 2,000
simulated monitors with 200 looks each after 24 values, where 1 % was asked for::

                          sudden   lasting   either
    normal                 0.00      0.34     0.35
    uniform                0.00      0.32     0.32
    Student t, 3           0.41      0.30     0.71
    lognormal 0.5          0.16      0.33     0.49
    exponential            0.19      0.35     0.54
    10 % wild              2.61      0.32     2.93

("10 % wild": one value in ten has ten times the standard deviation. Ratios are judged by their logarithms.)
A lasting shift of normal values by 3 standard deviations is found after 8 looks in the median, and after 16 in 95 of
100 monitors, at an error of a look of 1 in 8,760 in four series: one a year, if looked at each hour.

All looks of a series are against one baseline, so false changes come in clusters: the share is that of many monitors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from . import prediction
from .comparison import LEAST_P, SAME
from .interval import Array, student_two_sided
from .rank_sum import tail

LASTING = (4, 8, 16, 32)
"""Numbers of the latest values that the lasting test takes together."""

TAIL = 2.5
"""The power with which a tail falls that is still allowed for: a variance exists only for more than 2."""

MIN_BASELINE = 2
"""Fewer values have no scatter."""


@dataclass(frozen=True, kw_only=True)
class Departure:
    """Result of a look.

    Attributes:
        is_higher: where the values are.
        over: how many of the latest values it took.
        chance: that of values so far from the baseline, were they alike (two-sided).
    """

    kind: Literal["sudden", "lasting"]
    is_higher: bool
    over: int
    chance: float


def departures(baseline: Sequence[float], later: Sequence[float], levels: Sequence[float]) -> list[Departure | None]:
    """Result of the look after each later value.

    Args:
        baseline: at least `MIN_BASELINE` values, fixed beforehand.
        later: those after it, in order.
        levels: the error of each look at this series.

    Raises `ValueError` where the baseline is too short.
    """
    if len(baseline) < MIN_BASELINE:
        raise ValueError(f"a baseline needs at least {MIN_BASELINE} values, not {len(baseline)}")
    if not later:
        return []
    values, of_look = np.asarray(later, dtype=np.float64), np.asarray(levels, dtype=np.float64)
    results: list[Departure | None] = [None] * len(values)
    chances = _sudden(baseline, values)
    centre = fmean(baseline)
    for at in np.flatnonzero(chances < of_look / 2):
        higher = bool(values[at] > centre)
        results[at] = Departure(kind="sudden", is_higher=higher, over=1, chance=float(chances[at]))
    for over in LASTING:
        chances, is_higher = _lasting(baseline, values, over)
        for at in np.flatnonzero(chances <= of_look / 2 / len(LASTING)):
            departure = Departure(kind="lasting", is_higher=bool(is_higher[at]), over=over, chance=float(chances[at]))
            if results[at] is None:
                results[at] = departure
    return results


def sudden_width(baseline: Sequence[float], level: float) -> float | None:
    """Largest distance of a single value from the mean of the baseline. None where the baseline has no spread, which
    tells nothing of how far values may be, and where the level is 0.

    Args:
        level: the error of a look at this series.
    """
    if not 0 < level < 1 or not _has_spread(baseline):
        return None
    by_student = prediction.half_width(baseline, 1 - level / 2) or 0.0
    by_tail = _farthest(baseline) * max(1.0, (level / 2 * (len(baseline) + 1)) ** (-1 / TAIL))
    return float(max(by_student, by_tail))


def _has_spread(baseline: Sequence[float]) -> bool:
    return max(baseline) - min(baseline) > SAME * max(1.0, abs(max(baseline)), abs(min(baseline)))


def _farthest(baseline: Sequence[float]) -> float:
    centre = fmean(baseline)
    return max(abs(value - centre) for value in baseline)


def _sudden(baseline: Sequence[float], values: Array) -> Array:
    if not _has_spread(baseline):
        return np.ones(len(values))
    n = len(baseline)
    away = np.abs(values - fmean(baseline))
    deviation = float(np.std(np.asarray(baseline, dtype=np.float64), ddof=1))
    by_student = student_two_sided(away / (deviation * np.sqrt(1 + 1 / n)), n - 1)
    beyond = np.maximum(away / _farthest(baseline), 1e-9)
    by_tail = np.where(beyond > 1, beyond**-TAIL / (n + 1), 1.0)
    chances: Array = np.maximum(np.maximum(by_student, by_tail), LEAST_P)
    return chances


def _lasting(baseline: Sequence[float], values: Array, over: int) -> tuple[Array, Array]:
    """The chance of the latest values at each look, and whether they are higher. 1 where there are too few."""
    chances, higher = np.ones(len(values)), np.zeros(len(values), dtype=bool)
    if len(values) < over:
        return chances, np.asarray(higher)
    ordered = np.sort(np.asarray(baseline, dtype=np.float64))
    # Equal values count against a change, in either direction.
    not_below = len(ordered) - np.searchsorted(ordered, values, side="left")
    not_above = np.searchsorted(ordered, values, side="right")
    wrong = np.array([np.convolve(flags, np.ones(over, dtype=int), mode="valid") for flags in (not_below, not_above)])
    chances[over - 1 :] = np.minimum(1.0, 2 * tail(len(ordered), over)[wrong.min(axis=0)])
    higher[over - 1 :] = wrong[0] <= wrong[1]
    return np.maximum(chances, LEAST_P), np.asarray(higher)

"""About how many blocks would decide a comparison that a claim speaks of."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from statistics import NormalDist

from ..stats import student_quantile, values_needed

_STEPS = 20
_NARROWEST = 2.0**-_STEPS
"""Narrowest width, as a share of today's. What so narrow an interval leaves open lies on the boundary, and no number of
blocks tells."""


def blocks_to_decide(
    interval: tuple[float, float, float],
    decides: Callable[[float, float], bool],
    *,
    n: int,
    confidence: float,
    is_ratio: bool,
) -> int | None:
    """The number of blocks that make an interval narrow enough, if the estimate and the scatter stay what they are.

    The order of magnitude is right and no more: few values know their own scatter badly, and where the estimate is
    wrong, it is near another boundary.

    Args:
        interval: the estimate and the interval's ends, which leave the question open.
        decides: whether an interval with these ends would answer it.
        n: blocks so far, two at least.
        confidence: the interval's.
        is_ratio: whether the interval is one of ratios, and so symmetric in their logarithms.

    Returns:
        None where no number of blocks would.
    """
    middle, low, high = (log(end) for end in interval) if is_ratio else interval
    half_width = (high - low) / 2

    def is_enough(share: float) -> bool:
        ends = (middle - share * half_width, middle + share * half_width)
        return decides(*(exp(end) for end in ends)) if is_ratio else decides(*ends)

    if half_width <= 0 or not is_enough(_NARROWEST):
        return None
    enough, too_wide = _NARROWEST, 1.0
    for _ in range(_STEPS):
        share = sqrt(enough * too_wide)
        enough, too_wide = (share, too_wide) if is_enough(share) else (enough, share)
    spread = half_width * sqrt(n) / student_quantile((1 + confidence) / 2, n - 1)
    needed = values_needed(spread, enough * half_width, confidence)
    return None if needed is None else max(needed, n + 1)


def blocks_of_a_trend(deviate: float, *, n: int, confidence: float) -> int | None:
    """The number of blocks in which a trend of the same strength is significant: its normal deviate rises with their
    square root. None where there is no trend, and where it is significant already and something else is open."""
    asked = NormalDist().inv_cdf((1 + confidence) / 2)
    if not asked * _NARROWEST <= abs(deviate) < asked:
        return None
    return max(round(n * (asked / deviate) ** 2 + 0.5), n + 1)

"""Number of trials for an interval of a given width.

The half-width of a mean's interval is ``t(n) * s / sqrt(n)``: Student's quantile for n values, their standard deviation
and their number (W. G. Cochran, "Sampling Techniques", 1977, section 4.6). The standard deviation is that of the values
at hand, which is itself uncertain: five values know it to within 60 and 290 % (95 % of normal samples), so that the
number is about right in its order of magnitude and no more.
"""

from __future__ import annotations

from math import isfinite, sqrt

from .interval import student_quantile

FEWEST = 2
"""A single value has no spread."""

MOST = 10**9
"""The search ends here, because no experiment has as many trials."""


def values_needed(spread: float, half_width: float, confidence: float) -> int | None:
    """The smallest number of values whose mean has an interval of at most this half-width.

    From ten values on the intervals of `interval` are a little wider than Student's, by 5 % at most for normal values.

    Args:
        spread: standard deviation (n - 1) of the values.
        half_width: wanted, in the unit of the spread.
        confidence: the confidence of the interval.

    Returns:
        None where it would take more than `MOST`.

    Raises:
        ValueError: the half-width is not positive, the spread is negative, or one of them is not finite.
    """
    if not (isfinite(spread) and isfinite(half_width)) or spread < 0 or half_width <= 0:
        raise ValueError(f"no number of values gives a half-width of {half_width} from a spread of {spread}")

    def is_enough(n: int) -> bool:
        return student_quantile((1 + confidence) / 2, n - 1) * spread / sqrt(n) <= half_width

    enough = FEWEST
    while not is_enough(enough):
        if enough >= MOST:
            return None
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1 and enough > FEWEST:
        middle = (enough + too_few) // 2
        enough, too_few = (middle, too_few) if is_enough(middle) else (enough, middle)
    return enough

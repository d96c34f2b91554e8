"""Intervals of estimates in the cells and titles of tables."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.finding import Estimate
from . import words

_UNEVEN = 0.4
"""A share of the half-width: as far as the middle of an interval may lie from the value."""


def half_interval(estimate: Estimate, divisor: float) -> str:
    """The text after a value in a cell, such as ` ± 0.12`; empty where it has no interval.

    An interval that reaches much farther on one side has its ends instead: ` (0.02 to 12)`. Trials that are far from
    the others are counted: ` (2 of 10 far off)`.
    """
    low, high = words.finite(estimate.ci_low), words.finite(estimate.ci_high)
    far = f" ({estimate.outlying} of {estimate.n} far off)" if estimate.outlying else ""
    if low is None or high is None:
        return far
    half = (high - low) / 2
    if abs(high + low - 2 * estimate.value) > _UNEVEN * half:
        return f" ({words.number(low / divisor, 3)} to {words.number(high / divisor, 3)}){far}"
    return f" ± {words.number(half / divisor, 2)}{far}"


def of_confidence(estimates: Iterable[Estimate], confidence: float) -> str:
    """End of a table's title, such as ` (± 95 % confidence)`; empty where none of them has an interval."""
    has_intervals = any(estimate.ci_low is not None for estimate in estimates)
    return f" (± {100 * confidence:g} % confidence)" if has_intervals else ""

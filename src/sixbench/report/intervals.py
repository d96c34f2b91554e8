"""Intervals of estimates in the cells and titles of tables."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.finding import Estimate
from . import words


def half_interval(estimate: Estimate, divisor: float) -> str:
    """What follows a value in a cell, such as ` ± 0.12`; empty where it has no interval."""
    low, high = words.finite(estimate.ci_low), words.finite(estimate.ci_high)
    return "" if low is None or high is None else f" ± {words.number((high - low) / 2 / divisor, 2)}"


def of_confidence(estimates: Iterable[Estimate], confidence: float) -> str:
    """What follows a table's title, such as ` (± 95 % confidence)`; empty where none of them has an interval."""
    has_intervals = any(estimate.ci_low is not None for estimate in estimates)
    return f" (± {100 * confidence:g} % confidence)" if has_intervals else ""

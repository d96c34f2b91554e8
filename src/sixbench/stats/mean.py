"""A path's own value over its trials."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt


def trimmed_mean(values: Sequence[float], trim: int = 0) -> float:
    """The mean without the `trim` lowest and the `trim` highest values.

    Where that would leave nothing, as many are left out as leave one or two: the median. Raises `ValueError` where
    there are no values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    dropped = min(trim, (len(values) - 1) // 2)
    kept = sorted(values)[dropped : len(values) - dropped]
    return min(max(fsum(kept) / len(kept), kept[0]), kept[-1])


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """The standard deviation (n - 1) as a share of the mean; None for fewer than two values or a mean of zero.

    Values that are all zero do not vary: 0.
    """
    if len(values) < 2:
        return None
    mean = fsum(values) / len(values)
    squares = fsum((value - mean) ** 2 for value in values)
    if mean == 0:
        return 0.0 if squares == 0 else None
    return sqrt(squares / (len(values) - 1)) / abs(mean)

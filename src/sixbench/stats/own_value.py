"""A path's own value over its trials, with an interval.

Values that are all positive are taken as comparisons take them: in logarithms, by Tukey's biweight from five values on
and as their geometric mean with fewer. Such an interval is of a ratio, and so it holds no negative value. Where zero is
an ordinary value, or is among the values, they are averaged. There the interval ends at zero at the latest if none of
the values is negative: what is cut off is impossible, so that the coverage stays what it is. A mean that is asked for
by name (`estimator`, `trim`) has the interval of that mean, on a logarithmic scale if all values are positive: the
error of the logarithm of a mean is that of the mean as a share of it (the delta method).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import biweight
from .comparison import LARGEST_LOG, SAME, Estimator
from .interval import SEED, Array, half_widths


@dataclass(frozen=True, kw_only=True)
class OwnValues:
    """The values of samples of equal size, and what is known of them.

    Attributes:
        value: shape (samples,).
        low, high: ends of the intervals; None for samples of one value.
        outlying: how many values of each sample count for less than a tenth, because they are far from the others.
    """

    value: Array
    low: Array | None
    high: Array | None
    outlying: NDArray[np.int64]


def own_values(
    samples: Array,
    confidence: float,
    *,
    by_ratio: bool,
    may_be_negative: bool = False,
    estimator: Estimator = "biweight",
    seed: int = SEED,
) -> OwnValues:
    """The value of each sample with its interval.

    Args:
        samples: shape (samples, n), n at least 1: one value a trial.
        by_ratio: whether zero is no ordinary value of the quantity. Samples with values that are not positive are
            averaged in any case.
        may_be_negative: whether there are negative values of the quantity, though none of these may be.
        estimator: what is taken: the biweight and the geometric mean, or the arithmetic mean.
    """
    n = samples.shape[1]
    centre = np.clip(samples.mean(axis=1), samples.min(axis=1), samples.max(axis=1))
    nothing = np.zeros(len(samples), dtype=np.int64)
    if n < 2:
        return OwnValues(value=centre, low=None, high=None, outlying=nothing)
    is_positive = samples.min(axis=1) > 0
    width = half_widths(samples, [confidence], seed)[0]
    low, high = centre - width, centre + width
    if may_be_negative:
        return OwnValues(value=centre, low=low, high=high, outlying=nothing)
    low = np.where(samples.min(axis=1) >= 0, np.maximum(low, 0.0), low)
    if by_ratio and estimator == "biweight":
        chosen = np.flatnonzero(is_positive)
        if chosen.size:
            row = _by_logs(samples[chosen], confidence, seed)
            for whole, part in zip((centre, low, high, nothing), row, strict=True):
                whole[chosen] = part
        return OwnValues(value=centre, low=low, high=high, outlying=nothing)
    factor = np.exp(np.minimum(np.divide(width, centre, out=np.zeros_like(width), where=is_positive), LARGEST_LOG))
    low = np.where(is_positive, centre / factor, low)
    high = np.where(is_positive, centre * factor, high)
    return OwnValues(value=centre, low=low, high=high, outlying=nothing)


def _by_logs(samples: Array, confidence: float, seed: int) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Centres, ends of the intervals, and how many values are outlying."""
    logs = np.log(samples)
    n = logs.shape[1]
    centre, width = logs.mean(axis=1), half_widths(logs, [confidence], seed)[0]
    outlying = np.zeros(len(logs), dtype=np.int64)
    if n >= biweight.FEWEST:
        centres, errors, weights = biweight.centres(logs)
        has_scale = errors > SAME
        centre = np.where(has_scale, centres, centre)
        width = np.where(has_scale, biweight.half_widths(errors, n, [confidence])[0], width)
        outlying = np.where(has_scale, (weights < biweight.LITTLE).sum(axis=1), 0)
    value = np.clip(np.exp(centre), samples.min(axis=1), samples.max(axis=1))
    ends = np.exp(np.minimum(width, LARGEST_LOG))
    return value, value / ends, value * ends, outlying

"""Tukey's biweight: the centre of a sample, and its interval, where one value in five may be wild.

A trial that the machine was taken away from is off by a factor, not by a standard deviation or two. One such trial in
five makes Student's interval thirty times as wide. The biweight gives each value a weight that falls with its distance
from the others and is zero beyond six standard deviations. Every value takes part in deciding which ones are far, and
none is dropped beforehand. The interval is the biweight's "t" (K. Kafadar, "A biweight approach to the one-sample
problem", Journal of the American Statistical Association 77, 1982; F. Mosteller, J. W. Tukey, "Data Analysis and
Regression", 1977, chapter 10), with two changes for small samples:

- The scale is that of the values nearest to the median: of `n // 2 + 2` (four of five, seven of ten), whose mean square
  is far less erratic than the median absolute deviation, and which two fifths of wild values of many leave alone.
- The quantiles are not those of a t with so many degrees of freedom. They were simulated for normal values, and are in
  `biweight_table`. `benches/estimators.py --quantiles` makes them again.

`benches/estimators.py` has the evidence: coverage and width beside Student's t, trimmed means, Huber's and the
biweight's usual form, for normal values, heavy tails, wild trials, trials that resemble one another, and recorded noise
(docs/measurements/statistics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .biweight_table import CHANCES, FACTORS, UNIT_OF_MANY, UNITS
from .interval import Array

FEWEST = 5
"""Fewest values of a biweight. Of fewer, nothing tells the wild one from the others, and the mean is used."""

CUT = 6.0
"""Standard deviations beyond which a value has no weight. It makes intervals of five normal values 15 % wider than
Student's, of ten 5 %. With 8 they would be 7 % and 2 % wider, and cover 93.7 % where one of five is wild."""

_STEPS = 8
"""Steps of the fixed-point iteration. More change no centre by a thousandth of its error."""

LITTLE = 0.1
"""A value with a smaller weight counts as outlying: beyond five standard deviations."""


def centres(samples: Array) -> tuple[Array, Array, Array]:
    """The biweight of each sample.

    Args:
        samples: shape (samples, n), n at least `FEWEST`.

    Returns:
        The centres and their standard errors, each of shape (samples,), and the weights of the values, of the shape of
        the samples, from 0 to 1: each centre is the mean of its values with these weights. The error is NaN where more
        than half of a sample's values are equal, so that they have no scale.
    """
    n = samples.shape[1]
    centre = np.median(samples, axis=1)
    squares = np.sort(np.square(samples - centre[:, np.newaxis]), axis=1)[:, : nearest(n)]
    scale = unit(n) * np.sqrt(squares.mean(axis=1))
    has_scale = scale > 0
    cut = np.where(has_scale, CUT * scale, 1.0)[:, np.newaxis]
    weights = np.ones_like(samples)
    for _ in range(_STEPS):
        weights = _weights((samples - centre[:, np.newaxis]) / cut)
        centre = (weights * samples).sum(axis=1) / weights.sum(axis=1)
    apart = samples - centre[:, np.newaxis]
    relative = np.square(apart / cut)
    inside = relative < 1
    above = np.where(inside, np.square(apart) * (1 - relative) ** 4, 0.0).sum(axis=1)
    below = np.abs(np.where(inside, (1 - relative) * (1 - 5 * relative), 0.0).sum(axis=1))
    below *= np.maximum(1.0, below - 1.0)
    errors = np.full(len(samples), np.nan)
    np.divide(np.sqrt(above), np.sqrt(below), out=errors, where=has_scale & (below > 0))
    errors[has_scale & ~(below > 0)] = np.nan
    return centre, errors, weights


def nearest(n: int) -> int:
    """Number of values nearest to the median that give the scale."""
    return n // 2 + 2


def half_widths(errors: Array, n: int, confidences: Sequence[float]) -> Array:
    """Half the width of the interval at each confidence, from standard errors; shape (confidences, samples)."""
    widths: Array = np.array([quantile(n, confidence) for confidence in confidences])[:, np.newaxis] * errors
    return widths


def quantile(n: int, confidence: float) -> float:
    """Number of standard errors of the interval of n values to each side."""
    chances, quantiles = _curve(n)
    return float(np.exp(np.interp(np.log1p(-confidence), chances, quantiles))) if confidence > 0 else 0.0


@lru_cache(maxsize=512)
def degrees(n: int, confidence: float = 0.95) -> float:
    """The degrees of freedom with which Student's interval of this confidence has as many standard errors as that of
    n values. For what knows no other distribution than Student's."""
    from scipy.special import stdtridf

    return float(stdtridf((1 + confidence) / 2, quantile(n, confidence)))


def p_values(statistics: Array, n: int) -> Array:
    """The chance that centre over standard error of n normal values around zero is at least so far from zero."""
    chances, quantiles = _curve(n)
    sizes = np.log(np.maximum(np.abs(statistics), np.finfo(np.float64).tiny))
    chances_of_statistics: Array = np.exp(np.interp(sizes, quantiles[::-1], chances[::-1]))
    chances_of_statistics[np.abs(statistics) < np.exp(quantiles[-1])] = 1.0
    return chances_of_statistics


def _weights(relative: Array) -> Array:
    weights: Array = np.square(np.maximum(0.0, 1.0 - np.square(relative)))
    return weights


@lru_cache(maxsize=512)
def _curve(n: int) -> tuple[Array, Array]:
    """Logarithms of chances, ascending, and of the quantiles that are exceeded with these chances, descending."""
    from scipy.special import stdtrit

    chances = np.geomspace(1e-12, 0.999, 600)
    students = -stdtrit(n - 1, chances / 2)
    quantiles = np.log(students) + _log_factors(n, np.log(chances))
    return np.log(chances), np.maximum.accumulate(quantiles[::-1])[::-1]


def _log_factors(n: int, log_chances: Array) -> Array:
    """Logarithms of the biweight's quantiles over Student's: between the rows and columns of `FACTORS`, and beyond
    its last column by the slope of the last two."""
    rows = np.array(list(FACTORS))
    columns = np.log(CHANCES)[::-1]
    table = np.log(np.array(list(FACTORS.values())))[:, ::-1]
    # Interpolation in 1/n, whose last step leads to a factor of 1 at infinitely many values.
    inverse = np.append(1 / rows, 0.0)[::-1]
    padded = np.vstack([table, np.zeros(table.shape[1])])[::-1]
    of_n = np.array([np.interp(1 / n, inverse, column) for column in padded.T])
    slope = (of_n[1] - of_n[0]) / (columns[1] - columns[0])
    factors: Array = np.interp(log_chances, columns, of_n)
    return np.where(log_chances < columns[0], of_n[0] + slope * (log_chances - columns[0]), factors)


@lru_cache(maxsize=512)
def unit(n: int) -> float:
    """The standard deviation of normal values over the root of the mean square of those nearest to the median."""
    rows = [row for row in reversed(UNITS) if (row - n) % 2 == 0]
    return float(np.interp(1 / n, [0.0, *(1 / row for row in rows)], [UNIT_OF_MANY, *(UNITS[row] for row in rows)]))

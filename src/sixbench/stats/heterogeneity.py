"""Checks whether groups of values are alike: the test of Kruskal and Wallis, by permutation.

W. H. Kruskal, W. A. Wallis, "Use of ranks in one-criterion variance analysis", Journal of the American Statistical
Association 47, 1952. Ranks make one wild value weigh no more than any other. The chi-squared distribution is a bad
approximation for the handful of values that a machine has, so that the statistic is held against what it is where
values are dealt to the groups at random. Such a test keeps its error for any number of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .interval import SEED

DEALS = 4999
"""Number of random deals of the values: the least p-value is 1 / (DEALS + 1) (B. Phipson, G. K. Smyth, "Permutation
p-values should never be zero", Statistical Applications in Genetics and Molecular Biology 9, 2010)."""

_SAME = 1e-9
"""Sums of squares of ranks that are less than this share apart are equal."""


def alike_p_value(groups: Sequence[Sequence[float]]) -> float | None:
    """The p-value of the hypothesis that all groups have the same distribution. None where fewer than two groups have
    values, or none has two."""
    filled = [group for group in groups if group]
    if len(filled) < 2 or max(map(len, filled)) < 2:
        return None
    sizes = tuple(map(len, filled))
    values = np.concatenate([np.asarray(group, dtype=float) for group in filled])
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # equal values have their mean rank
    if len(counts) == 1:
        return 1.0
    value = float(_statistic(ranks[np.newaxis, :], sizes)[0])
    dealt = _dealt(sizes) if len(counts) == len(values) else _statistic(_shuffled(ranks), sizes)
    return float((1 + np.count_nonzero(dealt >= value * (1 - _SAME))) / (1 + DEALS))


@lru_cache(maxsize=256)
def _dealt(sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """The statistic of values that are all different, dealt to groups of these sizes."""
    return _statistic(_shuffled(np.arange(1.0, sum(sizes) + 1)), sizes)


def _shuffled(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.random.default_rng(SEED).permuted(np.tile(ranks, (DEALS, 1)), axis=1)


def _statistic(ranks: NDArray[np.float64], sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Part of Kruskal's and Wallis's H that depends on the deal: the sum of squared sums of ranks by size. A row
    each."""
    starts = np.cumsum((0, *sizes[:-1]))
    sums: NDArray[np.float64] = np.add.reduceat(ranks, starts, axis=1)
    return np.asarray((sums**2 / np.asarray(sizes)).sum(axis=1))

"""The rank-sum test: whether some values lie higher or lower than others, whatever their distribution.

F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945. H. B. Mann, D. R. Whitney, "On a
test of whether one of two random variables is stochastically larger than the other", Annals of Mathematical Statistics
18, 1947: the statistic U counts the pairs, of one value from either side, that stand the wrong way round. Its
distribution is exact here. Where all values are alike and independent, it does not depend on how they are distributed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .interval import Array


@lru_cache(maxsize=256)
def tail(n: int, m: int) -> Array:
    """The chance that at most U of the n times m pairs stand the wrong way round, for each U from 0.

    Equal values that count as the wrong way round make the chance larger than it is, never smaller.

    Args:
        n, m: how many values there are on either side, each at least 1.
    """
    # The number of ways is a coefficient of the Gaussian binomial, a product of (1 - q^(n+i)) / (1 - q^i).
    ways = np.zeros(n * m + 1)
    ways[0] = 1.0
    for i in range(1, m + 1):
        rising, falling = n + i, i
        ways[rising:] -= ways[:-rising].copy() if rising < len(ways) else 0.0
        for at in range(falling, len(ways)):
            ways[at] += ways[at - falling]
        ways *= i / (n + i)  # the sum stays 1, so that no number overflows
    chances: Array = np.minimum(np.cumsum(np.maximum(ways, 0.0)), 1.0)
    chances.flags.writeable = False
    return chances

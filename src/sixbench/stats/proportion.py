"""Intervals of a proportion: k of n.

Wilson's where an interval is to cover its truth about as often as it says; Clopper and Pearson's where it may on no
account cover less (L. D. Brown, T. T. Cai, A. DasGupta, "Interval estimation for a binomial proportion", Statistical
Science 16, 2001, sections 3.1.1 and 4.2.1).
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


def wilson(k: int, n: int, confidence: float = 0.95, dispersion: float = 1.0) -> tuple[float, float]:
    """E. B. Wilson's score interval.

    Args:
        dispersion: variance of k over that of independent trials, where it is known; n counts for so much less.

    Raises:
        ValueError: n is not positive, or k not from 0 to n.
    """
    _check(k, n)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    counting, share = n / dispersion, k / n
    weight = 1 + z * z / counting
    middle = (share + z * z / (2 * counting)) / weight
    half = z / weight * sqrt(share * (1 - share) / counting + z * z / (4 * counting * counting))
    low = 0.0 if k == 0 else max(0.0, middle - half)
    return low, 1.0 if k == n else min(1.0, middle + half)


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval: it covers the truth at least as often as it says.

    Raises:
        ValueError: n is not positive, or k not from 0 to n.
    """
    from scipy.special import betaincinv

    _check(k, n)
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def _check(k: int, n: int) -> None:
    if n <= 0 or not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a proportion")

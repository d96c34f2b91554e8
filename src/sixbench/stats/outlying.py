"""Values of a sample that are far from the others, and whether one sample has more of them than others allow.

R. A. Fisher, "The logic of inductive inference", Journal of the Royal Statistical Society 98, 1935: with the margins of
a table of two by two fixed, the chance of its counts is hypergeometric, whatever the share is that both rows have in
common. So nothing has to be known of how often values are far on this machine: the other samples say it.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from . import biweight
from .interval import Array


def outlying(samples: Array, least: float) -> NDArray[np.bool_]:
    """Which values are far from the others of their sample.

    Such a value has less than a tenth of its weight in the biweight, or is another one where more than half of the
    values are equal; and it is farther than `least` from the centre in any case.

    Args:
        samples: shape (samples, n), n at least `biweight.FEWEST`.
        least: a distance that does not matter, in the unit of the values.
    """
    centres, errors, weights = biweight.centres(samples)
    has_scale = np.isfinite(errors)[:, np.newaxis]
    middle = np.where(has_scale, centres[:, np.newaxis], np.median(samples, axis=1)[:, np.newaxis])
    far: NDArray[np.bool_] = ((weights < biweight.LITTLE) | ~has_scale) & (np.abs(samples - middle) > least)
    return far


@lru_cache(maxsize=4096)
def more_often_p_value(count: int, n: int, others_count: int, others_n: int) -> float:
    """The chance of at least `count` of n, where `count` + `others_count` of all are dealt at random (Fisher's exact
    test, one-sided).

    Raises `ValueError` where a count is negative or larger than its n.
    """
    if not 0 <= count <= n or not 0 <= others_count <= others_n:
        raise ValueError(f"{count} of {n} and {others_count} of {others_n} are no counts")
    total = count + others_count
    ways = sum(comb(n, own) * comb(others_n, total - own) for own in range(count, min(n, total) + 1))
    return ways / comb(n + others_n, total)

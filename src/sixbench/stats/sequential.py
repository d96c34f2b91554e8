"""Group-sequential tests: comparisons that are looked at several times while their trials come in.

Who looks after each block and stops as soon as p is under 5 % finds a difference in a third of all equal paths. So each
look may spend only a part of the error. The parts add up to the whole, whatever the number of looks (K. K. G. Lan,
D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983). The bounds follow from the
spent parts by the recursion of P. Armitage, C. K. McPherson, B. C. Rowe (Journal of the Royal Statistical Society A
132, 1969) for sums of normal values. They are used as levels of the p-value, which is about right for Student's t too
(C. Jennison, B. W. Turnbull, "Group Sequential Methods", 2000, section 3.8).

An interval at the level of the last look is a repeated confidence interval (the same, chapter 9): it holds for all
looks together, and for whatever rule ended them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import exp, log, sqrt

import numpy as np

from .interval import Array

_POINTS = 96
"""Number of points of the Gauss-Legendre rule. Twice as many change no level by more than 1e-6 of itself."""

_FARTHEST = 12.0
"""Standard deviations from zero beyond which nothing lies: a bound there is never reached."""

_HALVINGS = 45

_ERRORS = 33
"""Number of values of the whole error, from 1e-12 to nearly 1, between which adjusted p-values are interpolated."""


@dataclass(frozen=True, kw_only=True)
class Looks:
    """The looks at a comparison so far.

    Attributes:
        blocks: how many blocks there were at each look, ascending.
        spent: the share of the error that is spent up to and with each look, ascending, at most 1.
    """

    blocks: tuple[int, ...]
    spent: tuple[float, ...]

    def level(self, error: float) -> float:
        """The two-sided level of the last look, such that the chance of a false difference at any look is `error`."""
        last: float = levels(self.blocks, self.spent, error)[-1]
        return last

    def adjusted(self, p_value: float) -> float:
        """The smallest error at which the last look with this two-sided p-value finds a difference: the repeated
        p-value. It is valid whatever ended the looks."""
        if len(self.blocks) == 1:
            return min(1.0, p_value / self.spent[0]) if self.spent[0] else 1.0
        errors, nominal = _inverse(self.blocks, self.spent)
        if p_value >= nominal[-1]:
            return 1.0
        if p_value <= nominal[0]:
            return float(p_value * errors[0] / nominal[0]) if nominal[0] else float(errors[0])
        return exp(float(np.interp(log(p_value), np.log(nominal), np.log(errors))))


@lru_cache(maxsize=4096)
def levels(blocks: tuple[int, ...], spent: tuple[float, ...], error: float) -> tuple[float, ...]:
    """The two-sided level of each look.

    Args:
        blocks: the information at each look, ascending.
        spent: the share of the error that is spent up to and with each look.
        error: the chance of a false difference at any look.
    """
    # Look by look, because each needs the results of those before it, which are cached.
    return tuple(_look(blocks[:last], spent[:last], error)[0] for last in range(1, len(blocks) + 1))


@lru_cache(maxsize=4096)
def _look(blocks: tuple[int, ...], spent: tuple[float, ...], error: float) -> tuple[float, Array, Array]:
    """The two-sided level of the last look; and where the sums of those lie that have never crossed a bound, with their
    densities."""
    from scipy.special import ndtr

    # Before the first look the sum is 0 for certain.
    before, was_spent, sums, densities = 0, 0.0, np.zeros(1), np.ones(1)
    if len(blocks) > 1:
        before, was_spent = blocks[-2], spent[-2]
        _, sums, densities = _look(blocks[:-1], spent[:-1], error)
    unit, step = sqrt(blocks[-1]), sqrt(blocks[-1] - before)
    bound = _bound(partial(_crossing, sums, densities, step), error * (spent[-1] - was_spent), unit)
    nodes, weights = _rule()
    points = bound * nodes
    apart = (points[:, np.newaxis] - sums) / step
    density = np.exp(-0.5 * np.square(apart)) @ densities / (step * sqrt(2 * np.pi))
    return 2 * float(ndtr(-bound / unit)), points, density * weights * bound


@cache
def _rule() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    return nodes, weights


def _crossing(sums: Array, densities: Array, step: float, bound: float) -> float:
    """The chance to be beyond the bound now, and never before."""
    from scipy.special import ndtr

    return float(densities @ (ndtr((-bound - sums) / step) + ndtr((sums - bound) / step)))


def _bound(crossing: Callable[[float], float], chance: float, unit: float) -> float:
    """Boundary at which the chance of crossing is this."""
    low, high = 0.0, _FARTHEST * unit
    if crossing(high) >= chance:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if crossing(middle) > chance else (low, middle)
    return high


@lru_cache(maxsize=256)
def _inverse(blocks: tuple[int, ...], spent: tuple[float, ...]) -> tuple[Array, Array]:
    """Errors, and the level of the last look at each; both ascending."""
    errors = np.geomspace(1e-12, 0.99, _ERRORS)
    return errors, np.maximum.accumulate([levels(blocks, spent, float(error))[-1] for error in errors])

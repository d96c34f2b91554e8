"""Looks before the end: levels that keep the error, and p-values that hold for all looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import t as student

from sixbench.stats import Looks
from sixbench.stats.sequential import levels

pytestmark = pytest.mark.computes

BLOCKS = (5, 6, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60)
EVENLY = tuple(number / 60 for number in BLOCKS)


def test_a_single_look_spends_the_whole_error() -> None:
    assert levels((5,), (1.0,), 0.05) == pytest.approx([0.05])
    assert Looks(blocks=(5,), spent=(1.0,)).adjusted(0.03) == 0.03


def test_the_bounds_are_those_of_the_textbook() -> None:
    # Five equal steps, spending alpha ln(1 + (e - 1) t): J. Reboussin, D. DeMets and others, "Computations for group
    # sequential boundaries using the Lan-DeMets spending function method", 2000.
    spent = [math.log(1 + (math.e - 1) * step / 5) for step in range(1, 6)]
    bounds = [-float(ndtri(level / 2)) for level in levels((1, 2, 3, 4, 5), tuple(spent), 0.05)]
    assert bounds == pytest.approx([2.438, 2.427, 2.410, 2.397, 2.386], abs=0.001)


@pytest.mark.parametrize("error", [0.05, 0.005])
def test_all_looks_together_have_the_error(error: float) -> None:
    sums = np.random.default_rng(1).normal(size=(40_000, 60)).cumsum(axis=1)
    at = sums[:, [number - 1 for number in BLOCKS]] / np.sqrt(BLOCKS)
    mean = (np.abs(at) > -ndtri(np.array(levels(BLOCKS, EVENLY, error)) / 2)).any(axis=1).mean()
    assert mean == pytest.approx(error, abs=3.3 * math.sqrt(error / 40_000))


def test_without_such_levels_a_third_of_equal_paths_would_differ() -> None:
    values = np.random.default_rng(1).normal(size=(4000, 60))
    zeros = np.zeros(4000, dtype=bool)
    for number in range(5, 61):
        part = values[:, :number]
        zeros |= np.abs(part.mean(axis=1)) > student.ppf(0.975, number - 1) * part.std(axis=1, ddof=1) / number**0.5
    assert zeros.mean() > 0.25


def test_an_adjusted_p_value_is_the_error_at_which_the_last_look_decides() -> None:
    looks = Looks(blocks=BLOCKS[:6], spent=EVENLY[:6])
    for error in (0.2, 0.05, 0.004, 1e-6):
        assert looks.adjusted(looks.level(error)) == pytest.approx(error, rel=0.02)
    assert looks.adjusted(0.9) <= 1.0
    assert looks.adjusted(0.0) <= 1e-11


def test_what_is_left_of_the_error_makes_the_last_look_nearly_as_good_as_a_single_one() -> None:
    early = Looks(blocks=BLOCKS[:8], spent=EVENLY[:8])
    last = Looks(blocks=BLOCKS[:8], spent=(*EVENLY[:7], 1.0))
    assert early.level(0.05) < 0.012
    assert 0.04 < last.level(0.05) < 0.05

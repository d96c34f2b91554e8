"""Number of trials that an interval of a given width takes."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from sixbench.stats import values_needed

pytestmark = pytest.mark.computes


def half_width(n: int, spread: float, confidence: float = 0.95) -> float:
    return float(scipy_stats.t.ppf((1 + confidence) / 2, n - 1) * spread / sqrt(n))


@given(st.floats(1e-3, 1e3), st.floats(0.5, 0.999))
def test_it_is_the_smallest_number_that_is_enough(spread: float, confidence: float) -> None:
    n = values_needed(spread, 1.0, confidence)
    assert n is not None
    assert n >= 2
    assert half_width(n, spread, confidence) <= 1 + 1e-9
    assert n == 2 or half_width(n - 1, spread, confidence) > 1 - 1e-9


def test_numbers_of_the_normal_table() -> None:
    # 1.96 standard errors: (1.96 * 10 / 2)^2 = 96.04, and a little more for the t distribution.
    assert values_needed(10.0, 2.0, 0.95) == 99
    assert values_needed(0.0, 0.01, 0.95) == 2


def test_what_no_experiment_can_do_is_none() -> None:
    assert values_needed(1e9, 1e-3, 0.95) is None


@pytest.mark.parametrize(("spread", "wanted"), [(-1.0, 1.0), (1.0, 0.0), (float("nan"), 1.0), (1.0, float("inf"))])
def test_nonsense_is_refused(spread: float, wanted: float) -> None:
    with pytest.raises(ValueError, match="half-width"):
        values_needed(spread, wanted, 0.95)

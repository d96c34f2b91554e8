"""Confidence intervals of means: values known by hand, and the rule where the bootstrap degenerates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sixbench.stats import half_width, half_widths
from sixbench.stats.interval import student_quantile

pytestmark = pytest.mark.computes


def test_few_values_have_students_interval() -> None:
    # t with 2 degrees of freedom at 97.5 % is 4.30265; the standard deviation is 1.
    assert half_width([1, 2, 3], 0.95) == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)


def test_one_value_has_no_interval() -> None:
    assert half_width([5.0], 0.95) is None


def test_many_samples_of_one_value_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least two values, not 1"):
        half_widths(np.ones((3, 1)), [0.95])


@pytest.mark.parametrize("n", [2, 9, 10, 30])
def test_equal_values_have_an_interval_of_no_width(n: int) -> None:
    assert half_width([0.1] * n, 0.95) == 0


@pytest.mark.parametrize("confidence", [-0.1, 1.0, 95])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        half_width([1, 2, 3], confidence)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.9999])
def test_the_bootstrap_widens_students_interval_up_to_twice(confidence: float) -> None:
    samples = np.random.default_rng(1).standard_t(2, size=(200, 10))
    student = student_quantile((1 + confidence) / 2, 9) * samples.std(axis=1, ddof=1) / math.sqrt(10)
    ratios = half_widths(samples, [confidence])[0] / student
    assert ratios.min() > 1 - 1e-9
    assert ratios.max() < 2 + 1e-9


@pytest.mark.parametrize("n", [10, 15])
def test_one_hiccup_among_equal_values_gives_a_usable_interval(n: int) -> None:
    width = half_width([100.0] * (n - 1) + [95.0], 0.95)
    assert width is not None
    assert 0.2 < width < 5


def test_more_confidence_is_wider() -> None:
    samples = np.random.default_rng(2).normal(size=(50, 12))
    narrow, middle, wide = half_widths(samples, [0.8, 0.95, 0.99])
    assert (narrow < middle).all()
    assert (middle < wide).all()


def test_the_same_numbers_have_the_same_interval_whatever_else_is_in_the_report() -> None:
    samples = np.random.default_rng(3).normal(size=(300, 11))
    alone = half_widths(samples[123:124], [0.95])
    among = half_widths(samples, [0.9, 0.95])
    assert alone[0, 0] == pytest.approx(among[1, 123], rel=1e-12)


def test_the_seed_changes_the_bootstrap_a_little() -> None:
    values = np.random.default_rng(4).exponential(size=12).tolist()
    actual_half_width, other = half_width(values, 0.95, seed=1), half_width(values, 0.95, seed=2)
    assert actual_half_width != other
    assert actual_half_width == pytest.approx(other, rel=0.1)

"""Two samples that nothing pairs: against scipy's Welch test, in simulated runs, and without any spread."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from sixbench.stats import compare_unpaired

pytestmark = pytest.mark.computes

OLD = [101.0, 99.0, 103.5, 98.2, 100.4]
NEW = [104.0, 107.1, 103.3]


def test_it_is_welchs_test_of_the_logarithms() -> None:
    comparison = compare_unpaired(OLD, NEW, "ratio")
    reference = stats.ttest_ind(np.log(NEW), np.log(OLD), equal_var=False)
    assert comparison.is_ratio
    assert comparison.change == pytest.approx(exp(np.log(NEW).mean() - np.log(OLD).mean()))
    assert comparison.p_none() == pytest.approx(reference.pvalue)
    assert comparison.interval(0.95) == pytest.approx([exp(end) for end in reference.confidence_interval(0.95)])
    assert comparison.p_at_most(0.0) == pytest.approx(reference.pvalue / 2)
    assert comparison.p_at_least(0.0) == pytest.approx(1 - reference.pvalue / 2)


@pytest.mark.parametrize("old", [OLD, [0.0, *OLD]])
def test_values_that_may_be_zero_are_compared_by_difference(old: list[float]) -> None:
    comparison = compare_unpaired(old, NEW, "difference" if old is OLD else "ratio")
    reference = stats.ttest_ind(NEW, old, equal_var=False)
    assert not comparison.is_ratio
    assert comparison.change == pytest.approx(np.mean(NEW) - np.mean(old))
    assert comparison.p_none() == pytest.approx(reference.pvalue)
    assert comparison.interval(0.9) == pytest.approx(reference.confidence_interval(0.9))


def test_an_interval_beyond_a_bound_is_a_rejection_at_half_its_error() -> None:
    comparison = compare_unpaired(OLD, NEW, "ratio")
    interval = comparison.interval(0.95)
    assert interval is not None
    low = log(interval[0])
    for bound, is_rejected in ((low - 1e-6, True), (low + 1e-6, False)):
        p_value = comparison.p_at_most(bound)
        assert p_value is not None
        assert (p_value < 0.025) == is_rejected


def test_where_there_is_no_spread_the_values_decide() -> None:
    same = compare_unpaired([0.1 + 0.2] * 3, [0.3] * 2, "ratio")
    assert same.interval(0.95) == pytest.approx((1.0, 1.0))
    assert (same.p_none(), same.p_at_most(0.0), same.p_at_least(0.0)) == (1.0, 1.0, 1.0)
    more = compare_unpaired([100.0] * 3, [102.0] * 3, "ratio")
    assert more.interval(0.95) == (more.change, more.change)
    assert more.p_none() == pytest.approx(0, abs=1e-9)
    assert (more.p_at_most(log(1.01)), more.p_at_most(log(1.03))) == (pytest.approx(0, abs=1e-9), 1.0)


def test_one_spread_is_enough_for_an_interval_and_one_value_for_none() -> None:
    assert compare_unpaired([100.0] * 4, NEW, "ratio").degrees == pytest.approx(len(NEW) - 1)
    lone = compare_unpaired([100.0], NEW, "ratio")
    assert lone.change == pytest.approx(exp(np.log(NEW).mean()) / 100)
    assert (lone.interval(0.95), lone.p_none(), lone.p_at_most(0.0), lone.p_at_least(0.0)) == (None, None, None, None)
    with pytest.raises(ValueError, match="both sides"):
        compare_unpaired([], NEW, "ratio")


def test_tiny_variances_stay_numbers() -> None:
    comparison = compare_unpaired([1e-200, 2e-200, 3e-200], [1e-200, 2e-200, 4e-200], "difference")
    assert comparison.interval(0.95) is not None
    assert 0.3 < (comparison.p_none() or 0) < 1


@pytest.mark.parametrize(("sizes", "spreads"), [((3, 3), (1, 1)), ((5, 10), (1, 4)), ((10, 4), (0.2, 3))])
def test_intervals_cover_what_they_say(sizes: tuple[int, int], spreads: tuple[float, float]) -> None:
    dice = np.random.default_rng(20261121)
    covered = 0
    for _ in range(2000):
        old, new = (dice.normal(0, spread, size) for size, spread in zip(sizes, spreads, strict=True))
        interval = compare_unpaired(old.tolist(), (new + 5).tolist(), "difference").interval(0.95)
        assert interval is not None
        covered += interval[0] <= 5 <= interval[1]
    assert 0.935 < covered / 2000 < 0.985

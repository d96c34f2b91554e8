"""Paired comparisons: ratios, differences, p-values and equivalence at values known by hand or from scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from sixbench.stats import (
    Comparison,
    Estimator,
    Pairs,
    coefficient_of_variation,
    compare,
    compare_all,
    holm,
    trimmed_mean,
)

pytestmark = pytest.mark.computes


def _compare(path: list[float], baseline: list[float], *, margin: float = 0.01, share: bool = False) -> Comparison:
    pairs = Pairs(path=path, baseline=baseline, scale="difference" if share else "ratio")
    return compare(pairs, confidence=0.95, margin=margin)


def test_a_ratio_is_the_geometric_mean_of_the_blocks() -> None:
    result = _compare([2.0, 8.0], [1.0, 1.0])
    assert (result.value, result.baseline) == (pytest.approx(4), 1)
    assert result.ratio == result.value / result.baseline
    assert result.difference == result.value - result.baseline


def test_a_ratio_does_not_see_what_a_block_does_to_both() -> None:
    blocks = np.exp(np.random.default_rng(1).normal(0, 1, 6))
    result = _compare((blocks * 1.1).tolist(), blocks.tolist())
    assert (result.low, result.high) == (pytest.approx(1.1), pytest.approx(1.1))


def test_the_p_value_is_that_of_the_t_test_on_log_ratios() -> None:
    generator = np.random.default_rng(2)
    path, baseline = generator.lognormal(0.02, 0.03, 7), generator.lognormal(0, 0.03, 7)
    expected = scipy_stats.ttest_1samp(np.log(path / baseline), 0)
    interval = expected.confidence_interval(0.95)
    result = _compare(path.tolist(), baseline.tolist())
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.low == pytest.approx(math.exp(interval.low))
    assert result.high == pytest.approx(math.exp(interval.high))


def test_no_pair_and_one_pair_say_what_they_can() -> None:
    assert _compare([], []) == Comparison(n=0)
    of_one_pair = _compare([3.0], [2.0], margin=0.9)
    assert (of_one_pair.n, of_one_pair.ratio, of_one_pair.difference) == (1, pytest.approx(1.5), 1.0)
    assert (of_one_pair.low, of_one_pair.high, of_one_pair.p_value, of_one_pair.equivalent, of_one_pair.direction) == (
        None,
        None,
        None,
        False,
        None,
    )


@pytest.mark.parametrize("values", [[5.0] * 4, [0.0] * 4, [1e-3, 2.0, 7.0, 9.0], [0.1] * 12])
def test_identical_paths_are_equivalent_with_p_1(values: list[float]) -> None:
    result = _compare(values, values, margin=0.0)
    assert result.p_value == 1
    assert result.equivalent
    assert result.difference == 0
    assert result.low == result.high


@pytest.mark.parametrize(("n", "p_value"), [(2, 1 / 4), (3, 1 / 16), (5, 1 / 256), (30, 1e-12)])
def test_a_constant_difference_is_as_improbable_as_coins_that_agree(n: int, p_value: float) -> None:
    assert _compare([1.05] * n, [1.0] * n).p_value == pytest.approx(p_value)
    assert _compare([0.05] * n, [0.0] * n, share=True).p_value == pytest.approx(p_value)


def test_rounding_is_no_difference() -> None:
    # 0.1 + 0.2 is not 0.3 in doubles.
    assert _compare([0.1 + 0.2] * 5, [0.3] * 5, margin=0.0).p_value == 1
    assert _compare([0.1 + 0.2] * 5, [0.3] * 5, margin=0.0, share=True).p_value == 1


def test_zero_has_no_ratio_but_a_difference() -> None:
    result = _compare([0.0, 0.1, 0.2], [0.1, 0.1, 0.1])
    assert result.ratio is None
    assert result.difference == pytest.approx(0)
    assert result.low == pytest.approx(-0.248, abs=1e-3)


def test_values_of_wildly_different_sizes_keep_finite_intervals() -> None:
    wild = compare(Pairs(path=[1e-300, 1e300], baseline=[1.0, 1.0]), confidence=0.9999, margin=0.01)
    assert wild.low is not None
    assert wild.high is not None
    assert 0 < wild.low < 1e-300
    assert 1e300 < wild.high < math.inf


def test_a_narrow_interval_within_the_margin_is_equivalent() -> None:
    path = [1.004, 1.005, 1.006, 1.005, 1.004]
    assert _compare(path, [1.0] * 5, margin=0.01).equivalent
    assert not _compare(path, [1.0] * 5, margin=0.005).equivalent


def test_equivalence_is_two_one_sided_tests_at_the_error_of_the_interval() -> None:
    logs = np.array([0.001, 0.004, 0.003, 0.006, 0.0])
    upper_p = scipy_stats.ttest_1samp(logs - math.log1p(0.006), 0, alternative="less").pvalue
    just_above, just_below = 1 - upper_p - 1e-6, 1 - upper_p + 1e-6
    pairs = Pairs(path=np.exp(logs).tolist(), baseline=[1.0] * 5)
    assert compare(pairs, confidence=just_above, margin=0.006).equivalent
    assert not compare(pairs, confidence=just_below, margin=0.006).equivalent


def test_the_margin_is_the_same_in_both_directions() -> None:
    up, down = [1.0095, 1.0096] * 4, [1 / 1.0095, 1 / 1.0096] * 4
    assert _compare(up, [1.0] * 8).equivalent
    assert _compare(down, [1.0] * 8).equivalent


def test_the_margin_of_a_share_is_a_difference() -> None:
    assert _compare([0.002, 0.0, 0.001, 0.0, 0.0], [0.0] * 5, share=True).equivalent
    assert not _compare([0.12, 0.10, 0.11, 0.12, 0.11], [0.10] * 5, share=True).equivalent


def test_the_margin_of_values_with_zeros_is_a_share_of_the_baseline() -> None:
    baseline = [0.0, 100.0, 200.0, 100.0, 100.0]
    near = [value + shift for value, shift in zip(baseline, [0.1, -0.1, 0.2, 0.1, 0.0], strict=True)]
    assert _compare(near, baseline).equivalent
    assert not _compare([value + 2 for value in baseline], baseline).equivalent


def test_direction_needs_the_whole_interval_on_one_side() -> None:
    assert _compare([1.1, 1.11, 1.12], [1.0] * 3).direction == "higher"
    assert _compare([0.9, 0.91, 0.92], [1.0] * 3).direction == "lower"
    assert _compare([0.9, 1.11, 1.12], [1.0] * 3).direction is None
    assert _compare([0.1, 0.11, 0.12], [0.0] * 3, share=True).direction == "higher"


def test_unequal_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="2 values of the path cannot be paired with 1"):
        _compare([1.0, 2.0], [1.0])


def test_comparisons_of_all_kinds_come_back_in_order() -> None:
    generator = np.random.default_rng(3)
    kinds = [
        Pairs(path=generator.lognormal(size=n).tolist(), baseline=generator.lognormal(size=n).tolist())
        for n in (5, 12, 0, 1, 5, 12)
    ]
    kinds.append(Pairs(path=[0.0, 0.1, 0.0], baseline=[0.0, 0.0, 0.2], scale="difference"))
    together = compare_all(kinds, confidence=0.95, margin=0.01)
    assert [result.n for result in together] == [5, 12, 0, 1, 5, 12, 3]
    for pairs, result in zip(kinds, together, strict=True):
        alone = compare(pairs, confidence=0.95, margin=0.01)
        assert result.low == (None if alone.low is None else pytest.approx(alone.low))
        assert result.p_value == (None if alone.p_value is None else pytest.approx(alone.p_value))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, None, 0.005]) == [pytest.approx(0.03), 0.06, 0.06, None, pytest.approx(0.02)]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None]) == [None]


def test_a_trimmed_mean_leaves_out_as_many_at_both_ends() -> None:
    values = [100.0, 1.0, 2.0, 3.0, -50.0]
    assert trimmed_mean(values) == pytest.approx(11.2)
    assert trimmed_mean(values, 1) == 2
    assert trimmed_mean(values, 9) == 2
    assert trimmed_mean([1.0, 4.0], 1) == 2.5
    with pytest.raises(ValueError, match="at least one"):
        trimmed_mean([])


def test_the_coefficient_of_variation() -> None:
    assert coefficient_of_variation([9.0, 10.0, 11.0]) == pytest.approx(0.1)
    assert coefficient_of_variation([-9.0, -10.0, -11.0]) == pytest.approx(0.1)
    assert coefficient_of_variation([0.0, 0.0]) == 0
    assert coefficient_of_variation([-1.0, 1.0]) is None
    assert coefficient_of_variation([5.0]) is None


PATH, BASELINE = [10.2, 10.3, 10.1, 10.2, 10.4, 10.2], [10.0, 10.1, 9.9, 10.0, 10.1, 10.0]


def uncertain(by: float, estimator: Estimator = "biweight", margin: float = 0.001) -> Comparison:
    each = [by] * len(PATH)
    pairs = Pairs(path=PATH, baseline=BASELINE, path_uncertainty=each, baseline_uncertainty=each)
    return compare(pairs, confidence=0.95, margin=margin, estimator=estimator)


@pytest.mark.parametrize("estimator", ["mean", "biweight"])
def test_a_difference_that_is_smaller_than_the_uncertainty_is_none(estimator: Estimator) -> None:
    """0.2 of 10 with next to no noise: either of the two may be wrong by 0.15."""
    certain = compare(Pairs(path=PATH, baseline=BASELINE), confidence=0.95, margin=0.001, estimator=estimator)
    comparison = uncertain(0.15, estimator)
    assert certain.direction == "higher"
    assert comparison.direction is None
    assert comparison.p_value == 1.0
    assert comparison.ratio == certain.ratio
    assert uncertain(0.02, estimator).direction == "higher"


def test_no_number_of_trials_makes_the_uncertainty_smaller() -> None:
    each = [0.15] * 6
    for times in (1, 10):
        pairs = Pairs(
            path=PATH * times,
            baseline=BASELINE * times,
            path_uncertainty=each * times,
            baseline_uncertainty=each * times,
        )
        comparison = compare(pairs, confidence=0.95, margin=0.001)
        assert comparison.low is not None
        assert comparison.low < (10.2 - 0.15) / (10.0 + 0.15) + 0.001
        assert comparison.direction is None


def test_what_may_differ_by_more_than_the_margin_is_not_equivalent() -> None:
    assert uncertain(0.0, margin=0.05).equivalent
    assert uncertain(0.05, margin=0.05).equivalent
    assert not uncertain(0.3, margin=0.05).equivalent


def test_certain_comparisons_beside_uncertain_ones_are_as_they_are_alone() -> None:
    alone = Pairs(path=PATH, baseline=BASELINE)
    moved = Pairs(path=PATH, baseline=BASELINE, path_uncertainty=[1.0] * 6)
    first, second = compare_all([alone, moved], confidence=0.95, margin=0.05)
    assert first == compare(alone, confidence=0.95, margin=0.05)
    assert second.low is not None
    assert first.low is not None
    assert second.low < first.low

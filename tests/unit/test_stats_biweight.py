"""The biweight of the ratios of blocks: as good as the mean where trials are quiet, and of use where one is wild."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sixbench.stats import Pairs, biweight, compare, compare_all

pytestmark = pytest.mark.computes

QUIET = [1.000, 1.012, 0.991, 1.004, 0.995]


def _compared(ratios: list[float], estimator: str = "biweight", baseline: float = 100.0):  # type: ignore[no-untyped-def]
    pairs = Pairs(path=[baseline * ratio for ratio in ratios], baseline=[baseline] * len(ratios))
    return compare(pairs, confidence=0.95, margin=0.01, estimator="mean" if estimator == "mean" else "biweight")


def _width(compared) -> float:  # type: ignore[no-untyped-def]
    return math.log(compared.high / compared.low) / 2


def test_one_wild_block_of_five_does_not_take_the_answer_away() -> None:
    wild = [*QUIET[:4], 0.2]
    mean, ours = _compared(wild, "mean"), _compared(wild)
    assert _width(mean) > 0.8
    assert _width(ours) < 0.03
    assert ours.ratio == pytest.approx(1.0, abs=0.01)
    assert (ours.n, ours.outlying, ours.estimator) == (5, (4,), "biweight")
    assert (mean.outlying, mean.estimator) == ((), "mean")


def test_without_a_wild_block_it_is_nearly_the_mean() -> None:
    mean, ours = _compared(QUIET, "mean"), _compared(QUIET)
    assert ours.ratio == pytest.approx(mean.ratio, abs=0.001)
    assert _width(mean) < _width(ours) < 1.3 * _width(mean)
    assert ours.outlying == ()


def test_which_of_the_two_is_the_baseline_makes_no_difference() -> None:
    ratios = [0.97, 0.98, 0.99, 3.0, 0.975, 0.985, 0.96]
    there = _compared(ratios)
    back = _compared([1 / ratio for ratio in ratios])
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert (back.low, back.high) == pytest.approx((1 / there.high, 1 / there.low))
    assert back.p_value == pytest.approx(there.p_value)


@pytest.mark.parametrize("ratios", [[1.01, 1.02, 0.99, 5.0], [1.01, 1.02, 5.0]])
def test_fewer_than_five_blocks_tell_no_wild_one_from_the_others(ratios: list[float]) -> None:
    assert _compared(ratios) == _compared(ratios, "mean")


@pytest.mark.parametrize("ratios", [[1.0, 1.0, 1.0, 1.0, 2.0], [1.1] * 6, [1.0] * 5])
def test_values_that_are_mostly_equal_have_no_scale_and_are_averaged(ratios: list[float]) -> None:
    assert _compared(ratios) == _compared(ratios, "mean")


def test_a_loss_that_one_block_has_is_no_disturbance() -> None:
    pairs = Pairs(path=[0.0, 0.001, 0.0, 0.002, 0.4], baseline=[0.0] * 5, scale="difference")
    compared = compare(pairs, confidence=0.95, margin=0.01, estimator="biweight")
    assert (compared.estimator, compared.outlying) == ("mean", ())
    assert compared.difference == pytest.approx(0.0806)


@pytest.mark.parametrize("n", [5, 6, 7, 10, 13, 20, 40])
@pytest.mark.parametrize("wild", [0, 1])
def test_intervals_cover(n: int, wild: int) -> None:
    """At nominal 95 %, of 3,000 samples of quiet trials, and with one wild in each five."""
    generator = np.random.default_rng(n)
    logs = generator.normal(0, 0.03, (3000, n))
    for start in range(0, n - n % 5, 5) if wild else ():
        at = start + generator.integers(0, 5, len(logs))
        signs = generator.choice([-1, 1], len(logs))
        logs[np.arange(len(logs)), at] += signs * np.log(generator.uniform(2, 20, len(logs)))
    pairs = [Pairs(path=row, baseline=[1.0] * n) for row in np.exp(logs).tolist()]
    compared = compare_all(pairs, confidence=0.95, margin=0.01, estimator="biweight")
    covered = np.mean(
        [
            comparison.low is not None and comparison.high is not None and comparison.low <= 1 <= comparison.high
            for comparison in compared
        ]
    )
    assert 0.93 <= covered <= 0.97
    different = np.mean([comparison.p_value is not None and comparison.p_value < 0.05 for comparison in compared])
    assert different == pytest.approx(1 - covered, abs=0.003)


def test_the_quantiles_are_monotone_and_become_those_of_student() -> None:
    for n in (5, 8, 13, 33, 1000):
        quantiles = [biweight.quantile(n, confidence) for confidence in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.999999)]
        assert quantiles == sorted(quantiles)
    assert biweight.quantile(10_000, 0.95) == pytest.approx(1.96, abs=0.01)
    assert biweight.quantile(5, 0.0) == 0.0


def test_p_values_belong_to_the_intervals() -> None:
    for n in (5, 9, 21):
        at = np.array([biweight.quantile(n, confidence) for confidence in (0.5, 0.95, 0.9999)])
        assert biweight.p_values(at, n) == pytest.approx([0.5, 0.05, 0.0001], rel=0.02)
        assert biweight.p_values(np.array([0.0]), n) == [1.0]

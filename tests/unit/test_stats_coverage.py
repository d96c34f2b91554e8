"""Coverage of intervals, by simulation: one of 95 % holds the true value 95 times in 100.

Seeded, so that a test gives the same answer each time; tolerances follow from the binomial error of this many.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from sixbench.stats import GroupValue, Pairs, biweight, compare_all, half_widths, own_values, pool
from sixbench.stats.interval import student_quantile

pytestmark = pytest.mark.computes

EXPERIMENTS = 3000
ERROR = 3.3 * math.sqrt(0.95 * 0.05 / EXPERIMENTS)
"""Error of a coverage of 95 % that chance exceeds once in a thousand: 1.3 points."""

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def _wild(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    return generator.normal(size=shape) * np.where(generator.random(shape) < 0.1, 10, 1)


SYMMETRIC: dict[str, Draw] = {
    "normal": lambda g, shape: g.normal(size=shape),
    "Student t, 3": lambda g, shape: g.standard_t(3, size=shape),
    "10 % wild": _wild,
    "difference of lognormals": lambda g, shape: g.lognormal(0, 1, shape) - g.lognormal(0, 1, shape),
}
SKEWED: dict[str, tuple[Draw, float]] = {
    "lognormal 0.5": (lambda g, shape: g.lognormal(0, 0.5, shape), math.exp(0.125)),
    "exponential": (lambda g, shape: g.exponential(size=shape), 1.0),
    "lognormal 1": (lambda g, shape: g.lognormal(0, 1, shape), math.exp(0.5)),
}


def _coverage(samples: Array, truth: float) -> float:
    return float((np.abs(samples.mean(axis=1) - truth) <= half_widths(samples, [0.95])[0]).mean())


def _coverage_of_t(samples: Array, truth: float) -> float:
    n = samples.shape[1]
    widths = student_quantile(0.975, n - 1) * samples.std(axis=1, ddof=1) / math.sqrt(n)
    return float((np.abs(samples.mean(axis=1) - truth) <= widths).mean())


@pytest.mark.parametrize("n", [3, 5, 9, 10, 15, 30])
def test_intervals_of_symmetric_values_cover(n: int) -> None:
    for name, draw in SYMMETRIC.items():
        samples = draw(np.random.default_rng(n), (EXPERIMENTS, n))
        assert _coverage(samples, 0) >= 0.95 - ERROR, name


@pytest.mark.parametrize("n", [3, 5, 9, 10, 15, 30])
def test_intervals_of_normal_values_are_not_wasteful(n: int) -> None:
    samples = np.random.default_rng(n).normal(size=(EXPERIMENTS, n))
    assert _coverage(samples, 0) <= 0.965 + ERROR


@pytest.mark.parametrize(
    ("n", "least"), [(10, (0.93, 0.91, 0.87)), (15, (0.935, 0.925, 0.885)), (30, (0.94, 0.94, 0.9))]
)
def test_the_bootstrap_covers_skewed_values_better_than_t(n: int, least: tuple[float, ...]) -> None:
    # No known method covers such values in full with so few; `least` is what `interval` promises, less a bit.
    for (name, (draw, truth)), floor in zip(SKEWED.items(), least, strict=True):
        samples = draw(np.random.default_rng(n), (EXPERIMENTS, n))
        ours, students = _coverage(samples, truth), _coverage_of_t(samples, truth)
        assert ours >= floor - 0.005, name
        assert ours > students, name


def test_bca_would_cover_too_little() -> None:
    samples = np.random.default_rng(10).normal(size=(500, 10))
    result = scipy_stats.bootstrap(
        (samples,), np.mean, axis=1, n_resamples=999, method="BCa", rng=np.random.default_rng(1), vectorized=True
    ).confidence_interval
    bca = ((result.low <= 0) & (result.high >= 0)).mean()
    assert bca < 0.95 - 0.02
    assert _coverage(samples, 0) > bca + 0.02


def test_pooling_the_intervals_inside_trials_would_cover_too_little() -> None:
    # Why the trial is the unit: five trials of ten intervals each, trials differing as much as intervals.
    generator = np.random.default_rng(5)
    trials = generator.normal(size=(EXPERIMENTS, 5, 1))
    intervals = trials + generator.normal(size=(EXPERIMENTS, 5, 10))
    assert _coverage(intervals.mean(axis=2), 0) == pytest.approx(0.95, abs=ERROR)
    assert _coverage_of_t(intervals.reshape(EXPERIMENTS, 50), 0) < 0.7


@pytest.mark.parametrize("n", [3, 5, 9, 10, 15, 30])
def test_paired_ratios_cover_whatever_blocks_do(n: int) -> None:
    generator = np.random.default_rng(n)
    shape = (EXPERIMENTS, n)
    drift = np.cumsum(generator.normal(0, 0.2, shape), axis=1)
    path = np.exp(drift + generator.normal(0, 0.02, shape)) * 0.97
    baseline = np.exp(drift + generator.normal(0, 0.02, shape))
    pairs = [Pairs(path=p, baseline=b) for p, b in zip(path.tolist(), baseline.tolist(), strict=True)]
    results = compare_all(pairs, confidence=0.95, margin=0.01)
    covered = [r.low is not None and r.high is not None and r.low <= 0.97 <= r.high for r in results]
    assert np.mean(covered) >= 0.95 - ERROR


@pytest.mark.parametrize("n", [5, 10, 20])
def test_a_difference_of_the_margin_is_seldom_called_equivalent(n: int) -> None:
    generator = np.random.default_rng(n)
    for name, draw in SYMMETRIC.items():
        logs = math.log(1.01) + 0.002 * draw(generator, (EXPERIMENTS, n))
        pairs = [Pairs(path=values, baseline=[1.0] * n) for values in np.exp(logs).tolist()]
        wrong = np.mean([result.equivalent for result in compare_all(pairs, confidence=0.95, margin=0.01)])
        assert wrong <= 0.05 + ERROR, name


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20])
def test_intervals_of_what_cannot_be_negative_cover_and_are_not_negative(n: int) -> None:
    for sigma in (0.1, 0.5, 1.0):
        intervals = own_values(np.random.default_rng(n).lognormal(0, sigma, (EXPERIMENTS, n)), 0.95, by_ratio=True)
        assert intervals.low is not None
        assert intervals.high is not None
        assert intervals.low.min() > 0
        assert ((intervals.low <= 1) & (intervals.high >= 1)).mean() >= 0.95 - ERROR, sigma


def test_an_interval_of_losses_ends_at_zero_and_covers_as_it_did() -> None:
    generator = np.random.default_rng(4)
    losses = np.where(generator.random((EXPERIMENTS, 10)) < 0.5, 0.0, generator.exponential(0.01, (EXPERIMENTS, 10)))
    intervals = own_values(losses, 0.95, by_ratio=False)
    assert intervals.low is not None
    assert intervals.high is not None
    assert intervals.low.min() == 0
    covered = (intervals.low <= 0.005) & (intervals.high >= 0.005)
    assert covered.mean() == pytest.approx(_coverage(losses, 0.005))


def test_the_mean_of_levels_covers_and_equal_levels_rarely_differ() -> None:
    generator = np.random.default_rng(7)
    covered = differ = 0
    for _ in range(400):
        values = generator.normal(0, 0.03 * np.exp(generator.normal(0, 0.5, (6, 1))), (6, 10))
        groups = [
            GroupValue(value=float(value.mean()), error=float(value.std(ddof=1) / 10**0.5), n=10) for value in values
        ]
        pooled = pool(groups, 0.95)
        covered += abs(pooled.value) <= pooled.half_width
        differ += pooled.p_value is not None and pooled.p_value < 0.05
    assert covered >= 366  # of 380 expected: exceeded by chance once in a thousand
    assert differ <= 34


@pytest.mark.parametrize(("levels", "blocks"), [(2, 5), (24, 7)])
@pytest.mark.parametrize("degrees", [np.inf, 3.0])
def test_equal_levels_of_few_blocks_rarely_differ(levels: int, blocks: int, degrees: float) -> None:
    """Levels have the biweight of their pairs, whose tails are heavier than those of Student's t."""
    runs = 500
    generator = np.random.default_rng(7)
    samples = generator.normal(size=(runs, levels, blocks))
    if np.isfinite(degrees):
        samples = generator.standard_t(degrees, (runs, levels, blocks))
    centres, errors, _ = biweight.centres(samples.reshape(-1, blocks))
    differ = 0
    for values, of_values in zip(centres.reshape(runs, levels), errors.reshape(runs, levels), strict=True):
        groups = [
            GroupValue(value=float(value), error=float(error), n=blocks, estimator="biweight")
            for value, error in zip(values, of_values, strict=True)
        ]
        differ += (pool(groups, 0.95).p_value or 0.0) < 0.05
    assert differ <= 41  # of 25 expected: exceeded by chance once in a thousand


def test_a_level_of_its_own_is_found() -> None:
    groups = [GroupValue(value=value, error=0.01, n=10) for value in (0.0, 0.01, -0.01, 0.0, 0.3)]
    p_value = pool(groups, 0.95).p_value
    assert p_value is not None
    assert p_value < 0.001

"""A path against its baseline, paired by block.

Two trials of one block share what the machine was doing, so that it is their ratio (or difference) that is a sample:
one number a block. Ratios are averaged in logarithms: their geometric mean says the same whichever of the two is the
baseline. The two values of a comparison are averaged in the same way, with the weights that the pairs have, so that the
change is theirs: their ratio, or their difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from . import biweight
from .interval import SEED, Array, half_widths, student_two_sided

Scale = Literal["ratio", "difference"]

Estimator = Literal["mean", "biweight"]
"""Estimator of the log ratios: their mean, which makes a geometric mean of the ratios, or Tukey's biweight."""

SAME = 1e-12
"""Log ratios, and differences as a share of the values, that are less than this apart are equal: doubles carry 16
digits, less what arithmetic loses."""

LEAST_P = 1e-12
"""No number of trials says anything about tails this far out: a p-value is never reported smaller, nor as 0."""

LARGEST_LOG = 700.0
"""exp(709.8) is the largest double: bounds a ratio's interval that knows nothing, so that it stays a number."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Data of one comparison.

    Attributes:
        path, baseline: values of equal length, in the same order of blocks.
        scale: `ratio`, unless zero is an ordinary value of the metric. If any value is not positive, the comparison is
            by difference in any case.
        path_uncertainty, baseline_uncertainty: by how much each value may be wrong, whatever the noise. Empty: by
            nothing.
        is_exact: whether nothing but the path decides a value, so that the same value in every pair is no chance.
    """

    path: Sequence[float]
    baseline: Sequence[float]
    scale: Scale = "ratio"
    is_exact: bool = False
    path_uncertainty: Sequence[float] = ()
    baseline_uncertainty: Sequence[float] = ()

    @property
    def is_uncertain(self) -> bool:
        """True if any value may be wrong."""
        return any(self.path_uncertainty) or any(self.baseline_uncertainty)

    def moved(self, sign: int) -> Pairs:
        """The pairs with each value as far from the measured one as it may be, so that the difference is the greatest
        (1) or the least (-1). What is positive stays positive."""
        return Pairs(
            path=_moved(self.path, self.path_uncertainty, sign),
            baseline=_moved(self.baseline, self.baseline_uncertainty, -sign),
            scale=self.scale,
            is_exact=self.is_exact,
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A path against its baseline.

    Attributes:
        n: pairs.
        value, baseline: of the path and of the baseline in these pairs, with the weights of the pairs: geometric means
            where compared by ratio, else arithmetic ones; None without pairs.
        ratio: path over baseline, `value / baseline`; None where compared by difference.
        difference: path minus baseline, `value - baseline`; None without pairs.
        low, high: confidence interval of the ratio, or of the difference where `ratio` is None; None for fewer than
            two pairs.
        p_value: the p-value of no difference, two-sided, not adjusted; None for fewer than two pairs.
        equivalent: whether the path is within the margin of the baseline, by two one-sided tests.
        spread: standard deviation (n - 1) of the log ratios, or of the differences where `ratio` is None; None for
            fewer than two pairs. With the biweight it is the standard error for a single pair.
        estimator: what was taken of the log ratios or differences.
        outlying: the pairs, by their index, that have less than a tenth of the weight that they would have in the
            middle.
        constant: whether the path has the same value in every pair, and the baseline has.
    """

    n: int
    value: float | None = None
    baseline: float | None = None
    ratio: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    equivalent: bool = False
    spread: float | None = None
    estimator: Estimator = "mean"
    outlying: tuple[int, ...] = ()
    constant: bool = False

    @property
    def centre_side(self) -> int:
        """On which side of no difference its middle is: -1, 0 or 1."""
        middle = self.difference if self.ratio is None else self.ratio - 1
        return 0 if not middle else 1 if middle > 0 else -1

    @property
    def direction(self) -> Literal["higher", "lower"] | None:
        """On which side of no difference the whole interval is; None where it is not on one."""
        if self.low is None or self.high is None:
            return None
        none = 0.0 if self.ratio is None else 1.0
        return "higher" if self.low > none else "lower" if self.high < none else None


def _moved(values: Sequence[float], uncertainty: Sequence[float], sign: int) -> list[float]:
    known = uncertainty or [0.0] * len(values)
    moved = [value + sign * by for value, by in zip(values, known, strict=True)]
    return [item if value <= 0 else max(item, value * SAME) for item, value in zip(moved, values, strict=True)]


def compare(
    pairs: Pairs, *, confidence: float, margin: float, estimator: Estimator = "mean", seed: int = SEED
) -> Comparison:
    """One comparison; see `compare_all`."""
    return compare_all([pairs], confidence=confidence, margin=margin, estimator=estimator, seed=seed)[0]


def compare_all(
    comparisons: Sequence[Pairs],
    *,
    confidence: float,
    margin: float,
    equivalence: float | None = None,
    estimator: Estimator = "mean",
    seed: int = SEED,
) -> list[Comparison]:
    """Compares each path with its baseline; those of equal n together, which is what makes thousands cheap.

    *Interval:* of the mean of the log ratios (differences), by the rule of `interval`. With the estimator `biweight`
    it is that of the biweight of the log ratios, by the rule of `biweight`, from five pairs on. Differences are always
    averaged: a loss that one block has is no disturbance. So are log ratios more than half of which are equal.

    *p-value:* Student's t test of the log ratios (differences), or the test that goes with the biweight. If the two
    paths are the same, the log ratios are symmetric whatever the noise, and then the test errs on the safe side even
    with heavy tails. What misleads it is the order within a block, where that matters more than the noise and the
    blocks are few, since their orders agree by chance. With an effect of order twice the noise, 26 % of simulated runs
    of twenty equal comparisons have a false difference at five blocks instead of 5 %, 10 % at ten, 5 % at twenty. With
    every other block in the reverse order of the one before it, none has.

    Pairs that are all equal have p = 1. Where all differences (ratios) are equal but not zero, t would be infinite
    and p = 0, which so few trials cannot prove: values that come in steps, such as losses, meet so by chance. Two
    independent trials of the same path differ by any one amount with a probability of at most 1/4 (reached by a coin),
    so all of n blocks agree with the first by chance with at most 4^(1-n). That is the p-value then: 0.06 for three
    blocks, 0.004 for five. Quantities that nothing but the path decides (`Pairs.is_exact`, such as the path MTU) do not
    meet by chance: where each side has the same value in all pairs, the p-value is the least there is.

    *Equivalence:* two one-sided t tests (D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987)
    at 1 - confidence: whether the interval at twice the error, by the same rule as the reported one, lies within
    [1 / (1 + margin), 1 + margin]. For metrics of scale `difference`, which are shares, within the margin as a
    difference; for others that are not positive, within that share of the baseline's mean. A single pair is never
    equivalent.

    *Uncertainty:* values that may be wrong by a known amount whatever the noise, and all of them in the same direction,
    are compared three times: as they are, and moved so that the difference is the greatest and the least. The interval
    reaches from the low end of the least to the high end of the greatest, and does not shrink with the number of pairs.
    The p-value is the largest of the three, and 1 where zero lies between the two. Equivalent are only those that are
    so each time.

    Args:
        comparisons: finite values, as many of the path as of the baseline.
        confidence: the confidence of the intervals; 1 - confidence is the error of the tests of equivalence.
        margin: the relative difference that counts as none.
        equivalence: the confidence of the interval that has to lie within the margin; None: 2 confidence - 1, which
            makes the error of the test of equivalence 1 - confidence.
        estimator: what is taken of log ratios.
        seed: the seed of the resampling.

    Returns:
        One for each, in order.

    Raises:
        ValueError: the path and the baseline of a comparison are not equally many.
    """
    confidences = (confidence, max(0.0, 2 * confidence - 1) if equivalence is None else equivalence)
    rule = _Rule(confidences=confidences, margin=margin, estimator=estimator, seed=seed)
    uncertain = [index for index, pairs in enumerate(comparisons) if pairs.is_uncertain]
    if not uncertain:
        return _compared(comparisons, rule)
    measured = [replace(pairs, path_uncertainty=(), baseline_uncertainty=()) for pairs in comparisons]
    extremes = [comparisons[index].moved(sign) for sign in (-1, 1) for index in uncertain]
    results = _compared([*measured, *extremes], rule)
    for place, index in enumerate(uncertain, start=len(comparisons)):
        results[index] = _widened(results[index], results[place], results[place + len(uncertain)])
    return results[: len(comparisons)]


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """The arguments of `compare_all`.

    Attributes:
        confidences: of the interval, and of the one that has to be within the margin for equivalence.
    """

    confidences: tuple[float, float]
    margin: float
    estimator: Estimator
    seed: int


def _compared(comparisons: Sequence[Pairs], rule: _Rule) -> list[Comparison]:
    """Compares values that are certain. Raises `ValueError` as `compare_all` does."""
    groups: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for index, pairs in enumerate(comparisons):
        if len(pairs.path) != len(pairs.baseline):
            raise ValueError(
                f"{len(pairs.path)} values of the path cannot be paired with {len(pairs.baseline)} of the baseline"
            )
        by_ratio = pairs.scale == "ratio" and min(pairs.path, default=0) > 0 and min(pairs.baseline, default=0) > 0
        groups[by_ratio, len(pairs.path)].append(index)
    results: list[Comparison] = [Comparison(n=0)] * len(comparisons)
    for (by_ratio, n), indices in groups.items():
        if n:
            group = _of_equal_n([comparisons[index] for index in indices], rule, by_ratio=by_ratio)
            for index, result in zip(indices, group, strict=True):
                results[index] = result
    return results


def _of_equal_n(comparisons: Sequence[Pairs], rule: _Rule, *, by_ratio: bool) -> list[Comparison]:
    """Comparisons that have equally many pairs, and at least one."""
    path = np.array([pairs.path for pairs in comparisons], dtype=np.float64)
    baseline = np.array([pairs.baseline for pairs in comparisons], dtype=np.float64)
    exact = np.array([pairs.is_exact for pairs in comparisons])
    if not by_ratio:
        shares = np.array([pairs.scale == "difference" for pairs in comparisons])
        return _by_difference(path, baseline, exact, shares, rule)
    if rule.estimator == "biweight" and path.shape[1] >= biweight.FEWEST:
        return _by_biweight(path, baseline, exact, rule)
    return _by_ratio(path, baseline, exact, rule)


def _widened(measured: Comparison, least: Comparison, greatest: Comparison) -> Comparison:
    """A comparison of values that may be wrong, from those of what they may be at the extremes."""
    if None in (measured.low, measured.high, measured.p_value):
        return measured
    low = min(value for value in (measured.low, least.low) if value is not None)
    high = max(value for value in (measured.high, greatest.high) if value is not None)
    is_one_sided = least.centre_side == greatest.centre_side
    p_values = [comparison.p_value for comparison in (measured, least, greatest) if comparison.p_value is not None]
    return replace(
        measured,
        low=low,
        high=high,
        p_value=max(p_values) if is_one_sided else 1.0,
        equivalent=measured.equivalent and least.equivalent and greatest.equivalent,
    )


def _by_ratio(path: Array, baseline: Array, exact: NDArray[np.bool_], rule: _Rule) -> list[Comparison]:
    logs = np.log(path) - np.log(baseline)
    values = _values(path, baseline, np.ones_like(path))
    constant = _constant(path, baseline)
    tests = _mean_tests(logs, np.full(len(logs), SAME), exact & constant, rule)
    if tests is None:
        return [Comparison(n=logs.shape[1], **side) for side in values]
    return _comparisons(values, tests, np.full(len(logs), np.log1p(rule.margin) + SAME), constant)


class _Values(TypedDict):
    value: float
    baseline: float
    ratio: float | None
    difference: float


@dataclass(frozen=True, kw_only=True)
class _Tests:
    """The centres of samples, half the widths of their intervals at two confidences, p-values, standard deviations."""

    n: int
    centre: Array
    width: Array
    equivalence_width: Array
    p_values: Array
    spreads: Array


def _mean_tests(samples: Array, resolution: Array, certain: NDArray[np.bool_], rule: _Rule) -> _Tests | None:
    """The tests of means, of samples of equal size; None for fewer than two values. For `resolution` and `certain` see
    `_p_values`."""
    n = samples.shape[1]
    if n < 2:
        return None
    width, equivalence_width = half_widths(samples, rule.confidences, rule.seed)
    return _Tests(
        n=n,
        centre=samples.mean(axis=1),
        width=width,
        equivalence_width=equivalence_width,
        p_values=_p_values(samples, resolution, certain),
        spreads=_spreads(samples),
    )


def _comparisons(
    values: Sequence[_Values], tests: _Tests, margins: Array, constant: NDArray[np.bool_]
) -> list[Comparison]:
    """The comparisons of these values, by ratio where they have one.

    Args:
        margins: how far the end of an equivalent's interval may be from no difference, in the unit of the samples.
        constant: which of them have the same value in every pair on both sides.
    """
    equivalent = np.abs(tests.centre) + tests.equivalence_width <= margins
    comparisons = []
    for index, side in enumerate(values):
        low, high = (float(tests.centre[index] + sign * tests.width[index]) for sign in (-1, 1))
        change = side["difference"] if side["ratio"] is None else side["ratio"]
        if side["ratio"] is not None:
            low, high = _as_ratio(low), _as_ratio(high)
        comparisons.append(
            Comparison(
                n=tests.n,
                **side,
                # The interval contains the change in spite of rounding.
                low=min(low, change),
                high=max(high, change),
                p_value=float(tests.p_values[index]),
                equivalent=bool(equivalent[index]),
                spread=float(tests.spreads[index]),
                constant=bool(constant[index]),
            )
        )
    return comparisons


def _as_ratio(shift: float) -> float:
    """The ratio of a log ratio, which stays a number."""
    return float(np.exp(np.clip(shift, -LARGEST_LOG, LARGEST_LOG)))


def _values(path: Array, baseline: Array, weights: Array) -> list[_Values]:
    """The values of comparisons by ratio, with these weights of the pairs, and what follows from them."""
    # Within the sample in spite of rounding, so that the mean of equal values is their value.
    value, base = (
        np.clip(np.exp((weights * np.log(side)).sum(axis=1) / weights.sum(axis=1)), side.min(axis=1), side.max(axis=1))
        for side in (path, baseline)
    )
    ratio = np.exp(np.clip(np.log(value) - np.log(base), -LARGEST_LOG, LARGEST_LOG))
    np.divide(value, base, out=ratio, where=(ratio > np.exp(-LARGEST_LOG)) & (ratio < np.exp(LARGEST_LOG)))
    sides = zip(value.tolist(), base.tolist(), ratio.tolist(), strict=True)
    return [{"value": value, "baseline": other, "ratio": of, "difference": value - other} for value, other, of in sides]


def _constant(path: Array, baseline: Array) -> NDArray[np.bool_]:
    """Comparisons with the same value in every pair on both sides."""
    are_constant: NDArray[np.bool_] = (np.ptp(path, axis=1) == 0) & (np.ptp(baseline, axis=1) == 0)
    return are_constant


def _by_biweight(path: Array, baseline: Array, exact: NDArray[np.bool_], rule: _Rule) -> list[Comparison]:
    """Comparisons by the biweight of the log ratios where these have a scale, and by their mean where they do not."""
    logs = np.log(path) - np.log(baseline)
    n = logs.shape[1]
    centre, error, weights = biweight.centres(logs)
    has_scale = error > SAME
    results: list[Comparison] = [Comparison(n=n)] * len(logs)
    without = np.flatnonzero(~has_scale)
    if without.size:
        means = _by_ratio(path[without], baseline[without], exact[without], rule)
        for index, comparison in zip(without.tolist(), means, strict=True):
            results[index] = comparison
    width, equivalence_width = biweight.half_widths(error, n, rule.confidences)
    tests = _Tests(
        n=n,
        centre=centre,
        width=width,
        equivalence_width=equivalence_width,
        p_values=np.clip(biweight.p_values(centre / np.where(has_scale, error, 1.0), n), LEAST_P, 1.0),
        spreads=error * np.sqrt(n),
    )
    margins, never = np.full(len(logs), np.log1p(rule.margin) + SAME), np.zeros(len(logs), dtype=np.bool_)
    comparisons = _comparisons(_values(path, baseline, weights), tests, margins, never)
    outlying = weights < biweight.LITTLE
    for index in np.flatnonzero(has_scale).tolist():
        far = tuple(np.flatnonzero(outlying[index]).tolist())
        results[index] = replace(comparisons[index], estimator="biweight", outlying=far)
    return results


def _by_difference(
    path: Array, baseline: Array, exact: NDArray[np.bool_], shares: NDArray[np.bool_], rule: _Rule
) -> list[Comparison]:
    sides = zip(path.mean(axis=1).tolist(), baseline.mean(axis=1).tolist(), strict=True)
    values: list[_Values] = [
        {"value": value, "baseline": base, "ratio": None, "difference": value - base} for value, base in sides
    ]
    resolution = SAME * np.maximum(np.abs(path), np.abs(baseline)).max(axis=1)
    constant = _constant(path, baseline)
    tests = _mean_tests(path - baseline, resolution, exact & constant, rule)
    if tests is None:
        return [Comparison(n=path.shape[1], **side) for side in values]
    margins = np.where(shares, rule.margin, rule.margin * np.abs(baseline.mean(axis=1)))
    return _comparisons(values, tests, margins + resolution, constant)


def _spreads(samples: Array) -> Array:
    """The standard deviation of each sample. It is exactly 0 where all values are equal, in spite of rounding."""
    deviations: Array = samples.std(axis=1, ddof=1)
    deviations[np.ptp(samples, axis=1) == 0] = 0.0
    return deviations


def _p_values(samples: Array, resolution: Array, certain: NDArray[np.bool_]) -> Array:
    """The p-values of `compare_all`.

    Args:
        resolution: for each sample, the difference that counts as equal.
        certain: the samples whose values nothing but the paths decides.
    """
    n = samples.shape[1]
    centre = samples.mean(axis=1)
    errors = samples.std(axis=1, ddof=1) / np.sqrt(n)
    constant = (np.ptp(samples, axis=1) <= resolution) | (errors == 0)
    errors[constant] = 1.0
    chance = np.where(np.abs(centre) <= resolution, 1.0, np.where(certain, LEAST_P, 4.0 ** (1 - n)))
    p = np.where(constant, chance, student_two_sided(centre / errors, n - 1))
    return np.clip(p, LEAST_P, 1.0)

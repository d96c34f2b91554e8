"""The mean of many effects that need not be the same, such as the changes towards many servers: random effects.

Each effect is the true one of its group plus an error, and the true ones scatter around the mean by `tau`.

- *tau* is Paule's and Mandel's: the one with which the generalised Q is as large as expected (R. C. Paule, J. Mandel,
  "Consensus values and weighting factors", Journal of Research of the National Bureau of Standards 87, 1982). It
  assumes no distribution, and is one of the two that a comparison of sixteen estimators recommends (A. A. Veroniki and
  others, Research Synthesis Methods 7, 2016).
- *The interval* is that of J. Hartung and G. Knapp (Statistics in Medicine 20, 2001), and of K. Sidik and J. N.
  Jonkman (Statistics in Medicine 21, 2002): Student's t with one degree of freedom less than there are effects, and an
  error that follows from the scatter of the effects. Where they happen to agree better than their errors allow, as
  every other pair of effects does, that error would be too small. So it is never smaller than the one that follows
  from the weights (G. Knapp, J. Hartung, Statistics in Medicine 22, 2003; C. Röver, G. Knapp, T. Friede, BMC Medical
  Research Methodology 15:99, 2015). Two effects have one degree of freedom, whose t is 12.7: such an interval is wide,
  and no better one is known.
- *The weights* are the inverses of variances. Those that were estimated from few values are `moderated` first. Without
  that, an effect whose error is too small by chance has too much weight: the interval would cover 89 % with 20 groups
  of five values.
- *Heterogeneity*: the p-value of Cochran's Q. Its chi-squared distribution is that of errors that are known. Errors
  that were estimated make Q larger, so that its distribution is simulated: equal effects, whose errors are estimated
  anew each time (K. Krishnamoorthy, F. Lu, T. Mathew, "A parametric bootstrap approach for ANOVA with unequal
  variances", Computational Statistics & Data Analysis 51, 2007). The true variances are drawn too, from what the
  moderated ones leave open. I² is the share of tau² in the whole variance of a typical effect (J. P. T. Higgins, S. G.
  Thompson, Statistics in Medicine 21, 2002).
- *The prediction interval* is where the true effect of one more group will be (J. P. T. Higgins, S. G. Thompson, D. J.
  Spiegelhalter, Journal of the Royal Statistical Society A 172, 2009). It needs three groups.

`benches/pooled.py` simulates the coverage (docs/measurements/statistics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from .comparison import LEAST_P, SAME
from .interval import SEED, Array, student_quantile
from .moderated import Moderated, moderated

DRAWS = 1999
"""Number of simulated Qs: the least p-value is 1 / (DRAWS + 1)."""

FEWEST_PREDICTED = 3
"""Fewest groups that have a prediction interval."""

_STEPS = 100
"""Most steps of Newton's method, which takes about five. The function is convex, so that it never passes the root."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The effect in one group.

    Attributes:
        value: such as a log ratio.
        error: its standard error.
        degrees: of freedom of the error; None: the error is known.
    """

    value: float
    error: float
    degrees: float | None = None


@dataclass(frozen=True, kw_only=True)
class RandomEffects:
    """The mean of the effects of all groups, and how much these differ.

    Attributes:
        groups: their number.
        value: the mean.
        half_width: of its confidence interval.
        tau: standard deviation of the true effects.
        i_squared: share of tau² in the variance of a typical effect.
        q: Cochran's Q, the sum of the weighted squares of the effects around their mean; None where some effect has no
            error.
        p_value: of the hypothesis that all true effects are the same; likewise.
        prediction_half_width: half of the interval of the true effect of one more group; None with fewer than
            `FEWEST_PREDICTED`.
        weights: of the groups, whose sum is 1.
    """

    groups: int
    value: float
    half_width: float
    tau: float
    i_squared: float
    q: float | None
    p_value: float | None
    prediction_half_width: float | None
    weights: tuple[float, ...]


def random_effects(effects: Sequence[Effect], confidence: float) -> RandomEffects:
    """The mean of the effects with its interval. Raises `ValueError` for fewer than two."""
    if len(effects) < 2:
        raise ValueError("a mean of effects needs at least two")
    values = np.array([[effect.value for effect in effects]])
    errors = np.array([[effect.error for effect in effects]])
    degrees = np.array([inf if effect.degrees is None else effect.degrees for effect in effects])
    estimated = _moderated(errors, degrees)
    variances = np.square(np.maximum(errors, SAME)) if estimated is None else estimated.variances
    tau2 = paule_mandel(values, variances)
    pooled = pooled_with(values, variances, tau2)
    count = len(effects)
    t = student_quantile((1 + confidence) / 2, count - 1)
    typical = _typical(variances[0])
    q = float(_q(values, variances)[0]) if np.all(errors > 0) else None
    error, variance = float(pooled.errors[0]), float(tau2[0])
    beyond = None
    if count >= FEWEST_PREDICTED:
        beyond = student_quantile((1 + confidence) / 2, count - 2) * (variance + error**2) ** 0.5
    return RandomEffects(
        groups=count,
        value=float(pooled.values[0]),
        half_width=t * error,
        tau=variance**0.5,
        i_squared=variance / (variance + typical) if variance else 0.0,
        q=q,
        p_value=None if q is None else _alike(q, count, estimated, degrees),
        prediction_half_width=beyond,
        weights=tuple(pooled.weights[0].tolist()),
    )


@dataclass(frozen=True, kw_only=True)
class PooledRows:
    """Weighted means of rows of effects: the means and their standard errors, shape (rows,), and the weights, shape
    (rows, groups), whose sums are 1."""

    values: Array
    errors: Array
    weights: Array


def paule_mandel(values: Array, variances: Array) -> Array:
    """The square of tau by Paule and Mandel, of each row of effects with these variances; 0 where they scatter no more
    than their variances allow. Shape (rows,)."""
    expected = values.shape[1] - 1
    tau2 = np.zeros(len(values))
    for _ in range(_STEPS):
        weights = 1 / (variances + tau2[:, np.newaxis])
        squares = np.square(values - _means(values, weights)[:, np.newaxis])
        above = (weights * squares).sum(axis=1) - expected
        is_short = above > expected * SAME
        if not np.any(is_short):
            break
        slopes = (np.square(weights) * squares).sum(axis=1)
        tau2[is_short] += above[is_short] / slopes[is_short]
    return tau2


def pooled_with(values: Array, variances: Array, tau2: Array) -> PooledRows:
    """The weighted mean of each row of effects with its error by Hartung, Knapp, Sidik and Jonkman, which is at least
    the one that follows from the weights.

    Args:
        tau2: the square of tau of each row, by any estimator.
    """
    weights = 1 / (variances + tau2[:, np.newaxis])
    total = weights.sum(axis=1)
    means = _means(values, weights)
    squares = (weights * np.square(values - means[:, np.newaxis])).sum(axis=1)
    factor = np.maximum(1.0, squares / (values.shape[1] - 1))
    return PooledRows(values=means, errors=np.sqrt(factor / total), weights=weights / total[:, np.newaxis])


def _moderated(errors: Array, degrees: Array) -> Moderated | None:
    """The variances of the effects, moderated; None where some error is known or zero."""
    is_estimated = bool(np.all(np.isfinite(degrees)) and np.all(errors > 0))
    return moderated(np.square(errors), degrees) if is_estimated else None


def _means(values: Array, weights: Array) -> Array:
    means: Array = (weights * values).sum(axis=1) / weights.sum(axis=1)
    return means


def _q(values: Array, variances: Array) -> Array:
    """Cochran's Q of each row."""
    weights = 1 / variances
    q: Array = (weights * np.square(values - _means(values, weights)[:, np.newaxis])).sum(axis=1)
    return q


def _typical(variances: Array) -> float:
    """The variance of a typical effect's error (Higgins and Thompson 2002, equation 9)."""
    least = float(np.min(variances))
    weights = least / variances
    total = float(weights.sum())
    return (len(weights) - 1) * total / (total**2 - float(np.square(weights).sum())) * least


def _alike(q: float, groups: int, estimated: Moderated | None, degrees: Array) -> float:
    """The chance that Q is at least so large where all true effects are the same. `estimated`: the variances; None: the
    errors are known."""
    from scipy.special import chdtrc

    if estimated is None:
        return max(LEAST_P, float(chdtrc(groups - 1, q)))
    shape = (DRAWS, groups)
    generator = np.random.default_rng([SEED, groups])
    of_both = estimated.prior_degrees[0] + degrees
    true = estimated.variances[0] * of_both / generator.chisquare(of_both, shape)
    values = generator.normal(0, 1, shape) * np.sqrt(true)
    again = moderated(true * generator.chisquare(degrees, shape) / degrees, degrees)
    return float((1 + np.count_nonzero(_q(values, again.variances) >= q)) / (1 + DRAWS))

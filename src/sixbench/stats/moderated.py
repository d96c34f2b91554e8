"""Variances that were estimated from few values, moved towards what all of them have in common.

A variance of five values may be five times too small by chance. A weight that is its inverse would then count five
times too much. So each variance becomes the mean of itself and of a typical one, weighted by the degrees of freedom of
both (G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Statistical Applications in Genetics and Molecular Biology 3, 2004, section 6.2). The degrees of freedom
of the typical variance follow from how much more the variances scatter than chance explains: many where they are
alike, and few where they differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .interval import Array

_MOST_DEGREES = 1e8
"""The degrees of freedom of the typical variance where chance explains all of the scatter."""

_STEPS = 12
"""Steps of Newton's method, which doubles the correct digits with each."""

_LEAST_SCATTER = 1e-7
"""Less scatter than this is none: the inverse of the trigamma function has no more digits there."""


@dataclass(frozen=True, kw_only=True)
class Moderated:
    """Rows of variances.

    Attributes:
        variances: shape (rows, groups).
        prior_degrees: shape (rows,): the degrees of freedom that each variance of a row has from the others.
    """

    variances: Array
    prior_degrees: Array


def moderated(variances: Array, degrees: Array) -> Moderated:
    """The variances, each moved towards the typical one of its row.

    Args:
        variances: shape (rows, groups), all above zero, at least two groups.
        degrees: shape (groups,): the degrees of freedom of each, above zero.
    """
    from scipy.special import digamma, polygamma

    logs = np.log(variances) - digamma(degrees / 2) + np.log(degrees / 2)
    middle = logs.mean(axis=1)
    scatter = logs.var(axis=1, ddof=1) - float(np.mean(polygamma(1, degrees / 2)))
    is_more = scatter > _LEAST_SCATTER
    prior = np.full(len(variances), _MOST_DEGREES)
    prior[is_more] = np.minimum(2 * _trigamma_inverse(scatter[is_more]), _MOST_DEGREES)
    typical = np.exp(np.where(is_more, middle + digamma(prior / 2) - np.log(prior / 2), middle))
    weight = prior[:, np.newaxis]
    means: Array = (weight * typical[:, np.newaxis] + degrees * variances) / (weight + degrees)
    return Moderated(variances=means, prior_degrees=prior)


def _trigamma_inverse(values: Array) -> Array:
    """The arguments at which the trigamma function has these values, which are above zero (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    arguments: Array = 0.5 + 1 / values
    for _ in range(_STEPS):
        trigamma = polygamma(1, arguments)
        arguments = arguments + trigamma * (1 - trigamma / values) / polygamma(2, arguments)
    return arguments

"""Two runs against each other. Their trials come from different blocks, days or machines, so they form no pairs.

B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
Biometrika 34, 1947: the standard error of the difference of two means is that of both, and Student's t has the degrees
of freedom that Welch and Satterthwaite give it. Ratios are of geometric means, so that logarithms are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, hypot, inf, log, sqrt

from .comparison import LARGEST_LOG, LEAST_P, SAME, Scale
from .interval import student_quantile, student_tail


@dataclass(frozen=True, kw_only=True)
class Unpaired:
    """A new sample against an old one.

    Attributes:
        is_ratio: whether `shift` is a log ratio; else it is a difference in the metric's unit.
        shift: the new value less the old one.
        error: the standard error of `shift`. It is 0 where neither sample has any spread, and None where one of them
            has fewer than two values.
        degrees: the degrees of freedom; infinite without spread.
        resolution: shifts that are less than this apart are equal.
        spread: the standard deviation of a single value of the new sample less one of the old; None like `error`.
    """

    is_ratio: bool
    shift: float
    error: float | None
    degrees: float
    resolution: float
    spread: float | None

    @property
    def change(self) -> float:
        """The ratio of the new to the old, or the difference."""
        return self._shown(self.shift)

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """The confidence interval of `change`; a point without spread, None where none is known."""
        if self.error is None:
            return None
        half = self.error * student_quantile((1 + confidence) / 2, self.degrees) if self.error else 0.0
        return self._shown(self.shift - half), self._shown(self.shift + half)

    def p_at_most(self, bound: float) -> float | None:
        """One-sided p-value of the hypothesis that `shift` is at most the bound. None where no spread is known.

        Without any spread it is 1, or the least p-value that is ever reported.
        """
        return None if self.error is None else self._tail(self.shift - bound, self.error)

    def p_at_least(self, bound: float) -> float | None:
        """The same for the hypothesis that it is at least the bound."""
        return None if self.error is None else self._tail(bound - self.shift, self.error)

    def is_within(self, bound: float, error: float) -> bool | None:
        """True if two one-sided tests with this error show that `shift` is nearer to zero than the bound. None where no
        spread is known."""
        sides = [p for p in (self.p_at_least(bound), self.p_at_most(-bound)) if p is not None]
        return max(sides) < error if sides else None

    def p_none(self) -> float | None:
        """Two-sided p-value of the hypothesis that there is no shift."""
        sides = (self.p_at_most(0.0), self.p_at_least(0.0))
        return None if sides[0] is None or sides[1] is None else min(1.0, 2 * min(sides[0], sides[1]))

    def _tail(self, beyond: float, error: float) -> float:
        if error == 0:
            return LEAST_P if beyond > self.resolution else 1.0
        return max(LEAST_P, student_tail(beyond / error, self.degrees))

    def _shown(self, shift: float) -> float:
        return exp(min(max(shift, -LARGEST_LOG), LARGEST_LOG)) if self.is_ratio else shift


def compare_unpaired(old: Sequence[float], new: Sequence[float], scale: Scale) -> Unpaired:
    """A new sample against an old one: by ratio, unless zero is an ordinary value of the metric or any value is not
    positive.

    Raises `ValueError` where a sample is empty.
    """
    if not old or not new:
        raise ValueError("a comparison needs values on both sides")
    is_ratio = scale == "ratio" and min(*old, *new) > 0
    samples = [[log(value) for value in values] if is_ratio else list(values) for values in (old, new)]
    (old_mean, old_error), (new_mean, new_error) = (_moments(values) for values in samples)
    largest = max(abs(value) for values in samples for value in values)
    error, degrees = _welch((old_error, len(old)), (new_error, len(new)))
    return Unpaired(
        is_ratio=is_ratio,
        shift=new_mean - old_mean,
        error=error,
        degrees=degrees,
        resolution=SAME if is_ratio else SAME * largest,
        spread=_spread((old_error, len(old)), (new_error, len(new))),
    )


def _moments(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and standard error of it where there is more than one value. Equal values have none, whatever rounding
    says."""
    if len(values) < 2:
        return values[0], None
    if min(values) == max(values):
        return values[0], 0.0
    mean = fsum(values) / len(values)
    return mean, hypot(*(value - mean for value in values)) / sqrt(len(values) * (len(values) - 1))


def _spread(*samples: tuple[float | None, int]) -> float | None:
    """The standard deviation of the difference of single values, from the error of the mean and the size of both
    samples."""
    known = [error * sqrt(count) for error, count in samples if error is not None]
    return hypot(*known) if len(known) == len(samples) else None


def _welch(*samples: tuple[float | None, int]) -> tuple[float | None, float]:
    """Standard error and degrees of freedom (Welch-Satterthwaite) from the error and the size of both samples."""
    errors = [error for error, _ in samples if error is not None]
    if len(errors) < len(samples):
        return None, inf
    error = hypot(*errors)
    if error == 0:
        return 0.0, inf
    # Shares of the error rather than the variances, whose squares may underflow.
    return error, 1 / fsum(
        (value / error) ** 4 / (count - 1) for value, (_, count) in zip(errors, samples, strict=True)
    )

"""A change as it is printed, and both of its values with so many digits that they give just this change.

A reader who divides the printed values, or subtracts them, gets the printed change to its last digit. So values have
as many digits as that takes, and not fewer than are usual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..model.finding import Finding
from . import words

_MOST_DIGITS = 15
"""That a double has."""

_TIE = 1e-6
"""A change that lies between two last digits to within this share of one may be rounded to either."""


@dataclass(frozen=True, kw_only=True)
class PrintedChange:
    """A change and the ends of its interval in one unit and with the same decimals.

    Attributes:
        change, ends: in `unit`; no ends where there is no interval.
        divisor: from the metric's unit to `unit`, of differences; None of ratios, which are in percent.
    """

    change: float
    ends: tuple[float, ...]
    decimals: int
    unit: str
    divisor: float | None

    @property
    def text(self) -> str:
        """Such as `−1.39 %`."""
        return f"{words.signed(self.change, self.decimals)} {self.unit}"

    @property
    def interval(self) -> str:
        """Such as `−1.45 to −1.33`."""
        if len(self.ends) < 2:
            return words.MISSING
        return " to ".join(words.signed(end, self.decimals) for end in self.ends)

    def is_of(self, value: float, baseline: float) -> bool:
        """True if these values give the change that is printed, to its last digit."""
        if abs(self.change) >= words.SENSELESS:
            return True
        if self.divisor is None:
            computed = 100 * (value / baseline - 1) if baseline else math.inf
        else:
            computed = (value - baseline) / self.divisor
        printed = round(self.change, self.decimals)
        return bool(abs(computed - printed) <= (0.5 + _TIE) * 10.0**-self.decimals)


def printed_change(
    ratio: float | None, difference: float | None, interval: Sequence[float | None], unit: str
) -> PrintedChange | None:
    """The change in percent, or the difference in its unit where there is no ratio; None where there is neither.

    Args:
        interval: of the ratio, or of the difference without one.
    """
    known = [end for end in map(words.finite, interval) if end is not None]
    ratio = words.finite(ratio)
    if ratio is not None:
        change, ends = words.as_percent(ratio), tuple(map(words.as_percent, known))
        decimals = words.percent_decimals(change, *ends)
        return PrintedChange(change=change, ends=ends, decimals=decimals, unit="%", divisor=None)
    difference = words.finite(difference)
    if difference is None:
        return None
    divisor, name = difference_scale([difference, *known], unit)
    scaled = [value / divisor for value in (difference, *known)]
    largest = max(map(abs, scaled))
    decimals = 3 if largest < 1 else 2 if largest < 10 else 1
    return PrintedChange(change=scaled[0], ends=tuple(scaled[1:]), decimals=decimals, unit=name, divisor=divisor)


def difference_scale(values: Sequence[float], unit: str) -> tuple[float, str]:
    """Divisor and name for differences: shares differ by percentage points (`pp`)."""
    divisor, name = words.common_scale(values, unit)
    return divisor, "pp" if unit == "1" else name


def change_of(finding: Finding) -> PrintedChange | None:
    """The change of a finding, without an interval that says nothing."""
    is_told = finding.ratio is None or finding.mark != "too variable"
    ends = (finding.ci_low, finding.ci_high) if is_told else ()
    return printed_change(finding.ratio, finding.difference, ends, finding.unit)


def value_texts(finding: Finding, divisor: float | None = None) -> tuple[str, str]:
    """The value of the path and that of the baseline, which give the printed change.

    Args:
        divisor: of both, where the unit stands elsewhere; None: each has its unit.
    """
    own, base = map(words.finite, finding.values)
    least = 3 if finding.unit == "1" else 4
    if own is None or base is None:
        return _text(own, finding.unit, divisor, least), _text(base, finding.unit, divisor, least)
    change = change_of(finding) if finding.value is not None else None
    if change is not None:
        least = agreeing_digits(
            change, own, base, (_scale(own, finding.unit, divisor), _scale(base, finding.unit, divisor)), least
        )
    return _text(own, finding.unit, divisor, least), _text(base, finding.unit, divisor, least)


def agreeing_digits(change: PrintedChange, own: float, base: float, scales: tuple[float, float], least: int) -> int:
    """The fewest significant digits, from `least` on, with which both values give the change.

    Args:
        scales: the divisors of both values as they are printed.
    """
    for digits in range(least, _MOST_DIGITS):
        shown = [scale * _rounded(value / scale, digits) for value, scale in zip((own, base), scales, strict=True)]
        if change.is_of(shown[0], shown[1]):
            return digits
    return _MOST_DIGITS


def _scale(value: float, unit: str, divisor: float | None) -> float:
    return words.common_scale([value], unit)[0] if divisor is None else divisor


def _rounded(value: float, digits: int) -> float:
    return float(words.number(value, digits).replace(words.MINUS, "-"))


def _text(value: float | None, unit: str, divisor: float | None, digits: int) -> str:
    if value is None:
        return words.MISSING
    if divisor is not None:
        return words.number(value / divisor, digits)
    scale, name = words.common_scale([value], unit)
    return f"{words.number(value / scale, digits)} {name}"

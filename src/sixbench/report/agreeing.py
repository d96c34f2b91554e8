"""A change as it is printed, and both of its values with so many digits that they give just this change.

A reader who divides the printed values, or subtracts them, gets the printed change to its last digit. So values have
as many digits as that takes, and not fewer than are usual.
"""

from __future__ import annotations

from ..model.change_words import PrintedChange, change_of
from ..model.finding import Finding
from . import words

_MOST_DIGITS = 15
"""That a double has."""


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

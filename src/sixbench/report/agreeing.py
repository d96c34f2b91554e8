"""A change as it is printed, and both of its values with so many digits that they give just this change.

A reader who divides the printed values, or subtracts them, gets the printed change to its last digit. So values have
as many digits as that takes, and not fewer than are usual.
"""

from __future__ import annotations

from ..model.change_words import PrintedChange, change_of
from ..model.finding import Finding
from . import words
from .typed_cells import NOTHING, TypedCell, scaled_cell

_MOST_DIGITS = 15
"""That a double has."""


Scale = tuple[float, str]
"""The divisor to the unit that is printed, and the name of this unit."""


def value_cells(finding: Finding, scale: Scale | None = None) -> tuple[TypedCell, TypedCell]:
    """The value of the path and that of the baseline, which give the printed change.

    Args:
        scale: of both; None: each has that which reads best.
    """
    path_value, base = map(words.finite, finding.values)
    scales = [_scale(value, finding.unit, scale) for value in (path_value, base)]
    digits = 3 if finding.unit == "1" else 4
    change = change_of(finding) if finding.value is not None else None
    if path_value is not None and base is not None and change is not None:
        digits = agreeing_digits(change, path_value, base, (scales[0][0], scales[1][0]), digits)
    path, baseline = (
        NOTHING if value is None else scaled_cell(value, item, digits)
        for value, item in zip((path_value, base), scales, strict=True)
    )
    return path, baseline


def agreeing_digits(
    change: PrintedChange, path_value: float, base: float, scales: tuple[float, float], least: int
) -> int:
    """The fewest significant digits, from `least` on, with which both values give the change.

    Args:
        scales: the divisors of both values as they are printed.
    """
    for digits in range(least, _MOST_DIGITS):
        shown = [
            scale * _rounded(value / scale, digits) for value, scale in zip((path_value, base), scales, strict=True)
        ]
        if change.is_of(shown[0], shown[1]):
            return digits
    return _MOST_DIGITS


def _scale(value: float | None, unit: str, scale: Scale | None) -> Scale:
    return words.common_scale([value], unit) if scale is None else scale


def _rounded(value: float, digits: int) -> float:
    return round(value, words.decimals_of(value, digits))

"""Numbers in words: the one place where a number that was measured becomes text, in reports and in verdicts on claims.

A missing value is `–` everywhere, and so is one that is not finite. `change_words` has changes and their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from .names import MISSING
from .units import scale

MINUS = "−"

SENSELESS = 1e6
"""Percentages above this come from intervals that know nothing, not from networks."""


def finite(value: float | None) -> float | None:
    """The value; None for NaN and infinity, which are no values."""
    return None if value is None or not math.isfinite(value) else value


def number(value: float, digits: int = 4) -> str:
    """A number of about so many significant digits, without an exponent: `94.15`, `1523`, `0.0213`."""
    return decimal(value, decimals_of(value, digits))


def decimals_of(value: float, digits: int) -> int:
    """Number of decimals with which a value has about so many significant digits."""
    if value == 0:
        return 0
    return min(max(0, digits - 1 - math.floor(math.log10(abs(value)))), max(9, digits))


def decimal(value: float, decimals: int) -> str:
    """A number with so many decimals: `94.15`, `−0.2`."""
    return "0" if value == 0 and decimals == 0 else f"{value:.{decimals}f}".replace("-", MINUS)


def quantity(value: float | None, unit: str) -> str:
    """A value with the prefix that reads best: `94.15 Mbit/s`, `52.1 µs`, `0.02 %` for a share."""
    value = finite(value)
    if value is None:
        return MISSING
    if unit == "1":
        return f"{number(100 * value, 3)} %"
    scaled, name = scale(value, unit)
    return f"{number(scaled)} {name}"


def common_scale(values: Iterable[float | None], unit: str) -> tuple[float, str]:
    """Divisor and name of the unit in which the largest of the values reads best; shares become percent."""
    largest = max((abs(value) for value in values if finite(value) is not None and value is not None), default=0.0)
    if unit == "1":
        return 0.01, "%"
    if largest == 0:
        return 1.0, unit
    scaled, name = scale(largest, unit)
    return largest / scaled, name


def signed(value: float, decimals: int) -> str:
    """`+1.40`, `−0.20`, and `0.00` without a sign. What is over a million is said to be so, and no more."""
    if abs(value) >= SENSELESS:
        return f">+{SENSELESS:.0f}" if value > 0 else f"<{MINUS}{SENSELESS:.0f}"
    if round(value, decimals) == 0:
        return unsigned(value, decimals)
    return ("+" if value > 0 else MINUS) + unsigned(value, decimals)


def unsigned(value: float, decimals: int) -> str:
    """The number without its sign: `1.40` for `−1.4`."""
    return f">{SENSELESS:.0f}" if abs(value) >= SENSELESS else f"{abs(value):.{decimals}f}"


def percent_decimals(*percents: float) -> int:
    """Number of decimals of a percentage: two below 10 %, one below 100 %, else none."""
    largest = max((abs(value) for value in percents), default=0.0)
    return 2 if largest < 10 else 1 if largest < 100 else 0


def as_percent(ratio: float) -> float:
    """Amount by which a ratio is above 1, in percent."""
    return 100 * (ratio - 1)


def whole(value: int) -> str:
    """A count with its digits in groups: `1 234 567`, with no-break spaces."""
    return f"{value:,}".replace(",", "\u00a0")


def share(part: int, total: int) -> str:
    """A part of a whole in percent, which is only `0 %` or `100 %` where it is exactly that."""
    if not total:
        return MISSING
    percent = 100 * part / total
    if 0 < percent < 0.01:
        return "<0.01 %"
    return ">99.99 %" if 99.99 < percent < 100 else f"{number(percent, 3) if part < total else 100} %"


def percent(ratio: float) -> str:
    """A margin, or a confidence: `1 %`."""
    return f"{100 * ratio:g} %"


def duration(duration_ns: float) -> str:
    """A length of time for people: `2 min 5 s`, `1 h 3 min`, `850 ms`."""
    if duration_ns < 60e9:
        return quantity(float(f"{duration_ns:.3g}"), "ns")
    minutes, seconds = divmod(round(duration_ns / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"

"""Changes in words: a change of a path against its baseline, with its interval, in one unit and with one precision.

Everything that prints a change takes it from here, so that a table and the verdict on a claim print the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .finding import Finding, KernelContrast
from .names import MISSING
from .number_words import SENSELESS, as_percent, common_scale, finite, percent_decimals, signed, unsigned

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
        return f"{signed(self.change, self.decimals)} {self.unit}"

    @property
    def interval(self) -> str:
        """Such as `−1.45 to −1.33`."""
        if len(self.ends) < 2:
            return MISSING
        return " to ".join(signed(end, self.decimals) for end in self.ends)

    @property
    def printed_interval(self) -> PrintedInterval | None:
        """The interval alone; None where there is none."""
        if len(self.ends) < 2:
            return None
        return PrintedInterval(low=self.ends[0], high=self.ends[1], decimals=self.decimals, unit=self.unit)

    @property
    def with_interval(self) -> str:
        """Such as `−1.39 % (−1.45 to −1.33)`; the change alone where there is no interval."""
        return self.text if len(self.ends) < 2 else f"{self.text} ({self.interval})"

    @property
    def size(self) -> str:
        """The change without its sign, such as `1.39 %`."""
        return f"{unsigned(self.change, self.decimals)} {self.unit}"

    def is_of(self, value: float, baseline: float) -> bool:
        """True if these values give the change that is printed, to its last digit."""
        if abs(self.change) >= SENSELESS:
            return True
        if self.divisor is None:
            computed = 100 * (value / baseline - 1) if baseline else math.inf
        else:
            computed = (value - baseline) / self.divisor
        printed = round(self.change, self.decimals)
        return bool(abs(computed - printed) <= (0.5 + _TIE) * 10.0**-self.decimals)


@dataclass(frozen=True, kw_only=True)
class PrintedInterval:
    """The ends of an interval of changes, in `unit`."""

    low: float
    high: float
    decimals: int
    unit: str

    @property
    def texts(self) -> tuple[str, str]:
        """Both ends, such as `−1.84` and `+0.80`."""
        return signed(self.low, self.decimals), signed(self.high, self.decimals)

    @property
    def farther(self) -> float:
        """Distance of the ends from no difference: the larger of the two."""
        return max(abs(self.low), abs(self.high))

    @property
    def widest(self) -> str:
        """The same in words, such as `±1.84 %`."""
        return f"±{unsigned(self.farther, self.decimals)} {self.unit}"


def printed_change(
    ratio: float | None, difference: float | None, interval: Sequence[float | None], unit: str
) -> PrintedChange | None:
    """The change in percent, or the difference in its unit where there is no ratio; None where there is neither.

    Args:
        interval: of the ratio, or of the difference without one.
    """
    known = [end for end in map(finite, interval) if end is not None]
    ratio = finite(ratio)
    if ratio is not None:
        change, ends = as_percent(ratio), tuple(map(as_percent, known))
        decimals = percent_decimals(change, *ends)
        return PrintedChange(change=change, ends=ends, decimals=decimals, unit="%", divisor=None)
    difference = finite(difference)
    if difference is None:
        return None
    divisor, name = difference_scale([difference, *known], unit)
    scaled = [value / divisor for value in (difference, *known)]
    decimals = _difference_decimals(*scaled)
    return PrintedChange(change=scaled[0], ends=tuple(scaled[1:]), decimals=decimals, unit=name, divisor=divisor)


def _difference_decimals(*values: float) -> int:
    largest = max(map(abs, values))
    return 3 if largest < 1 else 2 if largest < 10 else 1


def difference_scale(values: Sequence[float], unit: str) -> tuple[float, str]:
    """Divisor and name for differences: shares differ by percentage points (`pp`)."""
    divisor, name = common_scale(values, unit)
    return divisor, "pp" if unit == "1" else name


def change_of(finding: Finding) -> PrintedChange | None:
    """The change of a finding, without an interval that says nothing."""
    is_told = finding.ratio is None or finding.mark != "too variable"
    ends = (finding.ci_low, finding.ci_high) if is_told else ()
    return printed_change(finding.ratio, finding.difference, ends, finding.unit)


def noise_of(finding: Finding) -> PrintedInterval | None:
    """The A/A comparison's interval at the levels of a finding: of a difference in the unit and with the decimals of
    its change. None where it is not known."""
    low, high = finite(finding.noise_low), finite(finding.noise_high)
    if low is None or high is None:
        return None
    if finding.ratio is not None:
        low, high = as_percent(low), as_percent(high)
        return PrintedInterval(low=low, high=high, decimals=percent_decimals(low, high), unit="%")
    change = change_of(finding)
    if change is not None and change.divisor is not None:
        divisor, unit, decimals = change.divisor, change.unit, change.decimals
    else:
        divisor, unit = difference_scale([low, high], finding.unit)
        decimals = _difference_decimals(low / divisor, high / divisor)
    return PrintedInterval(low=low / divisor, high=high / divisor, decimals=decimals, unit=unit)


def apart_words(compared: Finding | KernelContrast) -> str:
    """The change in the pairs that lie apart: `77 to 97 % less in 2`."""
    low, high = finite(compared.apart_low), finite(compared.apart_high)
    if low is None or high is None:
        return f"other values in {compared.apart}"
    return f"{_less_or_more(low, high)} in {compared.apart}"


_MANY_TIMES = 3.0
"""A ratio from which on times are said and not percent."""


def _less_or_more(low: float, high: float) -> str:
    if low > 1 and high >= _MANY_TIMES:
        ends = [f"{float(f'{end:.2g}'):g}" for end in (low, high)]
        return f"{ends[0] if ends[0] == ends[1] else ' to '.join(ends)} times as much"
    if low < 1 < high:
        return f"{_size(low)} % less to {_less_or_more(high, high)}"
    side = "less" if low < 1 else "more"
    ends = [_size(end) for end in ((high, low) if low < 1 else (low, high))]
    return f"{ends[0] if ends[0] == ends[1] else ' to '.join(ends)} % {side}"


def _size(ratio: float) -> str:
    percent = abs(as_percent(ratio))
    return ">99" if ratio < 1 and percent > 99.4 else f"{percent:.{0 if percent >= 9.95 else 1}f}"

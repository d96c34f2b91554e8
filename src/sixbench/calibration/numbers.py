"""Values of a calibration in words."""

from __future__ import annotations

from ..report import words
from .metric import CalibratedMetric
from .results import AtTruth, OverPath, ValueInterval


def deviation(metric: CalibratedMetric, value: float | None, *, sign: bool = True) -> str:
    """A bias, spread or uncertainty: a share in percent, or a quantity in the metric's unit."""
    if value is None:
        return ""
    mark = ("+" if value > 0 else "−" if value < 0 else "") if sign else ""
    return mark + words.level("_ratio" if metric.scale == "relative" else metric.column, float(f"{abs(value):.2g}"))


def value(metric: CalibratedMetric, measured: float) -> str:
    """A measured value, such as `10 Mbit/s`."""
    return f"{measured:g}" if metric.is_number else words.level(metric.column, float(f"{measured:.3g}"))


def bias(metric: CalibratedMetric, interval: ValueInterval | None) -> str:
    """The bias with its interval, such as `+0.002 % (−0.001 % to +0.005 %)`."""
    if interval is None:
        return ""
    low, high = deviation(metric, interval.low), deviation(metric, interval.high)
    return f"{deviation(metric, interval.value)} ({low} to {high})"


def coverage(interval: ValueInterval | None, over: OverPath) -> str:
    """The coverage, such as `191/200, 95.5 %`."""
    if interval is None:
        return ""
    covered, judged = sum(at_truth.covered for at_truth in over.at), sum(at_truth.judged for at_truth in over.at)
    return f"{covered}/{judged}, {100 * interval.value:.1f} %"


def trials(over: OverPath | AtTruth) -> str:
    """The number of valid trials, and of those that are not valid."""
    unusable = over.unusable if isinstance(over, OverPath) else sum(over.unusable.values())
    return f"{over.trials}" + (f" (+{unusable} not valid)" if unusable else "")


def trusted(metric: CalibratedMetric, over: OverPath) -> str:
    """The trusted range, such as `1 Mbit/s to 1 Gbit/s`."""
    if over.summary is None:
        return "nowhere"
    low, high = (words.level(metric.column, value) for value in (over.summary.low, over.summary.high))
    return low if low == high else f"{low} to {high}"

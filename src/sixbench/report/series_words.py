"""The series of a monitor in words: what they are, and their values."""

from __future__ import annotations

from ..model.monitoring import Followed
from . import words


def title_of(one: Followed) -> str:
    """Its metric, workload and levels."""
    what = words.metric_label(one.series.metric)
    return f"{about(one)}: {what[:1].lower()}{what[1:]}" if what[1:2].islower() else f"{about(one)}: {what}"


def about(one: Followed) -> str:
    """Its workload and levels."""
    levels = words.levels(one.series.levels)
    return ", ".join(part for part in (words.workload_title(one.series.workload), levels) if part)


def path_text(one: Followed) -> str:
    """The path, and with which it is compared."""
    series = one.series
    return series.path if series.against is None else f"{series.path} against {series.against}"


def value_text(one: Followed, value: float) -> str:
    """A value of a series: `94.15 Mbit/s`, or a change: `−1.20 %`."""
    series = one.series
    if series.unit == "ratio":
        percent = words.as_percent(value)
        return f"{words.signed(percent, words.percent_decimals(percent))} %"
    if series.against is None:
        return words.quantity(value, series.unit)
    divisor, unit = words.common_scale([value], series.unit)
    return f"{words.signed(value / divisor, 2)} {'pp' if unit == '%' else unit}"

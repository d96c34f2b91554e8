"""The series of a monitor in words: what they are, and their values."""

from __future__ import annotations

from ..model.monitoring import Followed
from . import words


def title_of(item: Followed) -> str:
    """Its metric, workload and levels."""
    what = words.metric_label(item.series.metric)
    return f"{about(item)}: {what[:1].lower()}{what[1:]}" if what[1:2].islower() else f"{about(item)}: {what}"


def about(item: Followed) -> str:
    """Its workload and levels."""
    levels = words.levels(item.series.levels)
    return ", ".join(part for part in (words.workload_title(item.series.workload), levels) if part)


def path_text(item: Followed) -> str:
    """The path, and with which it is compared."""
    series = item.series
    return series.path if series.against is None else f"{series.path} against {series.against}"


def value_text(item: Followed, value: float) -> str:
    """A value of a series: `94.15 Mbit/s`, or a change: `−1.20 %`."""
    series = item.series
    if series.unit == "ratio":
        percent = words.as_percent(value)
        return f"{words.signed(percent, words.percent_decimals(percent))} %"
    if series.against is None:
        return words.quantity(value, series.unit)
    divisor, unit = words.common_scale([value], series.unit)
    return f"{words.signed(value / divisor, 2)} {'pp' if unit == '%' else unit}"

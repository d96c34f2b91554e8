"""The numbers of a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.experiment import Combination
from ..model.metric import METRICS
from ..model.paper import Amount
from ..model.units import format_duration, format_rate, format_size, scale
from ..model.workload import Scalar


def percent(value: float) -> str:
    """`+1.4 %`, `−15 %`: as many digits as make sense."""
    text = f"{abs(value):.2g}" if abs(value) < 10 else f"{abs(value):.0f}"
    sign = "" if float(text) == 0 else "+" if value > 0 else "−"
    return f"{sign}{text} %"


def signed(value: float) -> str:
    """A number with two decimals and its sign."""
    return f"{value:+.2f}".replace("-", "−")


def change(value: float, *, points: bool) -> str:
    """A change in percent, or in percentage points: of shares, which have no ratio where they are 0."""
    return percent(value).replace("%", "pp") if points else percent(value)


def change_with_interval(value: float, low: float, high: float, *, points: bool) -> str:
    """Such as `+1.4 pp (+1.3 pp to +1.5 pp)`."""
    return f"{change(value, points=points)} ({change(low, points=points)} to {change(high, points=points)})"


def quantity(metric: str, value: float) -> str:
    """A value of a metric, with the prefix that reads best."""
    if METRICS[metric].unit == "1":
        return f"{100 * value:.3g} %"
    scaled, unit = scale(value, METRICS[metric].unit)
    return f"{scaled:.4g} {unit}"


def amount(test: Amount) -> str:
    """What a value should be: `0.9 s to 1.3 s`."""
    if METRICS[test.selector.metric].unit == "cores":
        return f"{test.low:g} to {test.high:g} % of the machine"
    low, high = (quantity(test.selector.metric, end) for end in (test.low, test.high))
    return f"{low} to {high}"


def level(column: str, value: Scalar) -> str:
    """A level with its unit."""
    if isinstance(value, (str, bool)):
        return str(value)
    for suffix, form in (("_bytes", format_size), ("_bps", format_rate), ("_ns", format_duration)):
        if column.endswith(suffix):
            return form(value)
    return f"{value:g}"


def place(combination: Combination, path: str, metric: str, without: str = "") -> str:
    """What a comparison is of: `tcp-rr rtt_mean of ipv6 at message 64B`."""
    levels: Mapping[str, Scalar] = {c: v for c, v in combination.levels.items() if c != without}
    at = ", ".join(f"{_factor(column)} {level(column, value)}" for column, value in levels.items())
    return f"{combination.workload.kind} {metric} of {path}" + (f" at {at}" if at else "")


def _factor(column: str) -> str:
    for suffix in ("_bytes", "_bps", "_ns", "_pps"):
        column = column.removesuffix(suffix)
    return column.replace("_", " ")

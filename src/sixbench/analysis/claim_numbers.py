"""The numbers of a claim's verdict, as text."""

from __future__ import annotations

from ..model import names
from ..model.experiment import Combination
from ..model.finding import Finding
from ..model.metric import METRICS
from ..model.paper import Amount
from ..model.units import scale


def percent(value: float) -> str:
    """`+1.4 %`, `−15 %`: as many digits as make sense."""
    text = f"{abs(value):.2g}" if abs(value) < 10 else f"{abs(value):.0f}"
    sign = "" if float(text) == 0 else "+" if value > 0 else "−"
    return f"{sign}{text} %"


def signed(value: float) -> str:
    """A number with two decimals and its sign."""
    return f"{value:+.2f}".replace("-", "−")


def change(value: float, *, points: bool) -> str:
    """A change in percent. A change of shares is in percentage points, because shares of 0 have no ratio."""
    return percent(value).replace("%", "pp") if points else percent(value)


def change_with_interval(value: float, low: float, high: float, *, points: bool, says_nothing: bool = False) -> str:
    """A change with its interval, such as `+1.4 pp (+1.3 pp to +1.5 pp)`. `says_nothing`: the interval is too wide to
    show."""
    if says_nothing:
        return f"{change(value, points=points)} (too variable to tell)"
    return f"{change(value, points=points)} ({change(low, points=points)} to {change(high, points=points)})"


def apart_in_words(finding: Finding) -> str:
    """The pairs that lie apart: `−97 % to −77 % in 2 of 10 blocks`."""
    ends = [percent(100 * (end - 1)) for end in (finding.apart_low, finding.apart_high) if end is not None]
    text = ends[0] if len(set(ends)) == 1 else " to ".join(ends)
    return f"{text} in {finding.apart} of {finding.n} blocks"


def quantity(metric: str, value: float) -> str:
    """A value of a metric, with the prefix that reads best."""
    if METRICS[metric].unit == "1":
        return f"{100 * value:.3g} %"
    scaled, unit = scale(value, METRICS[metric].unit)
    return f"{scaled:.4g} {unit}"


def amount(test: Amount) -> str:
    """The range that a value should be in: `0.9 s to 1.3 s`."""
    if METRICS[test.selector.metric].unit == "cores":
        return f"{test.low:g} to {test.high:g} % of the machine"
    low, high = (quantity(test.selector.metric, end) for end in (test.low, test.high))
    return f"{low} to {high}"


def subject(combination: Combination, path: str, metric: str, without: str = "") -> str:
    """The subject of a comparison: `Mean round-trip time of TCP request and response over ipv6 at message 64 B`."""
    levels = {column: value for column, value in combination.levels.items() if column != without}
    text = names.subject(combination.workload.kind, metric, path, levels)
    return text[:1].upper() + text[1:]

"""The numbers of a claim's verdict, as text: those that were measured as findings have them, and those of the paper as
it gives them."""

from __future__ import annotations

from ..model import names
from ..model.change_words import PrintedChange
from ..model.experiment import Combination
from ..model.metric import METRICS
from ..model.paper import Amount
from ..model.units import scale


def given_percent(value: float) -> str:
    """A percentage of a paper: `+1.4 %`, `−15 %`."""
    text = f"{abs(value):.2g}" if abs(value) < 10 else f"{abs(value):.0f}"
    sign = "" if float(text) == 0 else "+" if value > 0 else "−"
    return f"{sign}{text} %"


def change_words(change: PrintedChange, *, says_nothing: bool = False) -> str:
    """A change with its interval, as in findings. `says_nothing`: its interval is too wide to be there."""
    return f"{change.text} (too variable to tell)" if says_nothing else change.with_interval


def amount(test: Amount) -> str:
    """The range of a paper in which a value should be: `0.9 s to 1.3 s`."""
    if METRICS[test.selector.metric].unit == "cores":
        return f"{test.low:g} to {test.high:g} % of the machine"
    low, high = (_given_quantity(test.selector.metric, end) for end in (test.low, test.high))
    return f"{low} to {high}"


def _given_quantity(metric: str, value: float) -> str:
    if METRICS[metric].unit == "1":
        return f"{100 * value:.3g} %"
    scaled, unit = scale(value, METRICS[metric].unit)
    return f"{scaled:.4g} {unit}"


def subject(combination: Combination, path: str, metric: str, without: str = "") -> str:
    """The subject of a comparison: `Mean round-trip time of TCP request and response over ipv6 at message 64 B`."""
    levels = {column: value for column, value in combination.levels.items() if column != without}
    text = names.subject(combination.workload.kind, metric, path, levels)
    return text[:1].upper() + text[1:]

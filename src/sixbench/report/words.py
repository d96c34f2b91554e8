"""Values, levels and names in words: the one place where a report turns numbers into text.

A missing value is `–` everywhere, and so is one that is not finite.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

from ..model import names
from ..model.experiment import Statistics
from ..model.finding import Finding
from ..model.headers import stack_name
from ..model.metric import METRICS
from ..model.units import scale

MISSING = names.MISSING
level, levels, factor = names.level, names.levels, names.factor
metric_label, metric_in_sentence = names.metric_label, names.metric_in_sentence
workload_title, workload_in_sentence = names.workload_title, names.workload_in_sentence
protocol, subject = names.protocol, names.subject

MINUS = "−"

SENSELESS = 1e6
"""Percentages above this come from intervals that know nothing, not from networks."""

_NUMBER_AND_UNIT = re.compile(
    r"(\d) (?=%|pp\b|virtual\b|[kKMG]?i?bit/s|[KMG]i?B\b|B\b|[nµm]?s\b|[kM]?/s|[kM]?packets/s|CI\b)|(?<=%) (?=CI\b)"
)


def finite(value: float | None) -> float | None:
    """The value; None for NaN and infinity, which are no values."""
    return None if value is None or not math.isfinite(value) else value


def number(value: float, digits: int = 4) -> str:
    """A number of about so many significant digits, without an exponent: `94.15`, `1523`, `0.0213`."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, max(9, digits))}f}"
    return text.replace("-", MINUS)


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
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return text
    return ("+" if value > 0 else MINUS) + text


def percent_decimals(*percents: float) -> int:
    """Number of decimals of a percentage: two below 10 %, one below 100 %, else none."""
    largest = max((abs(value) for value in percents), default=0.0)
    return 2 if largest < 10 else 1 if largest < 100 else 0


def as_percent(ratio: float) -> float:
    """Amount by which a ratio is above 1, in percent."""
    return 100 * (ratio - 1)


def better(name: str) -> str:
    """The better direction, in words; empty where neither is."""
    direction = METRICS[name].better if name in METRICS else "neither"
    return "" if direction == "neither" else f"{direction} is better"


def protocols(text: str) -> str:
    """A stack as evidence has it, with the names that the RFCs write: `IPv6 in IPv4`."""
    return " ".join(names.PROTOCOLS.get(word, word) for word in text.split(" "))


def stack(headers: Iterable[str]) -> str:
    """Headers, outermost first, by those that tell stacks apart: `IPv6 in IPv4`."""
    return protocols(stack_name(headers))


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


def count(number_of: int, item: str, many: str | None = None) -> str:
    """`1 trial`, `3 trials`."""
    return f"{number_of} {item if number_of == 1 else many or item + 's'}"


def all_margins(statistics: Statistics) -> str:
    """The margins of equivalence of an experiment: `1 %`, or `1 % (5 % of TCP connection)`."""
    text = percent(statistics.margin)
    by_margin: dict[float, list[str]] = {}
    for workload, margin in statistics.margins.items():
        by_margin.setdefault(margin, []).append(workload_title(workload))
    own = [f"{percent(margin)} of {listing(titles)}" for margin, titles in by_margin.items()]
    return f"{text} ({'; '.join(own)})" if own else text


def margins_of(statistics: Statistics, findings: Iterable[Finding], sign: str = "") -> str:
    """The margins of these findings: `1 %`, or `1 % or 5 %`."""
    return " or ".join(
        sign + percent(margin) for margin in statistics.margins_of(finding.workload for finding in findings)
    )


def percent(ratio: float) -> str:
    """A margin, or a confidence: `1 %`."""
    return f"{100 * ratio:g} %"


def listing(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = list(items)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def keep_together(text: str) -> str:
    """The text with no-break spaces between numbers and their units, so that no line ends between them."""
    return _NUMBER_AND_UNIT.sub(lambda match: f"{match[1] or ''}\u00a0", text)


def one_line(text: str) -> str:
    """The text without line ends and without characters that command a terminal or turn the direction of writing:
    what comes from an experiment may be anything."""
    return " ".join("".join(" " if unicodedata.category(c).startswith("C") else c for c in text).split(" ")).strip()


def duration(duration_ns: float) -> str:
    """A length of time for people: `2 min 5 s`, `1 h 3 min`, `850 ms`."""
    if duration_ns < 60e9:
        return quantity(float(f"{duration_ns:.3g}"), "ns")
    minutes, seconds = divmod(round(duration_ns / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


_ASCII = str.maketrans(
    {
        MINUS: "-",
        MISSING: "-",
        "→": "->",
        "•": "*",
        "±": "+-",
        "≠": "!=",
        "≤": "<=",
        "≥": ">=",
        "×": "x",
        "µ": "u",
        "’": "'",
        "“": '"',
        "”": '"',
        "…": "...",
        "\u00a0": " ",
    }
)


def in_ascii(text: str) -> str:
    """The report's own characters as ASCII, for terminals that have no others; what an experiment says is left."""
    return text.translate(_ASCII)

"""Values, levels and names in words, for all formats of a report. `model.number_words` has those of numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ..model import names, number_words
from ..model.experiment import Statistics
from ..model.finding import Finding
from ..model.headers import stack_name
from ..model.metric import METRICS

MISSING = names.MISSING
level, levels, factor = names.level, names.levels, names.factor
metric_label, metric_in_sentence = names.metric_label, names.metric_in_sentence
workload_title, workload_in_sentence = names.workload_title, names.workload_in_sentence
protocol, subject = names.protocol, names.subject
MINUS, SENSELESS = number_words.MINUS, number_words.SENSELESS
finite, number, quantity, common_scale = (
    number_words.finite,
    number_words.number,
    number_words.quantity,
    number_words.common_scale,
)
decimal, decimals_of, percent_decimals = number_words.decimal, number_words.decimals_of, number_words.percent_decimals
signed, unsigned, as_percent = number_words.signed, number_words.unsigned, number_words.as_percent
whole, share, percent, duration = number_words.whole, number_words.share, number_words.percent, number_words.duration

_NUMBER_AND_UNIT = re.compile(
    r"(\d) (?=%|pp\b|virtual\b|[kKMG]?i?bit/s|[KMG]i?B\b|B\b|[nµm]?s\b|[kM]?/s|[kM]?packets/s|CI\b)|(?<=%) (?=CI\b)"
)


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


def short(packets: int) -> str:
    """All digits of a number under a million, three digits of a larger one."""
    return whole(packets) if packets < 10**6 else f"{number(packets / 10**6, 3)}\u00a0M"


def count(number_of: int, item: str, many: str | None = None) -> str:
    """`1 trial`, `3 trials`."""
    return f"{number_of} {item if number_of == 1 else many or item + 's'}"


def plural(noun: str) -> str:
    """Several of a thing: `servers`, `cities`, `boxes`."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun[-1:] == "y" and noun[-2:-1] not in "aeiou" else f"{noun}s"


def all_margins(statistics: Statistics) -> str:
    """The margins of equivalence of an experiment: `1 %`, or `1 % (5 % of TCP connection)`."""
    text = percent(statistics.margin)
    by_margin: dict[float, list[str]] = {}
    for workload, margin in statistics.margins.items():
        by_margin.setdefault(margin, []).append(workload_title(workload))
    by_workload = [f"{percent(margin)} of {listing(titles)}" for margin, titles in by_margin.items()]
    return f"{text} ({'; '.join(by_workload)})" if by_workload else text


def margins_of(statistics: Statistics, findings: Iterable[Finding], sign: str = "") -> str:
    """The margins of these findings: `1 %`, or `1 % or 5 %`."""
    return " or ".join(
        sign + percent(margin) for margin in statistics.margins_of(finding.workload for finding in findings)
    )


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

"""Values, levels and names in words: the one place where a report turns numbers into text.

A missing value is `–` everywhere, and so is one that is not finite.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping

from ..model.metric import METRICS
from ..model.units import format_size, scale
from ..model.workload import Scalar

MISSING = "–"
MINUS = "−"

_SENSELESS = 1e6
"""Percentages above this come from intervals that know nothing, not from networks."""

_NUMBER_AND_UNIT = re.compile(
    r"(\d) (?=%|pp\b|virtual\b|[kKMG]?i?bit/s|[KMG]i?B\b|B\b|[nµm]?s\b|[kM]?/s|[kM]?packets/s|CI\b)|(?<=%) (?=CI\b)"
)

_SUFFIXES = {"_bytes": "B", "_bps": "bit/s", "_ns": "ns", "_pps": "packets/s", "_per_s": "1/s"}
_ABBREVIATIONS = {"mtu", "mss", "tcp", "udp", "rtt", "cpu", "ip"}
_TIMES = ("rtt", "transaction_", "connect_", "one_way_delay_", "ipdv_", "pdv_", "tcp_")
"""Metrics whose label ends with a statistic."""

_PACKET_SIZES = {"mtu", "mss", "datagram", "payload", "frame"}
"""Sizes that are packets', which nobody counts in KiB."""

_PROTOCOLS = {
    "ethernet": "Ethernet",
    "vlan": "VLAN",
    "arp": "ARP",
    "ipv4": "IPv4",
    "ipv6": "IPv6",
    "tcp": "TCP",
    "udp": "UDP",
    "icmp": "ICMP",
    "icmpv6": "ICMPv6",
    "gre": "GRE",
    "gre-key": "GRE key",
    "vxlan": "VXLAN",
}
_TELLING = ("ipv4", "ipv6", "gre", "vxlan")
"""The headers by which stacks are named, as evidence names them."""

_TITLES = {
    "tcp-stream": "TCP bulk transfer",
    "udp-stream": "UDP stream",
    "tcp-rr": "TCP request and response",
    "udp-rr": "UDP request and response",
    "tcp-connect": "TCP connection",
    "tcp-crr": "TCP connection, request and response",
    "ping": "ICMP echo",
    "pmtu": "Path MTU",
    "voip": "Voice over IP",
    "latency-under-load": "Latency under load",
    "happy-eyeballs": "Happy Eyeballs",
}


def finite(value: float | None) -> float | None:
    """The value; None for NaN and infinity, which are no values."""
    return None if value is None or not math.isfinite(value) else value


def number(value: float, digits: int = 4) -> str:
    """A number of about so many significant digits, without an exponent: `94.15`, `1523`, `0.0213`."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 9)}f}"
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
    if abs(value) >= _SENSELESS:
        return f">+{_SENSELESS:.0f}" if value > 0 else f"<{MINUS}{_SENSELESS:.0f}"
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return text
    return ("+" if value > 0 else MINUS) + text


def percent_decimals(*percents: float) -> int:
    """How many decimals a percentage deserves: two below 10 %, one below 100 %, else none."""
    largest = max((abs(value) for value in percents), default=0.0)
    return 2 if largest < 10 else 1 if largest < 100 else 0


def as_percent(ratio: float) -> float:
    """How much a ratio is above 1, in percent."""
    return 100 * (ratio - 1)


def level(column: str, value: Scalar | None) -> str:
    """A level with its unit, from the suffix of its column: `1 KiB`, `100 Mbit/s`, `5 ms`."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if column.endswith("_ratio"):
        return f"{100 * value:g} %"
    suffix = next((suffix for suffix in _SUFFIXES if f"_{column}".endswith(suffix)), None)
    if suffix == "_bytes":
        if any(word in _PACKET_SIZES for word in column.split("_")):
            return f"{value:g} B"
        return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", format_size(value))
    if suffix is None:
        return f"{value:g}"
    scaled, name = scale(value, _SUFFIXES[suffix])
    return f"{scaled:g} {name}"


def factor(column: str) -> str:
    """A column without its unit, for people: `message` for `message_bytes`, `link MTU` for `link_mtu_bytes`."""
    suffix = next((suffix for suffix in (*_SUFFIXES, "_ratio") if column.endswith(suffix) and column != suffix), "")
    words = column.removesuffix(suffix).replace("_", " ").split()
    return " ".join(_PROTOCOLS.get(word) or (word.upper() if word in _ABBREVIATIONS else word) for word in words)


def levels(values: Mapping[str, Scalar], columns: Iterable[str] | None = None) -> str:
    """Levels as a phrase: `message 1 KiB, link rate 100 Mbit/s`; only those of `columns` if given."""
    chosen = values if columns is None else [column for column in columns if column in values]
    return ", ".join(f"{factor(column)} {level(column, values[column])}" for column in chosen)


def metric_label(name: str) -> str:
    """The metric for axes and tables, without its unit."""
    return METRICS[name].label if name in METRICS else name.replace("_", " ")


def metric_in_sentence(name: str) -> str:
    """The metric as the subject of a sentence: `goodput`, `median round-trip time`, `rate of transactions`."""
    label = {"transactions_rate": "Rate of transactions", "packets_rate": "Rate of datagrams"}.get(
        name, metric_label(name)
    )
    if label[1:2].islower():
        label = label[:1].lower() + label[1:]
    thing, comma, statistic = label.rpartition(", ")
    return f"{statistic} {thing}" if comma and name.startswith(_TIMES) else label


def better(name: str) -> str:
    """Which direction is better, in words; empty where neither is."""
    direction = METRICS[name].better if name in METRICS else "neither"
    return "" if direction == "neither" else f"{direction} is better"


def workload_title(kind: str) -> str:
    """A workload's name for headings."""
    return _TITLES.get(kind, kind)


def protocol(kind: str) -> str:
    """A header's name as its RFC writes it: `IPv6` for `ipv6`."""
    return _PROTOCOLS.get(kind, kind)


def protocols(text: str) -> str:
    """A stack as evidence has it, with the names that the RFCs write: `IPv6 in IPv4`."""
    return " ".join(_PROTOCOLS.get(word, word) for word in text.split(" "))


def stack(headers: Iterable[str]) -> str:
    """Headers, outermost first, by those that tell stacks apart: `IPv6 in IPv4`."""
    return " in ".join(_PROTOCOLS[kind] for kind in reversed(list(headers)) if kind in _TELLING)


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


def count(number_of: int, one: str, many: str | None = None) -> str:
    """`1 trial`, `3 trials`."""
    return f"{number_of} {one if number_of == 1 else many or one + 's'}"


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

"""Quantities as people write them, and back.

Sizes take B, kB, KiB, MB, MiB, GB, GiB; rates bit, kbit, Mbit, Gbit (per second); packet rates pps, kpps, Mpps; times
ns, us, ms, s, min; lengths on paper in, mm, cm, pt; ratios %. Always with the unit; only a zero may go without. A
parser raises `ValueError` whose message says what would be right.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from difflib import get_close_matches

from .quoting import shown

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([A-Za-z%µμ/]*)")
_MAX_LENGTH = 60
_EXACT = Context(prec=2 * _MAX_LENGTH)
"""More digits than a quantity can have, so that nothing is rounded in between."""

SIZE_BYTES = {"B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
RATE_BPS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
PACKET_RATE_PPS = {"pps": 1, "kpps": 10**3, "Mpps": 10**6}
DURATION_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
TIMED_UNITS = ("ns", "bit/s", "1/s", "1/min", "packets/s")
"""The units of metrics that have a time in them."""
VIRTUAL = "virtual "
"""The prefix of a unit whose time comes from a virtual clock."""
RATIO = {"%": Decimal("0.01")}
LENGTH_IN = {"in": Decimal(1), "mm": 1 / Decimal("25.4"), "cm": 1 / Decimal("2.54"), "pt": 1 / Decimal("72.27")}
"""Lengths on paper. A point is TeX's, the unit of `\\the\\columnwidth`."""


def _parse(value: object, what: str, units: dict[str, int] | dict[str, Decimal], example: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"{shown(value)} is not {what}; write a number and a unit, such as {example}")
    if isinstance(value, (int, float)) and value == 0:
        return Decimal(0)
    text = str(value).strip()
    known = ", ".join(units)
    match = _NUMBER.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise ValueError(f"{shown(value)} is not {what}; write a number and one of {known}, such as {example}")
    number, unit = match.groups()
    unit = unit.replace("µ", "u").replace("μ", "u")
    if not unit:
        raise ValueError(f"{shown(value)} has no unit; {what} takes one of {known}, such as {example}")
    if unit not in units:
        close = _closest(unit, list(units))
        hint = f"did you mean {number}{close}?" if close else f"such as {example}"
        raise ValueError(f'{shown(value)} is not {what}: unknown unit "{unit}", it takes one of {known}; {hint}')
    return _EXACT.multiply(Decimal(number), Decimal(units[unit]))


def _closest(unit: str, known: list[str]) -> str | None:
    folded = {name.lower(): name for name in known}
    for candidate in (unit.lower(), unit.lower().rstrip("s"), re.sub(r"(/s|ps)$", "", unit.lower())):
        if candidate in folded:
            return folded[candidate]
    close = get_close_matches(unit.lower(), folded, n=1, cutoff=0.5)
    return folded[close[0]] if close else None


def _whole(value: Decimal, given: object, what: str) -> int:
    if value != value.to_integral_value():
        raise ValueError(f"{shown(given)} is not a whole number of {what}; round it")
    return int(value)


def parse_size(value: object) -> int:
    """Bytes of a size such as `64B`, `8 KiB`, `1.5MB`."""
    return _whole(_parse(value, "a size", SIZE_BYTES, "64KiB"), value, "bytes")


def parse_rate(value: object) -> int:
    """Bits per second of a rate such as `100Mbit`."""
    return _whole(_parse(value, "a rate", RATE_BPS, "100Mbit"), value, "bits per second")


def parse_packet_rate(value: object) -> int:
    """Packets per second of a rate such as `10kpps`."""
    return _whole(_parse(value, "a packet rate", PACKET_RATE_PPS, "1000pps"), value, "packets per second")


def parse_duration(value: object) -> int:
    """Nanoseconds of a time such as `5s`, `50ms`, `2min`."""
    return _whole(_parse(value, "a time", DURATION_NS, "5s"), value, "nanoseconds")


def parse_length(value: object) -> float:
    """Inches of a length on paper such as `3.33in`, `84.5mm`, `241pt`."""
    return float(_parse(value, "a length", LENGTH_IN, "3.33in"))


def parse_ratio(value: object) -> float:
    """A ratio of a percentage such as `2%` (0.02)."""
    return float(_parse(value, "a percentage", RATIO, "2%"))


def format_size(size_bytes: float) -> str:
    """`65536` as `64KiB`, `1000000` as `1MB`, exact and with the largest unit that keeps it whole."""
    for unit in ("GiB", "GB", "MiB", "MB", "KiB", "kB"):
        factor = SIZE_BYTES[unit]
        if size_bytes >= factor and size_bytes % factor == 0:
            return f"{int(size_bytes // factor)}{unit}"
    return f"{plain(size_bytes)}B"


def format_rate(rate_bps: float) -> str:
    """`100000000` as `100Mbit`, for experiments and tc."""
    for unit in ("Gbit", "Mbit", "kbit"):
        factor = RATE_BPS[unit]
        if rate_bps >= factor and rate_bps % factor == 0:
            return f"{int(rate_bps // factor)}{unit}"
    return f"{plain(rate_bps)}bit"


def format_packet_rate(rate_pps: float) -> str:
    """`10000` as `10kpps`, exact and with the largest unit that keeps it whole."""
    for unit in ("Mpps", "kpps"):
        factor = PACKET_RATE_PPS[unit]
        if rate_pps >= factor and rate_pps % factor == 0:
            return f"{int(rate_pps // factor)}{unit}"
    return f"{plain(rate_pps)}pps"


def format_duration(duration_ns: float) -> str:
    """`5000000000` as `5s`, exact and with the largest unit that keeps it whole."""
    for unit in ("min", "s", "ms", "us"):
        factor = DURATION_NS[unit]
        if duration_ns >= factor and duration_ns % factor == 0:
            return f"{int(duration_ns // factor)}{unit}"
    return f"{plain(duration_ns)}ns"


def plain(value: float) -> str:
    """A number with all its digits, a whole one without a decimal point."""
    return str(int(value)) if value == int(value) else repr(value)


def scale(value: float, unit: str) -> tuple[float, str]:
    """The value with the prefix that reads best: `(94.1, "Mbit/s")` for `(94.1e6, "bit/s")`.

    Knows bit/s, ns, B, 1/s and packets/s, and those of them that say `virtual`; any other unit is returned as it is.
    """
    clock = VIRTUAL if unit.startswith(VIRTUAL) else ""
    steps: dict[str, list[tuple[float, str]]] = {
        "bit/s": [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")],
        "ns": [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")],
        "B": [(2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")],
        "1/s": [(1e6, "M/s"), (1e3, "k/s"), (1, "1/s")],
        "packets/s": [(1e6, "Mpackets/s"), (1e3, "kpackets/s"), (1, "packets/s")],
    }
    for factor, name in steps.get(unit.removeprefix(VIRTUAL), []):
        if abs(value) >= factor:
            return value / factor, f"{clock}{name}"
    return value, unit

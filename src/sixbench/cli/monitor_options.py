"""Meaning of the options of `sixbench monitor`."""

from __future__ import annotations

import re

from ..model.errors import UsageError
from ..model.monitoring import FalseAlarms
from ..model.units import parse_duration, parse_ratio, parse_size

_LONG_S = {"h": 3600, "d": 86_400}
_A_YEAR = {"year": 1.0, "month": 12.0, "week": 365 / 7, "day": 365.0}
_LONGEST_S = 366 * 86_400
_RATE = re.compile(rf"(\d{{1,6}}(?:\.\d{{1,6}})?)/({'|'.join(_A_YEAR)})")


def every_of(text: str) -> int:
    """The nanoseconds of a time such as `90s`, `30min`, `1h` or `1d`. Raises `UsageError`."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([hd])", text.strip())
    try:
        number = round(float(match[1]) * _LONG_S[match[2]] * 1e9) if match else parse_duration(text)
    except ValueError:
        number = 0
    if not 10**9 <= number <= _LONGEST_S * 10**9:
        raise UsageError(f"--every {text}: give a time from 1s to 366d, such as 90s, 30min, 1h or 1d")
    return number


def false_alarms_of(text: str) -> FalseAlarms:
    """The rate of `1/year`, or of `0.1%` of the looks. Raises `UsageError`."""
    match = _RATE.fullmatch(text.replace(" ", ""))
    if match is not None and float(match[1]) > 0:
        return FalseAlarms(per_year=float(match[1]) * _A_YEAR[match[2]])
    try:
        share = parse_ratio(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"--false-alarms {text}: give a rate such as 1/year or 2/month, or a share such as 0.1%")
    return FalseAlarms(per_look=share)


def keep_of(text: str) -> int:
    """The bytes of a size. Raises `UsageError`."""
    try:
        number = parse_size(text)
    except ValueError as error:
        raise UsageError(f"--keep {text}: {error}") from None
    if number < 0:
        raise UsageError(f"--keep {text}: give a size of at least 0")
    return number

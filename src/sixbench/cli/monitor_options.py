"""Meaning of the options of `sixbench monitor`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model.errors import UsageError
from ..model.monitoring import FalseAlarms
from ..model.units import parse_duration, parse_ratio, parse_size
from .common import option_words

_LONG_S = {"h": 3600, "d": 86_400}
_A_YEAR = {"year": 1.0, "month": 12.0, "week": 365 / 7, "day": 365.0}
_LONGEST_S = 366 * 86_400
_RATE = re.compile(rf"(\d{{1,6}}(?:\.\d{{1,6}})?)/({'|'.join(_A_YEAR)})")


@dataclass(frozen=True, kw_only=True)
class MonitorTerms:
    """The terms of a monitor, as they were given: those of its beginning hold if they are None.

    Attributes:
        baseline: the number of occurrences that all others are held against.
        false_alarms: their rate, such as `1/year`.
        keep: the largest size of the directory.
    """

    baseline: int | None = None
    false_alarms: str | None = None
    keep: str | None = None

    @property
    def false_alarm_rate(self) -> FalseAlarms | None:
        """The rate of false alarms. Raises `UsageError`."""
        return None if self.false_alarms is None else false_alarms_of(self.false_alarms)

    @property
    def keep_bytes(self) -> int | None:
        """The largest size of the directory. Raises `UsageError`."""
        return None if self.keep is None else keep_of(self.keep)

    def check(self) -> None:
        """Raises `UsageError` where one of them cannot be read."""
        _ = self.keep_bytes, self.false_alarm_rate

    def options(self) -> list[str]:
        """The words of a command line with the same terms."""
        return option_words({"--baseline": self.baseline, "--false-alarms": self.false_alarms, "--keep": self.keep})


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

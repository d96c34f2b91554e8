"""How the clocks of two hosts stand to each other, by each source that tells of both, and whether these agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from ..model.host import MOST_DRIFT_PPM
from ..model.units import scale
from ..store import CONTROL, PTP, ClockReading, HostFacts

_BY = {CONTROL: "by exchanges over SSH", PTP: "by PTP"}

LOOK_NS = 10 * 10**9
"""Readings that are further apart are not of one look at the clocks, and are not compared."""

Interval = tuple[int, int]
"""The least and the most, in nanoseconds."""


def clock_properties(hosts: Mapping[str, HostFacts]) -> list[tuple[str, str]]:
    """A property for each pair of hosts of whose clocks more than one source tells at the end."""
    found = []
    for (one, its), (other, others) in combinations(hosts.items(), 2):
        by_source = last_differences(its.clock, others.clock)
        if len(by_source) > 1:
            found.append((f"Clocks of {one} and {other}", _words(one, by_source)))
    return found


def last_differences(one: Sequence[ClockReading], other: Sequence[ClockReading]) -> dict[str, Interval]:
    """By source, how far one host's clock is ahead of the other's, at the last look at both."""
    found: dict[str, Interval] = {}
    latest_ns = max((reading.realtime_ns for reading in (*one, *other)), default=0)
    for source, its in _last(one, latest_ns).items():
        others = _last(other, latest_ns).get(source)
        if others is not None and its.reference == others.reference:
            found[source] = _difference(its, others)
    return found


def agree(intervals: Sequence[Interval]) -> bool:
    """Whether one difference is in all of them."""
    return max(low for low, _ in intervals) <= min(high for _, high in intervals)


def ahead(low_ns: int, high_ns: int) -> str:
    """That a clock is ahead of another by no less and no more than this, as what follows its name."""
    if high_ns < 0:
        return f"is {time_words(-high_ns)} to {time_words(-low_ns)} behind"
    if low_ns > 0:
        return f"is {time_words(low_ns)} to {time_words(high_ns)} ahead"
    return f"is at most {time_words(max(-low_ns, high_ns))} off"


def time_words(duration_ns: int) -> str:
    """A time with its unit."""
    value, unit = scale(duration_ns, "ns")
    return f"{value:.7g} {unit}"


def _last(readings: Sequence[ClockReading], latest_ns: int) -> dict[str, ClockReading]:
    """The last reading of each source, of those of the last look."""
    return {reading.source: reading for reading in readings if latest_ns - reading.realtime_ns <= LOOK_NS}


def _difference(one: ClockReading, other: ClockReading) -> Interval:
    """Clocks that nobody is known to steer may have drifted between the readings."""
    drift_ns = 0
    if not (one.is_steered and other.is_steered):
        drift_ns = abs(one.realtime_ns - other.realtime_ns) * MOST_DRIFT_PPM // 10**6
    return one.low_ns - other.high_ns - drift_ns, one.high_ns - other.low_ns + drift_ns


def _words(one: str, by_source: Mapping[str, Interval]) -> str:
    parts = [f"{ahead(low, high)} {_BY.get(name, name)}" for name, (low, high) in by_source.items()]
    verdict = "which agree" if agree(list(by_source.values())) else "which do not agree, so one of them is wrong"
    return f"that of {one} {' and '.join(parts)}, {verdict}"

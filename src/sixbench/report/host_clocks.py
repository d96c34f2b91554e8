"""Offset of the clocks of two hosts, by each source that knows both, and the agreement of the sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import ceil, floor

from ..model.evidence.clocks import TwoClocks
from ..model.host import MOST_DRIFT_PPM
from ..model.metric import METRICS
from ..model.units import scale
from ..store import CONTROL, LINK, PTP, ClockReading, HostFacts, Run

_BY = {CONTROL: "by exchanges over SSH", PTP: "by PTP", LINK: "by exchanges over the path of trials"}

LOOK_NS = 10 * 10**9
"""Readings that are further apart are not of one look at the clocks, and are not compared."""

_DELAY = METRICS["one_way_delay_p50"].column

Interval = tuple[int, int]
"""The least and the most, in nanoseconds."""


def clock_properties(hosts: Mapping[str, HostFacts], last: TwoClocks | None = None) -> list[tuple[str, str]]:
    """A property for each pair of hosts of whose clocks more than one source tells at the end.

    Args:
        last: the clocks in the last trial that has them.
    """
    pairs = []
    for (name, its), (other, others) in combinations(hosts.items(), 2):
        by_source = last_differences(its.clock, others.clock)
        if last is not None and {name, other} == {last.client, last.server} and by_source:
            latest_ns = max(reading.realtime_ns for reading in (*its.clock, *others.clock))
            low, high = by_exchange(last, latest_ns)
            by_source[LINK] = (low, high) if name == last.server else (-high, -low)
        if len(by_source) > 1:
            pairs.append((f"Clocks of {name} and {other}", _words(name, by_source)))
    return pairs


def last_differences(clock_readings: Sequence[ClockReading], other: Sequence[ClockReading]) -> dict[str, Interval]:
    """Time by which one host's clock is ahead of the other's at the last look at both, by source."""
    pairs: dict[str, Interval] = {}
    latest_ns = max((reading.realtime_ns for reading in (*clock_readings, *other)), default=0)
    for source, its in _last(clock_readings, latest_ns).items():
        others = _last(other, latest_ns).get(source)
        if others is not None and its.reference == others.reference:
            pairs[source] = _difference(its, others)
    return pairs


def by_exchange(clocks: TwoClocks, realtime_ns: int) -> Interval:
    """Lead of the server's clock over the client's at a time of the run's machine, by the exchange after a trial and
    the drift in it."""
    elapsed_ns = realtime_ns - clocks.after.realtime_ns
    drifts_ns = [elapsed_ns * ppm / 1e6 for ppm in (clocks.low_ppm, clocks.high_ppm)]
    return floor(clocks.after.low_ns + min(drifts_ns)), ceil(clocks.after.high_ns + max(drifts_ns))


def delay_properties(run: Run) -> list[tuple[str, str]]:
    """Uncertainty of the one-way delays of the trials between two hosts, and the clocks in the last of them."""
    uncertain_ns = [trial.uncertainty[_DELAY] for trial in run.trials if _DELAY in trial.uncertainty]
    last = last_clocks(run)
    if last is None or not uncertain_ns:
        return []
    least, most = time_words(round(min(uncertain_ns))), time_words(round(max(uncertain_ns)))
    width = f"by {least}" if least == most else f"by {least} to {most}"
    words = (
        f"uncertain {width}, since client and server have two clocks; in the last trial that of {last.server} "
        f"{ahead(last.after.low_ns, last.after.high_ns)} of that of {last.client}"
    )
    return [("One-way delays", f"{words}, which drifts by {last.low_ppm:.3g} to {last.high_ppm:.3g} ppm")]


def last_clocks(run: Run) -> TwoClocks | None:
    """The clocks in the last trial that has them."""
    if not run.manifest.environment.hosts:
        return None
    trials = sorted(run.trials, key=lambda trial: trial.sequence, reverse=True)
    two_clocks = (trial.evidence.clocks for trial in trials if trial.uncertainty)
    return next((clocks for clocks in two_clocks if clocks is not None), None)


def agree(intervals: Sequence[Interval]) -> bool:
    """True if one difference is in all of them."""
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


def _difference(clock_reading: ClockReading, other: ClockReading) -> Interval:
    """Clocks that nobody is known to steer may have drifted between the readings."""
    drift_ns = 0
    if not (clock_reading.is_steered and other.is_steered):
        drift_ns = abs(clock_reading.realtime_ns - other.realtime_ns) * MOST_DRIFT_PPM // 10**6
    return clock_reading.low_ns - other.high_ns - drift_ns, clock_reading.high_ns - other.low_ns + drift_ns


def _words(text: str, by_source: Mapping[str, Interval]) -> str:
    parts = [f"{ahead(low, high)} {_BY.get(name, name)}" for name, (low, high) in by_source.items()]
    verdict = "which agree" if agree(list(by_source.values())) else "which do not agree, so one of them is wrong"
    return f"that of {text} {' and '.join(parts)}, {verdict}"

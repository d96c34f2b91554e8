"""Metrics that need one clock: metrics from the time between a packet's sending on one machine and its arrival on
another."""

from __future__ import annotations

from ..model.metric import METRICS
from ..model.workload import TrialMeasurements

_OF_ONE_CLOCK = [metric for metric in METRICS.values() if metric.needs_one_clock]
"""Between two clocks that are not synchronised, they tell more about the clocks than about the path. So does PDV, the
delay above the least one of the trial: a clock that is 200 ppm fast adds 200 us to it in each second. Of consecutive
packets (IPDV, jitter) the difference of the clocks is the same but for their drift in one gap."""

_NOTE = "one-way delays and PDV are not known: client and server are on two machines, whose clocks are not one"


def needs_one_clock(name: str) -> bool:
    """True if a metric, by its column, or a histogram, by the prefix of its metrics, needs one clock."""
    return any(name == metric.column or metric.name.startswith(f"{name}_") for metric in _OF_ONE_CLOCK)


def drop_one_clock_metrics(measured: TrialMeasurements, why: str | None = None) -> list[str]:
    """Takes these out of what was measured. Returns the note that says so and why, where there were any."""
    has_dropped = False
    for values in (measured.metrics, measured.histograms):
        for name in [name for name in values if needs_one_clock(name)]:
            del values[name]
            has_dropped = True
    return [_NOTE if why is None else f"{_NOTE}: {why}"] if has_dropped else []

"""One-way delay and round trips over links of a known delay. The truth is the delay that the emulator says that it
gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.evidence.emulation import EmulatedWay
from ...model.trial import TrialRecord
from ..metric import CalibratedMetric, DeviationReading, Level, ReadingSource, UncertaintyLimit

DELAYS_NS = (200_000, 1_000_000, 5_000_000, 20_000_000, 50_000_000, 200_000_000)
QUICK = (200_000, 5_000_000, 200_000_000)

REFERENCES_NS = (100_000, 3_000_000)
"""Two delays, which show what a path costs beside the delay of its link. Up to 0.12 ms the emulator watches the
clock from the packet's arrival on, and what it and the nodes need is still in the caches. With longer ones all have
slept in between, and a round trip costs some 15 us more."""

SHORTEST_LONG_NS = 1_000_000
"""Delays from this one on are compared with the long reference."""

ONE_WAY = {"udp-stream": {"datagram": "100B", "packet-rate": "433pps", "duration": "290ms", "warmup": "0ms"}}
ROUND_TRIP = {"ping": {"interval": "4700us", "count": 60}}
"""Round trips follow each other without waiting for answers, so that 200 ms of delay take no longer. None of the
delays is a multiple of the interval, or a packet would be sent when another arrives."""

LIMIT = UncertaintyLimit(absolute=50_000, relative=0.02)
"""50 us, which a busy machine's scheduler takes for itself, and 2 % of longer delays."""


def emulated(record: TrialRecord, direction: str) -> EmulatedWay:
    """Counts of the emulator of the only emulated link, one way. Nothing is known of it where there are several."""
    links = record.evidence.emulation or {}
    return next(iter(links.values())).direction(direction) if len(links) == 1 else EmulatedWay()


def _given_ns(record: TrialRecord, ways: tuple[str, ...]) -> float | None:
    """The mean delay that the emulator gave."""
    delays = [emulated(record, direction).delay for direction in ways]
    means = [delay.mean for delay in delays if delay is not None and delay.mean is not None]
    return float(sum(means)) if len(means) == len(ways) else None


def read(trial: ReadingSource, column: str, ways: tuple[str, ...]) -> DeviationReading | None:
    """The measured delay beside the truth: the delay that the emulator gave, plus what the path cost in the reference
    trial."""
    reference = trial.reference
    measured, given_ns = trial.record.metrics.get(column), _given_ns(trial.record, ways)
    if reference is None or measured is None or given_ns is None:
        return None
    idle_ns, idle_given_ns = reference.metrics.get(column), _given_ns(reference, ways)
    if idle_ns is None or idle_given_ns is None:
        return None
    return DeviationReading(measured=measured, truth=given_ns + idle_ns - idle_given_ns)


def _levels(workload: Mapping[str, Mapping[str, Any]]) -> tuple[Level, ...]:
    return tuple(_level(delay_ns, workload) for delay_ns in sorted((*REFERENCES_NS, *DELAYS_NS)))


def _level(delay_ns: int, workload: Mapping[str, Mapping[str, Any]]) -> Level:
    is_reference = delay_ns in REFERENCES_NS
    short_ns, long_ns = REFERENCES_NS
    reference_ns = long_ns if delay_ns >= SHORTEST_LONG_NS else short_ns
    return Level(
        truth=float(delay_ns),
        link={"delay": f"{delay_ns}ns", "emulator": "user"},
        workload=workload,
        is_quick=is_reference or delay_ns in QUICK,
        is_reference=is_reference,
        reference=None if is_reference else float(reference_ns),
    )


ONE_WAY_DELAY = CalibratedMetric(
    name="one-way-delay",
    label="One-way delay",
    column="link_delay_ns",
    workload="udp-stream",
    metrics=tuple(f"one_way_delay_{statistic}" for statistic in ("mean", "min", "p50", "p99")),
    levels=_levels(ONE_WAY),
    scale="absolute",
    limit=LIMIT,
    read=lambda trial: read(trial, "one_way_delay_mean_ns", ("forward",)),
    note="The truth is the delay that the emulator gave, plus what the path cost beside it in the same block",
    causes="nodes take a few microseconds more or less where packets come in another rhythm",
)

ROUND_TRIP_TIME = CalibratedMetric(
    name="round-trip",
    label="Round-trip time",
    column="link_delay_ns",
    workload="ping",
    metrics=tuple(f"rtt_{statistic}" for statistic in ("mean", "min", "p50", "p90", "p99")),
    levels=_levels(ROUND_TRIP),
    scale="absolute",
    limit=LIMIT,
    read=lambda trial: read(trial, "rtt_mean_ns", ("forward", "reverse")),
    note="The truth is the delay that the emulator gave both ways, plus what the path cost beside it in the same block",
    causes="nodes take a few microseconds more or less where packets come in another rhythm",
)

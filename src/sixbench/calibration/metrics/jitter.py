"""IPDV over links of a known jitter. The truth is the jitter that the emulator says that it gave."""

from __future__ import annotations

from math import sqrt

from ...model.trial import TrialRecord
from ..metric import CalibratedMetric, DeviationReading, Level, ReadingSource, UncertaintyLimit
from .delay import REFERENCES_NS, emulated

JITTERS_NS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)
QUICK = (300_000, 3_000_000, 30_000_000)

STREAM = {"udp-stream": {"datagram": "100B", "packet-rate": "1000pps", "duration": "250ms", "warmup": "0ms"}}


def _read(trial: ReadingSource) -> DeviationReading | None:
    """The path's own variation, from the reference trial, adds to the link's as independent noise does."""
    reference = trial.reference
    if reference is None:
        return None
    given_ns, idle_given_ns = (_given_ns(record) for record in (trial.record, reference))
    measured, idle_ns = (record.metrics.get("ipdv_mean_ns") for record in (trial.record, reference))
    if given_ns is None or idle_given_ns is None or measured is None or idle_ns is None:
        return None
    own_squared = max(0.0, idle_ns**2 - idle_given_ns**2)
    return DeviationReading(measured=measured, truth=sqrt(given_ns**2 + own_squared))


def _given_ns(record: TrialRecord) -> float | None:
    """The mean IPDV that the emulator gave."""
    ipdv = emulated(record, "forward").ipdv
    return None if ipdv is None else ipdv.mean


def _level(jitter_ns: int) -> Level:
    is_reference = jitter_ns == 0
    link = {"delay": f"{2 * jitter_ns or REFERENCES_NS[0]}ns", "emulator": "user"}
    return Level(
        truth=float(jitter_ns),
        link=link if is_reference else link | {"jitter": f"{jitter_ns}ns"},
        workload=STREAM,
        is_quick=is_reference or jitter_ns in QUICK,
        is_reference=is_reference,
        reference=None if is_reference else 0.0,
    )


IPDV = CalibratedMetric(
    name="jitter",
    label="IPDV",
    column="link_jitter_ns",
    workload="udp-stream",
    metrics=("ipdv_mean", "ipdv_p50", "ipdv_p99"),
    levels=tuple(_level(jitter_ns) for jitter_ns in (0, *JITTERS_NS)),
    scale="absolute",
    limit=UncertaintyLimit(absolute=20_000, relative=0.05),
    read=_read,
    causes="the path's own variation adds by squares exactly only where both are normal distributions",
    note="The truth is the differences in delay that the emulator gave from one packet to the next",
)

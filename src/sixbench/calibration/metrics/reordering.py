"""Reordering at random: packets skip the delay of a link, and so overtake the one before them."""

from __future__ import annotations

from ..metric import CalibratedMetric, CountReading, Level, ReadingSource
from .counted import percent

RATIOS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2)
QUICK = (0.003, 0.03, 0.2)

COUNT = 1000
GAP_NS, DELAY_NS = 400_000, 600_000
"""A packet that skips the delay overtakes only the one that left a gap before it. The one before that has been
delivered for 200 us by then, so the machine may be late by as much."""


def read(trial: ReadingSource) -> CountReading | None:
    """A packet is reordered (RFC 4737 section 3.3) if the next one skips the delay and it does not: so runs of skipping
    packets are counted. Their number has a variance of n p q (1 - 3 p q) (A. M. Mood, "The distribution theory of
    runs", Annals of Mathematical Statistics 11, 1940), where independent packets would have n p q (1 - p q)."""
    sent, share = trial.record.client.get("sent"), trial.record.metrics.get("reordered_ratio")
    if not sent or share is None:
        return None
    product = trial.level.truth * (1 - trial.level.truth)
    return CountReading(
        number=round(share * sent),
        of=sent,
        probability=product * (sent - 1) / sent,
        dispersion=(1 - 3 * product) / (1 - product),
    )


REORDERING = CalibratedMetric(
    name="reordering",
    label="Reordering",
    column="link_reorder_ratio",
    workload="udp-stream",
    metrics=("reordered_ratio",),
    levels=tuple(
        Level(
            truth=ratio,
            link={"delay": f"{DELAY_NS}ns", "reorder": percent(ratio), "emulator": "user"},
            workload={"udp-stream": {"datagram": "64B", "packet-rate": f"{10**9 // GAP_NS}pps", "count": COUNT}},
            is_quick=ratio in QUICK,
        )
        for ratio in RATIOS
    ),
    scale="absolute",
    read=read,
    note="The interval of a trial is Wilson's over its packets, with the variance of the number of runs",
)

"""Loss, duplicates and reordering at random: each packet has a known probability."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from ..metric import CalibratedMetric, CountReading, Level, ReadingSource

RATIOS = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1)
QUICK = (0.001, 0.01, 0.1)

EXPECTED = 12
"""The number of packets that are expected to be hit in a trial, within the bounds below. With far fewer, the coverage
of intervals of counts goes in steps."""

LEAST, MOST = 2000, 20_000
RATE_PPS = 20_000


def percent(ratio: float) -> str:
    """A ratio as an experiment writes it."""
    return f"{100 * ratio:.10g}%"


def _stream(ratio: float) -> Mapping[str, Mapping[str, Any]]:
    count = min(MOST, max(LEAST, ceil(EXPECTED / ratio)))
    return {"udp-stream": {"datagram": "64B", "packet-rate": f"{RATE_PPS}pps", "count": count}}


def _share(trial: ReadingSource, column: str) -> CountReading | None:
    sent, share = trial.record.client.get("sent"), trial.record.metrics.get(column)
    if not sent or share is None:
        return None
    return CountReading(number=round(share * sent), of=sent, probability=trial.level.truth)


def _metric(name: str, label: str, key: str, column: str, metrics: tuple[str, ...]) -> CalibratedMetric:
    return CalibratedMetric(
        name=name,
        label=label,
        column=f"link_{name}_ratio",
        workload="udp-stream",
        metrics=metrics,
        levels=tuple(
            Level(
                truth=ratio,
                link={key: percent(ratio), "emulator": "user"},
                workload=_stream(ratio),
                is_quick=ratio in QUICK,
            )
            for ratio in RATIOS
        ),
        scale="absolute",
        read=lambda trial: _share(trial, column),
        note="The interval of a trial is Wilson's over its packets",
    )


LOSS = _metric("loss", "Loss", "loss", "loss_ratio", ("loss_ratio",))
DUPLICATES = _metric("duplicates", "Duplicates", "duplicate", "duplicates_ratio", ("duplicates_ratio",))

"""The registry of quantities that are calibrated."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.errors import UsageError
from ..metric import CalibratedMetric
from .counted import DUPLICATES, LOSS
from .delay import ONE_WAY_DELAY, ROUND_TRIP_TIME
from .fragments import FRAGMENTS
from .jitter import IPDV
from .lists import LISTED
from .path_mtu import PATH_MTU
from .rate import TCP_GOODPUT, UDP_GOODPUT
from .reordering import REORDERING

METRICS: tuple[CalibratedMetric, ...] = (
    TCP_GOODPUT,
    UDP_GOODPUT,
    ONE_WAY_DELAY,
    ROUND_TRIP_TIME,
    IPDV,
    LOSS,
    DUPLICATES,
    REORDERING,
    LISTED,
    PATH_MTU,
    FRAGMENTS,
)

BY_NAME = {metric.name: metric for metric in METRICS}


def chosen(names: Sequence[str]) -> tuple[CalibratedMetric, ...]:
    """The metrics of these names, or all if there are none. Raises `UsageError` for an unknown name."""
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise UsageError(f"no quantity {unknown[0]!r} is calibrated; there are {', '.join(BY_NAME)}")
    return tuple(metric for metric in METRICS if not names or metric.name in names)

"""The registry: one file for each quantity that is calibrated."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.errors import UsageError
from ..metric import CalibratedMetric
from .rate import TCP_GOODPUT, UDP_GOODPUT

METRICS: tuple[CalibratedMetric, ...] = (TCP_GOODPUT, UDP_GOODPUT)

BY_NAME = {metric.name: metric for metric in METRICS}


def chosen(names: Sequence[str]) -> tuple[CalibratedMetric, ...]:
    """Those of these names; all where there are none. Raises `UsageError`."""
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise UsageError(f"no quantity {unknown[0]!r} is calibrated; there are {', '.join(BY_NAME)}")
    return tuple(metric for metric in METRICS if not names or metric.name in names)

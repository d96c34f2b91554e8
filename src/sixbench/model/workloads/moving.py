"""Streams whose client may lose its address: their parameters, results and metrics."""

from __future__ import annotations

from typing import Any

from ..parameter import Parameter
from ..quantity import duration
from ..workload import TrialMeasurements

MIGRATE = Parameter(
    name="migrate",
    kind="flag",
    doc="when the client loses its address, the connection goes on from its next one (needs an event with takes)",
    default=False,
)
RECONNECT = Parameter(
    name="reconnect",
    kind="flag",
    doc="when the client loses its address, a new connection from its next one carries on the stream (needs an event "
    "with takes)",
    default=False,
)

OUTAGE = duration("outage", "Longest time without a byte when the client moved", "RFC 9000 section 9")


def outage(measured: TrialMeasurements, receiver: Any) -> None:
    """Adds the longest outage of the moves that a receiver saw, if there were any."""
    moves = receiver.get("moves")
    if moves:
        measured.metrics["outage_ns"] = float(max(move["outage_ns"] for move in moves))

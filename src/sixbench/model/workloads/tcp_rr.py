"""`tcp-rr`: request and response over one TCP connection, one in flight."""

from __future__ import annotations

from dataclasses import replace

from ..parameter import Parameter
from ..workload import WorkloadKind
from .common import (
    CONGESTION,
    COUNT,
    DURATION,
    INTERVAL,
    MESSAGE,
    MSS,
    NODELAY,
    RCVBUF,
    SHORT_WARMUP,
    SNDBUF,
    TIMEOUT,
    of_one_length,
)
from .request_response import HEADLINE, METRICS, RESPONSE, results, summarise, traffic

KIND = WorkloadKind(
    name="tcp-rr",
    title="TCP request and response",
    transport="tcp",
    doc="Request and response over one TCP connection, one in flight (closed loop).",
    parameters=(
        MESSAGE,
        RESPONSE,
        DURATION,
        COUNT,
        SHORT_WARMUP,
        TIMEOUT,
        replace(NODELAY, default=True),
        SNDBUF,
        RCVBUF,
        MSS,
        CONGESTION,
        Parameter(
            name="busy-poll",
            kind="flag",
            doc="both sides poll their sockets instead of sleeping: it takes a core on each side, and saves the "
            "wake-ups",
            default=False,
        ),
        INTERVAL,
    ),
    primary="rtt_p50",
    headline=HEADLINE,
    metrics=METRICS,
    distributions=("rtt",),
    check=of_one_length(DURATION, COUNT),
    summarise=summarise,
    traffic=traffic,
    results=results,
)

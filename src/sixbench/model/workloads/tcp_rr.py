"""`tcp-rr`: request and response over one TCP connection, one in flight."""

from __future__ import annotations

from dataclasses import replace

from ..topology import Family
from ..workload import Parameter, Params, WorkloadKind
from .common import (
    CONGESTION,
    COUNT,
    DURATION,
    INTERVAL,
    MESSAGE,
    MSS,
    NODELAY,
    RCVBUF,
    SNDBUF,
    TIMEOUT,
    WARMUP,
    one_length,
)
from .request_response import HEADLINE, METRICS, summarise, traffic

RESPONSE = replace(
    MESSAGE, name="response", column="response_bytes", doc="size of the answer", default="the size of the message"
)


def _check(params: Params, families: frozenset[Family]) -> str | None:
    return one_length(params, "duration_ns", "count")


KIND = WorkloadKind(
    name="tcp-rr",
    transport="tcp",
    doc="Request and response over one TCP connection, one in flight (closed loop).",
    parameters=(
        MESSAGE,
        RESPONSE,
        DURATION,
        COUNT,
        WARMUP,
        TIMEOUT,
        replace(NODELAY, default="true"),
        SNDBUF,
        RCVBUF,
        MSS,
        CONGESTION,
        Parameter(
            name="busy-poll",
            column="busy_poll",
            kind="flag",
            doc="both sides poll their sockets instead of sleeping: it takes a core on each side, and saves the "
            "wake-ups",
            default="false",
        ),
        INTERVAL,
    ),
    primary="rtt_p50",
    headline=HEADLINE,
    metrics=METRICS,
    check=_check,
    summarise=summarise,
    traffic=traffic,
)

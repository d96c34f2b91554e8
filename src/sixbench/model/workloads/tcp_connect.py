"""`tcp-connect`: how long a TCP connection takes to open."""

from __future__ import annotations

from ..parameter import Params
from ..workload import Result, Traffic, WorkloadKind
from .short_connections import PARAMETERS, check, gap_ns, results, summarise, traffic


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    return traffic(0, client)


KIND = WorkloadKind(
    name="tcp-connect",
    title="TCP connection",
    transport="tcp",
    doc="Open a socket, connect, close: so many at once, or so many each second.",
    parameters=PARAMETERS,
    primary="connect_p50",
    headline=("connect_p50", "connect_p99", "transactions_rate", "cpu_busy"),
    metrics=("connect_mean", "connect_p50", "connect_p99", "transactions_rate"),
    check=check,
    summarise=summarise,
    traffic=_traffic,
    results=results,
    gap_ns=gap_ns,
)

"""`tcp-crr`: the web client of the papers: connect, one byte there, one byte back, close."""

from __future__ import annotations

from ..parameter import Params
from ..workload import Result, Traffic, WorkloadKind
from .short_connections import PARAMETERS, check, gap_ns, results, summarise, traffic


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    return traffic(1, client)


KIND = WorkloadKind(
    name="tcp-crr",
    title="TCP connection, request and response",
    transport="tcp",
    doc="Open a socket, connect, send one byte, get one byte back, close: so many at once, or so many each second.",
    parameters=PARAMETERS,
    primary="transactions_rate",
    headline=("transactions_rate", "transaction_p50", "connect_p50", "cpu_busy"),
    metrics=(
        "transactions_rate",
        "transaction_mean",
        "transaction_p50",
        "transaction_p99",
        "connect_mean",
        "connect_p50",
        "connect_p99",
    ),
    check=check,
    summarise=summarise,
    traffic=_traffic,
    results=results,
    gap_ns=gap_ns,
)

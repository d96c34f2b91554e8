"""What `tcp-connect` and `tcp-crr` share."""

from __future__ import annotations

from ..topology import Family
from ..workload import Measured, Params, Result, Traffic
from .common import CONGESTION, COUNT, DURATION, INTERVAL, TIMEOUT, WARMUP, histogram, one_length, rate

PARAMETERS = (DURATION, COUNT, WARMUP, TIMEOUT, CONGESTION, INTERVAL)


def check(params: Params, families: frozenset[Family]) -> str | None:
    """What is wrong with the parameters."""
    return one_length(params, "duration_ns", "count")


def summarise(params: Params, client: Result, server: Result) -> Measured:
    """Connections per second, and how long each took."""
    measured = Measured()
    histogram(measured, client, "connect", "connect", "mean", "p50", "p99")
    histogram(measured, client, "transaction", "transaction", "mean", "p50", "p99")
    transactions = client["transactions"]
    transactions_rate = rate(transactions, client["measured_ns"])
    if transactions and transactions_rate is not None:
        measured.metrics["transactions_rate_per_s"] = transactions_rate
    else:
        measured.invalid.append("no connection was completed")
    failed = {reason: count for reason, count in (client.get("failed") or {}).items() if count}
    if failed:
        measured.notes.append(
            "connections that failed: " + ", ".join(f"{count} {reason}" for reason, count in failed.items())
        )
    if client.get("series"):
        measured.series["client"] = client["series"]
    return measured


def traffic(payload_bytes: int, client: Result) -> Traffic:
    """Each connection carries so many bytes each way."""
    carried = payload_bytes * int(client["transactions"])
    return Traffic(forward_payload_bytes=carried, reverse_payload_bytes=carried)

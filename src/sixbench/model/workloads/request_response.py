"""What `tcp-rr` and `udp-rr` share."""

from __future__ import annotations

from dataclasses import replace

from ..parameter import Params
from ..reason import ReasonKind
from ..workload import Measured, Result, Traffic
from .common import MESSAGE, histogram, rate

RESPONSE = replace(
    MESSAGE,
    name="response",
    column="response_bytes",
    doc="size of the answer",
    identifying=False,
    default=None,
    unless_given="the size of the message",
)

STATISTICS = ("mean", "min", "p50", "p90", "p99", "p999", "stdev")

METRICS = ("transactions_rate", *(f"rtt_{s}" for s in STATISTICS), "rtt_jitter_mean", "rtt_jitter_p99")

HEADLINE = ("rtt_p50", "rtt_p99", "transactions_rate", "cpu_busy")


def summarise(params: Params, client: Result, server: Result) -> Measured:
    """Transactions per second and the round-trip time's statistics."""
    measured = Measured()
    histogram(measured, client, "rtt", "rtt", *STATISTICS)
    histogram(measured, client, "rtt_jitter", "rtt_jitter", "mean", "p99")
    transactions = client["transactions"]
    transactions_rate = rate(transactions, client["measured_ns"])
    if transactions and transactions_rate is not None:
        measured.metrics["transactions_rate_per_s"] = transactions_rate
    else:
        measured.reject(ReasonKind.NOTHING_ARRIVED, "no transaction was completed")
    if client.get("series"):
        measured.series["client"] = client["series"]
    return measured


def traffic(params: Params, client: Result, server: Result) -> Traffic:
    """Each transaction is one message there and one back."""
    transactions = int(client["transactions"])
    request = int(MESSAGE.of(params))
    return Traffic(
        forward_payload_bytes=transactions * request,
        reverse_payload_bytes=transactions * int(params.get(RESPONSE.column, request)),
        messages=2 * (transactions + int(client.get("warmup_transactions", 0))),
    )

"""Parts that `tcp-rr` and `udp-rr` share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..parameter import Params
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, nothing_of_its_own
from .common import MESSAGE, histogram, transactions

if TYPE_CHECKING:
    from ..form import Form

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


def summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    """Transactions per second and the round-trip time's statistics."""
    measured = TrialMeasurements()
    histogram(measured, client, "rtt", "rtt", *STATISTICS)
    histogram(measured, client, "rtt_jitter", "rtt_jitter", "mean", "p99")
    transactions(measured, client, "transaction")
    return measured


def traffic(params: Params, client: Result, server: Result) -> Traffic:
    """Each transaction is one message there and one back."""
    completed = int(client["transactions"])
    request = int(MESSAGE.of(params))
    return Traffic(
        forward_payload_bytes=completed * request,
        reverse_payload_bytes=completed * int(params.get(RESPONSE.column, request)),
        messages=2 * (completed + int(client.get("warmup_transactions", 0))),
    )


def results(side: Side, params: Params) -> tuple[Expected, ...]:
    """Expected result of either side."""
    return (Expected(form=_client()),) if side == "client" else nothing_of_its_own(side, params)


@cache
def _client() -> type[Form]:
    from ..form import ABSENT, Counts, Natural
    from ..result_form import Histogram, SideResult

    class RoundTrips(SideResult):
        """The client of requests and responses."""

        transactions: Natural
        warmup_transactions: Natural = ABSENT
        measured_ns: Natural
        rtt: Histogram
        rtt_jitter: Histogram
        lost: Natural = ABSENT
        refused: Natural = ABSENT
        errors: Counts = ABSENT

    return RoundTrips

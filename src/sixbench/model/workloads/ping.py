"""`ping`: ICMP and ICMPv6 echo."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..parameter import Parameter, Params
from ..reason import Excuse, ReasonKind
from ..server import ServerUse
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind, nothing_of_its_own
from .common import (
    COUNT,
    DF,
    DURATION,
    INTERVAL,
    SECOND_NS,
    SHORT_WARMUP,
    TIMEOUT,
    histogram,
    of_one_length,
    refusal_keys,
    refusals,
)
from .request_response import STATISTICS

if TYPE_CHECKING:
    from ..form import Form

PAYLOAD = Parameter(
    name="payload", kind="size", doc="data of the echo request", minimum=24, maximum=65507, identifying=True, default=56
)
LEAST_INTERVAL_NS = SECOND_NS // 5
"""The shortest interval towards a server of others, which ping(8) allows anybody."""
PROBE_INTERVAL = replace(
    INTERVAL, doc="time from one echo request to the next", minimum=10**5, length=False, default=SECOND_NS // 100
)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    histogram(measured, client, "rtt", "rtt", *STATISTICS)
    histogram(measured, client, "rtt_jitter", "rtt_jitter", "mean", "p99")
    has_policy = refusals(measured, params, client, "echo requests")
    if not client["sent"]:
        if not measured.metrics.get("refused_ratio"):
            measured.reject(ReasonKind.NOTHING_SENT, "no echo request was sent")
        return measured
    measured.metrics["loss_ratio"] = client["lost"] / client["sent"]
    if not client["received"]:
        measured.reject(ReasonKind.NOTHING_ARRIVED, f"none of {client['sent']} echo requests was answered")
        if has_policy:
            measured.excuse(Excuse.DF_POLICY)
    return measured


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    payload = int(PAYLOAD.of(params)) * int(client["received"])
    messages = 2 * int(client["received"])
    return Traffic(forward_payload_bytes=payload, reverse_payload_bytes=payload, messages=messages)


@cache
def _client() -> type[Form]:
    from ..form import ABSENT, Counts, Natural
    from ..result_form import Histogram, SideResult

    class PingClient(SideResult):
        """The sender of echo requests."""

        sent: Natural
        received: Natural
        lost: Natural
        rtt: Histogram
        rtt_jitter: Histogram
        refused: Natural = ABSENT
        errors: Counts = ABSENT
        send_errors: Counts = ABSENT

    return PingClient


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    if side == "server":
        return nothing_of_its_own(side, params)
    return (Expected(form=_client(), keys=refusal_keys(params)),)


KIND = WorkloadKind(
    name="ping",
    title="ICMP echo",
    transport="icmp",
    needs_icmp=True,
    doc="ICMP (RFC 792) and ICMPv6 (RFC 4443) echo on an absolute schedule.",
    parameters=(
        PAYLOAD,
        PROBE_INTERVAL,
        DURATION,
        COUNT,
        SHORT_WARMUP,
        replace(TIMEOUT, default=SECOND_NS),
        DF,
    ),
    primary="rtt_p50",
    headline=("rtt_p50", "rtt_p99", "loss_ratio"),
    metrics=(*(f"rtt_{s}" for s in STATISTICS), "rtt_jitter_mean", "rtt_jitter_p99", "loss_ratio", "refused_ratio"),
    distributions=("rtt",),
    check=of_one_length(DURATION, COUNT),
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    gap_ns=lambda params: float(PROBE_INTERVAL.of(params)),
    to_servers=ServerUse(
        parameters=("payload", "interval", "count", "timeout"),
        defaults={"count": 5, PROBE_INTERVAL.column: LEAST_INTERVAL_NS},
        first=2,
        least_interval_ns=LEAST_INTERVAL_NS,
    ),
)

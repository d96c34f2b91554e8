"""`udp-rr`: request and response in UDP datagrams, one in flight."""

from __future__ import annotations

from dataclasses import replace

from ..parameter import Parameter, Params, Wrong
from ..topology import Family
from ..workload import Result, TrialMeasurements, WorkloadKind
from .common import COUNT, DF, DURATION, INTERVAL, MESSAGE, RCVBUF, SHORT_WARMUP, SNDBUF, TIMEOUT, one_length, udp_size
from .request_response import HEADLINE, METRICS, RESPONSE, results, summarise, traffic

REQUEST = replace(
    MESSAGE, doc="UDP payload of the request, from 32B to 65507B over IPv4 and 65527B over IPv6", maximum=2**20
)
ANSWER = replace(RESPONSE, doc="UDP payload of the answer", maximum=2**20)
BUSY_POLL = Parameter(
    name="busy-poll",
    kind="flag",
    doc="both sides poll for the next datagram instead of sleeping until it arrives; takes two cores",
    default=False,
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    return (
        udp_size(params, REQUEST, families) or udp_size(params, ANSWER, families) or one_length(params, DURATION, COUNT)
    )


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = summarise(params, client, server)
    lost, transactions = client.get("lost", 0), client["transactions"]
    if transactions + lost:
        measured.metrics["loss_ratio"] = lost / (transactions + lost)
    refused = client.get("refused", 0)
    if transactions + lost + refused and "refused" in client:
        measured.metrics["refused_ratio"] = refused / (transactions + lost + refused)
    if refused:
        measured.notes.append(f"{refused} requests were refused by the client's kernel: too large for the path")
    return measured


KIND = WorkloadKind(
    name="udp-rr",
    title="UDP request and response",
    transport="udp",
    doc="Request and response in UDP datagrams, one in flight (closed loop). A request that is not answered in time "
    "counts as lost.",
    parameters=(REQUEST, ANSWER, DURATION, COUNT, SHORT_WARMUP, TIMEOUT, SNDBUF, RCVBUF, DF, BUSY_POLL, INTERVAL),
    primary="rtt_p50",
    headline=(*HEADLINE, "loss_ratio"),
    metrics=(*METRICS, "loss_ratio", "refused_ratio"),
    distributions=("rtt",),
    check=_check,
    summarise=_summarise,
    traffic=traffic,
    results=results,
)

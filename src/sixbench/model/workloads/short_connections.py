"""Parts that `tcp-connect` and `tcp-crr` share."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..parameter import Parameter, Params
from ..quantity import Metric
from ..reason import ReasonKind
from ..server import ServerUse
from ..workload import (
    CONNECTION_PACKETS,
    Expected,
    Result,
    Side,
    Traffic,
    TrialMeasurements,
    WorkloadKind,
    nothing_of_its_own,
)
from .common import (
    CONGESTION,
    COUNT,
    DURATION,
    INTERVAL,
    SHORT_WARMUP,
    TIMEOUT,
    gap_by,
    histogram,
    in_words,
    is_behind,
    of_one_length,
    transactions,
)

if TYPE_CHECKING:
    from ..form import Form

RATE = Parameter(
    name="rate",
    column="rate_per_s",
    kind="count",
    doc=(
        "connections to begin each second, whether or not earlier ones have ended (open loop); times count "
        "from the moment at which each was due"
    ),
    minimum=1,
    maximum=10**7,
)
PARAMETERS = (
    DURATION,
    COUNT,
    SHORT_WARMUP,
    Parameter(
        name="in-flight",
        kind="count",
        doc="connections at the same time: the next one begins when one ends; with a rate, at most this many",
        minimum=1,
        maximum=8192,
        default=1,
        unless_given="1; with a rate 1024",
    ),
    RATE,
    Parameter(
        name="first-close",
        kind="choice",
        doc="end that closes first and keeps the connection in TIME-WAIT: the client, or the server; or the client "
        "closes by a reset",
        choices=("client", "server", "reset"),
        default="client",
    ),
    TIMEOUT,
    CONGESTION,
    INTERVAL,
)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    histogram(measured, client, "connect", "connect", "mean", "p50", "p99")
    histogram(measured, client, "transaction", "transaction", "mean", "p50", "p99")
    transactions(measured, client, "connection")
    failed = {reason: count for reason, count in (client.get("failed") or {}).items() if count}
    if failed:
        measured.notes.append(f"connections that failed: {in_words(failed)}")
    _schedule(measured, params, client)
    return measured


def _schedule(measured: TrialMeasurements, params: Params, client: Result) -> None:
    """Checks whether the connections began when they were due."""
    rate_per_s, attempts = params.get(RATE.column), client.get("attempts", 0)
    if not isinstance(rate_per_s, int) or not attempts:
        return
    if client.get("lateness", {}).get("count"):
        measured.histograms["start_lateness"] = dict(client["lateness"])
    offered_s = client["offered_ns"] / 1e9
    unstarted, held_back = client.get("unstarted", 0), client.get("held_back", 0)
    if unstarted or is_behind(attempts - 1, rate_per_s, offered_s):
        words = f"{attempts} connections began in {offered_s:.3g} s where {rate_per_s}/s were asked for"
        if held_back:
            words += f"; {held_back} of them had to wait until another one in flight ended: raise in-flight"
        measured.reject(ReasonKind.TESTER_LIMITED, words)
    elif held_back:
        measured.notes.append(f"{held_back} connections had to wait until another one in flight ended")


def _traffic(payload_bytes: int, client: Result) -> Traffic:
    """Each connection carries so many bytes each way."""
    carried = payload_bytes * int(client["transactions"])
    connections = int(client["transactions"]) + int(client.get("warmup_transactions", 0))
    messages = CONNECTION_PACKETS * connections
    return Traffic(forward_payload_bytes=carried, reverse_payload_bytes=carried, messages=messages)


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    if side == "server":
        return nothing_of_its_own(side, params)
    return (Expected(form=_client(), keys=("attempts", "offered_ns") if RATE.column in params else ()),)


@cache
def _client() -> type[Form]:
    from ..form import ABSENT, Counts, Natural
    from ..result_form import Histogram, SideResult

    class Connections(SideResult):
        """The client that opens connections."""

        transactions: Natural
        warmup_transactions: Natural = ABSENT
        measured_ns: Natural
        connect: Histogram
        transaction: Histogram = ABSENT
        failed: Counts = ABSENT
        attempts: Natural = ABSENT
        lateness: Histogram = ABSENT
        offered_ns: Natural = ABSENT
        held_back: Natural = ABSENT
        unstarted: Natural = ABSENT

    return Connections


def kind_of(
    *,
    name: str,
    title: str,
    doc: str,
    payload_bytes: int,
    headline: tuple[str, ...],
    metrics: tuple[str, ...],
    own_metrics: tuple[Metric, ...] = (),
    to_servers: ServerUse | None = None,
) -> WorkloadKind:
    """The workload whose connections carry so many bytes each way. Its first headline metric is its primary one."""
    return WorkloadKind(
        name=name,
        title=title,
        transport="tcp",
        doc=doc,
        parameters=PARAMETERS,
        primary=headline[0],
        headline=headline,
        metrics=metrics,
        own_metrics=own_metrics,
        distributions=("connect", "transaction") if "transaction_p50" in metrics else ("connect",),
        check=of_one_length(DURATION, COUNT),
        summarise=_summarise,
        traffic=lambda params, client, server: _traffic(payload_bytes, client),
        results=_results,
        gap_ns=gap_by(RATE),
        to_servers=to_servers,
    )

"""`connections`: connections that are opened, held and asked at the end, as many as the path's translators carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..parameter import Parameter, Params, Wrong
from ..quantity import Direction, Metric, metric
from ..reason import ReasonKind
from ..topology import Family
from ..workload import CONNECTION_PACKETS, Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .common import CONGESTION, COUNT, SECOND_NS, TIMEOUT, gap_by, histogram, in_words, is_behind, rate
from .short_connections import RATE as SHORT_RATE

if TYPE_CHECKING:
    from ..form import Form

MAX_COUNT = 10**6
REQUEST_BYTES, ANSWER_BYTES = 17, 2
"""The message that a connection has to answer at the end, and the answer (docs/protocol.md)."""
QUICK_COUNT = 1000
SESSION_MEMORY, TEARDOWN_RATE = "session_memory", "teardown_rate"
"""The metrics that follow from the evidence of nodes that track connections."""
CLIENT_PORTS = 64_000
"""The ports of an address, from 1024 on, less some that others may have."""

TIMED_OUT, REFUSED = frozenset({"timeout", "ETIMEDOUT"}), frozenset({"ECONNREFUSED", "ECONNRESET"})
"""The reasons of failures, by what a user calls them. A reset in the place of the handshake's answer refuses, too."""
TESTERS_OWN = frozenset({"EADDRNOTAVAIL", "EADDRINUSE", "EMFILE", "ENFILE", "ENOMEM"})
"""Those for which the client itself has no port, no descriptor or no memory left."""

TRANSPORT = Parameter(
    name="transport",
    kind="choice",
    choices=("tcp", "udp"),
    doc="kind of a connection: one of TCP, or datagrams of UDP between the same addresses and ports",
    identifying=True,
    default="tcp",
)
NUMBER = replace(
    COUNT, doc="number of connections to open", maximum=MAX_COUNT, length=False, identifying=True, default=QUICK_COUNT
)
RATE = replace(
    SHORT_RATE,
    doc=(
        "connections to begin each second, whether or not earlier ones succeed (open loop); open connections "
        "are asked at this rate, too"
    ),
    unless_given="as fast as they go, with at most 256 of the last 100 ms unanswered",
)
HOLD = Parameter(
    name="hold",
    kind="duration",
    doc="silence between the opening of the last connection and the requests",
    minimum=0,
    maximum=24 * 3600 * SECOND_NS,
    length=True,
    default=0,
)
SERVER_PORTS = Parameter(
    name="server-ports",
    kind="count",
    doc=(
        "number of ports of the server to which they go in turn; for each of them, Linux can use all ports "
        "of a translator again"
    ),
    minimum=1,
    maximum=128,
    unless_given="one for each 10000 connections",
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    most = CLIENT_PORTS * int(params.get(SERVER_PORTS.column, 128))
    if int(NUMBER.of(params)) <= most:
        return None
    words = f"{NUMBER.of(params)} connections need more: a client has {CLIENT_PORTS} ports for each port of the server"
    return Wrong(SERVER_PORTS.name, f"{words}; leave it out for as many as are needed")


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    histogram(measured, client, "connect", "connect", "mean", "p50", "p99")
    established, failed = client["established"], client["failed"]
    measured.metrics["connections_established_count"] = float(established)
    measured.metrics["connections_alive_count"] = float(client["alive"])
    measured.metrics["connections_refused_count"] = float(_sum(failed, REFUSED))
    measured.metrics["connections_timed_out_count"] = float(_sum(failed, TIMED_OUT))
    establishing = rate(established, client.get("establishing_ns", 0))
    if not established:
        measured.reject(ReasonKind.NOTHING_ARRIVED, f"none of {client['attempts']} connections was established")
    elif establishing is not None:
        measured.metrics["establishment_rate_per_s"] = establishing
    testers_failures = {reason: count for reason, count in failed.items() if reason in TESTERS_OWN}
    if testers_failures:
        words = f"the client could not begin all connections: {in_words(testers_failures)}"
        measured.reject(ReasonKind.TESTER_LIMITED, words)
    others = failed.keys() - testers_failures.keys()
    if others:
        measured.notes.append(f"connections that failed: {in_words({item: failed[item] for item in sorted(others)})}")
    if client["lost"]:
        measured.notes.append(f"connections that were not alive at the end: {in_words(client['lost'])}")
    _schedule(measured, params, client)
    return measured


def _sum(failed: Mapping[str, int], reasons: frozenset[str]) -> int:
    return sum(count for reason, count in failed.items() if reason in reasons)


def _schedule(measured: TrialMeasurements, params: Params, client: Result) -> None:
    """Checks whether the connections began when they were due."""
    rate_per_s = params.get(RATE.column)
    if not isinstance(rate_per_s, int):
        return
    measured.histograms["start_lateness"] = dict(client["lateness"])
    offered_s = client["offered_ns"] / 1e9
    if is_behind(client["attempts"] - 1, rate_per_s, offered_s):
        words = f"{client['attempts']} connections began in {offered_s:.3g} s where {rate_per_s}/s were asked for"
        measured.reject(ReasonKind.TESTER_LIMITED, f"{words}; ask for fewer, or leave the rate out")


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    """Each connection that was alive carried the message and its answer; over UDP that is how they are opened, too."""
    alive, established = int(client["alive"]), int(client["established"])
    is_udp = TRANSPORT.of(params) == "udp"
    exchanges = alive + (established if is_udp else 0)
    opening = 0 if is_udp else CONNECTION_PACKETS * established
    return Traffic(
        forward_payload_bytes=REQUEST_BYTES * exchanges,
        reverse_payload_bytes=ANSWER_BYTES * exchanges,
        messages=opening + 2 * exchanges,
        fills_tables=True,
    )


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    keys = ("lateness", "offered_ns") if side == "client" and RATE.column in params else ()
    return (Expected(form=_forms()[side], keys=keys),)


@cache
def _forms() -> dict[Side, type[Form]]:
    from pydantic import model_validator

    from ..form import ABSENT, Counts, Natural
    from ..result_form import Histogram, SideResult

    class HeldConnections(SideResult):
        """The client that opens connections and holds them."""

        attempts: Natural
        established: Natural
        failed: Counts
        alive: Natural
        lost: Counts
        connect: Histogram
        check: Histogram
        establishing_ns: Natural = ABSENT
        offered_ns: Natural = ABSENT
        lateness: Histogram = ABSENT

        @model_validator(mode="after")
        def _adds_up(self) -> HeldConnections:
            if self.attempts != self.established + sum(self.failed.values()):
                raise ValueError("the attempts are not those that were established and those that failed")
            if self.established != self.alive + sum(self.lost.values()):
                raise ValueError("the connections are not those that were alive and those that were lost")
            return self

    class AcceptedConnections(SideResult):
        """The server of connections."""

        accepted: Natural
        answered: Natural

    return {"client": HeldConnections, "server": AcceptedConnections}


def _count_of(name: str, better: Direction, label: str) -> Metric:
    return metric(
        f"connections_{name}", "count", better, label, "RFC 3511 section 5.2", unit="connections", scale="difference"
    )


KIND = WorkloadKind(
    name="connections",
    title="Connections held",
    transport="tcp",
    doc="Open connections of TCP or UDP and keep them open; each has to answer at the end. It is for the state of "
    "translators: the number of connections that they carry, and the fate of those that are too many.",
    parameters=(TRANSPORT, NUMBER, RATE, HOLD, SERVER_PORTS, TIMEOUT, CONGESTION),
    primary="connections_alive",
    headline=("connections_alive", "establishment_rate", "connect_p50", "connections_timed_out", SESSION_MEMORY),
    metrics=(
        *("connections_established", "connections_alive", "connections_refused", "connections_timed_out"),
        *("establishment_rate", "connect_mean", "connect_p50", "connect_p99", SESSION_MEMORY, TEARDOWN_RATE),
    ),
    own_metrics=(
        _count_of("established", "higher", "Connections established"),
        _count_of("alive", "higher", "Connections alive at the end"),
        _count_of("refused", "lower", "Connections refused"),
        _count_of("timed_out", "lower", "Connections that timed out"),
        metric("establishment_rate", "per_s", "higher", "Connections established per second", "RFC 3511 section 5.3"),
        metric(TEARDOWN_RATE, "per_s", "higher", "Tracked connections forgotten per second", "RFC 9693"),
        metric(
            SESSION_MEMORY,
            "bytes",
            "lower",
            "Memory of a session where connections are tracked",
            "/proc/slabinfo (nf_conntrack)",
        ),
    ),
    distributions=("connect",),
    check=_check,
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    gap_ns=gap_by(RATE),
    quick_count=QUICK_COUNT,
)

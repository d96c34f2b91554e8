"""`tls`: how long a handshake of TLS takes, and its bytes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..parameter import Params
from ..programs import CLIENT, SERVER, checked, without_programs
from ..workload import CONNECTION_PACKETS, Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .applications import (
    CHAIN,
    HANDSHAKE_TIMES,
    IN_FLIGHT,
    SESSION,
    agreed,
    failures,
    handshake_metrics,
    of_program,
    same_at_both_ends,
)
from .common import COUNT, DURATION, SHORT_WARMUP, TIMEOUT, histogram, of_one_length, transactions

if TYPE_CHECKING:
    from ..form import Form

VERSION = "TLSv1_3"
"""TLS 1.3 (RFC 8446), as rustls names it."""


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    if CLIENT.column in params:
        return of_program(params, client, server, "handshake")
    measured = TrialMeasurements()
    for name in ("connect", "handshake", "transaction"):
        histogram(measured, client, name, name, "mean", "p50", "p99")
    handshake_metrics(measured, client)
    transactions(measured, client, "handshake")
    agreed(measured, client["versions"], VERSION, "the version of TLS")
    agreed(measured, client["kinds"], str(SESSION.of(params)), "the kind of handshake")
    same_at_both_ends(measured, client, server)
    failures(measured, client, "handshakes")
    return measured


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    if CLIENT.column in params:
        return Traffic(messages=CONNECTION_PACKETS * int(server["transactions"]))
    connections = int(client["transactions"]) + int(client["warmup_transactions"])
    return Traffic(
        forward_payload_bytes=int(client["sent_bytes"]),
        reverse_payload_bytes=int(client["received_bytes"]),
        messages=CONNECTION_PACKETS * connections,
    )


@cache
def _forms() -> dict[Side, type[Form]]:
    from pydantic import model_validator

    from ..form import Counts, Natural
    from ..result_form import Histogram, SideResult

    class TlsClient(SideResult):
        """The client that shakes hands."""

        transactions: Natural
        warmup_transactions: Natural
        failed: Counts
        measured_ns: Natural
        connect: Histogram
        handshake: Histogram
        transaction: Histogram
        handshake_sent_bytes: Natural
        handshake_received_bytes: Natural
        sent_bytes: Natural
        received_bytes: Natural
        versions: Counts
        ciphers: Counts
        kinds: Counts

        @model_validator(mode="after")
        def _adds_up(self) -> TlsClient:
            for counts in (self.versions, self.ciphers, self.kinds):
                if sum(counts.values()) != self.transactions:
                    raise ValueError("what was agreed on is not as many as the handshakes")
            return self

    class TlsServer(SideResult):
        """The server of handshakes."""

        transactions: Natural
        failed: Natural

    return {"client": TlsClient, "server": TlsServer}


KIND = WorkloadKind(
    name="tls",
    title="TLS handshake",
    is_proper_name=True,
    transport="tcp",
    doc="Connect, shake hands by TLS 1.3, close: a given number at once.",
    parameters=(SESSION, CHAIN, IN_FLIGHT, DURATION, COUNT, SHORT_WARMUP, TIMEOUT, SERVER, CLIENT),
    primary="handshake_p50",
    headline=("handshake_p50", "handshake_p99", "transactions_rate", "handshake_received"),
    metrics=(
        *("connect_mean", "connect_p50", "connect_p99"),
        *(quantity.name for quantity in HANDSHAKE_TIMES),
        *("transaction_mean", "transaction_p50", "transaction_p99", "transactions_rate"),
        *("handshake_sent", "handshake_received"),
    ),
    distributions=("connect", "handshake", "transaction"),
    check=checked("tls", of_one_length(DURATION, COUNT)),
    agent_params=without_programs,
    summarise=_summarise,
    traffic=_traffic,
    results=lambda side, params: (Expected(form=_forms()[side]),),
)

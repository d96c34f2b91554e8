"""`tls`: how long a handshake of TLS takes, and its bytes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..expectation import Expectation, TransactionTraffic
from ..parameter import Parameter, Params, Wrong
from ..programs import CLIENT, SERVER, checked, foretold, without_programs
from ..programs.end import PROGRAM
from ..quantity import FAILURES, metric
from ..reason import ReasonKind
from ..server import ServerUse
from ..topology import Family
from ..workload import CONNECTION_PACKETS, Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .applications import (
    CHAIN,
    FIRST_BYTE_TIMES,
    HANDSHAKE_TIMES,
    IN_FLIGHT,
    SESSION,
    agreed,
    failures,
    of_program,
    same_at_both_ends,
)
from .common import COUNT, DURATION, SHORT_WARMUP, TIMEOUT, histogram, one_length, transactions
from .tls_messages import over_tcp

if TYPE_CHECKING:
    from ..form import Form

VERSION = "TLSv1_3"
"""TLS 1.3 (RFC 8446), as rustls names it."""

EARLY_DATA = Parameter(
    name="early-data",
    kind="flag",
    doc="a byte in the first flight of a resumed session, which the server answers with its own first flight (RFC 8446 "
    "section 2.3)",
    identifying=True,
    default=False,
)
EARLY_KIND = "early-data"
"""The kind of a handshake whose early data the server took."""


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    if CLIENT.column in params:
        return of_program(params, client, server, "handshake")
    measured = TrialMeasurements()
    for name in ("connect", "handshake", "transaction", "first_byte"):
        histogram(measured, client, name, name, "mean", "p50", "p99")
    _add_bytes(measured, client)
    transactions(measured, client, "handshake")
    agreed(measured, client["versions"], VERSION, "the version of TLS")
    kind = EARLY_KIND if EARLY_DATA.of(params) else str(SESSION.of(params))
    agreed(measured, client["kinds"], kind, "the kind of handshake")
    same_at_both_ends(measured, client, server)
    _early_at_both_ends(measured, client, server)
    failures(measured, client, "handshakes")
    return measured


def _add_bytes(measured: TrialMeasurements, client: Result) -> None:
    """Adds the bytes of a handshake each way, a mean over those that succeeded."""
    handshakes = client["transactions"]
    if handshakes:
        measured.metrics["handshake_sent_bytes"] = client["handshake_sent_bytes"] / handshakes
        measured.metrics["handshake_received_bytes"] = client["handshake_received_bytes"] / handshakes


def _early_at_both_ends(measured: TrialMeasurements, client: Result, server: Result) -> None:
    """Rejects a trial whose server took early data fewer times than its client counts. Somebody else's server counts
    nothing."""
    if PROGRAM in server:
        return
    taken, counted = server["early"], client["kinds"].get(EARLY_KIND, 0)
    if taken < counted:
        words = f"the client counts {counted} handshakes with early data, and the server took {taken}"
        measured.reject(ReasonKind.LEDGER, words)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    if EARLY_DATA.of(params) and SESSION.of(params) == "full":
        return Wrong(EARLY_DATA.name, "early data go with a ticket of an earlier session: give session: resumed")
    return one_length(params, DURATION, COUNT)


def _expects(params: Params) -> Expectation:
    """A round trip for TCP, and another one for TLS with or without certificates (RFC 8446 section 2). The answer to
    early data comes with the server's part of the handshake."""
    sent_bytes, received_bytes = over_tcp(int(CHAIN.of(params)) if SESSION.of(params) == "full" else None)
    round_trips = {"connect": 1, "handshake": 1, "transaction": 2}
    return Expectation(
        round_trips=round_trips | {"first_byte": 2} if EARLY_DATA.of(params) else round_trips,
        payloads={"handshake_sent_bytes": sent_bytes, "handshake_received_bytes": received_bytes},
        exchange=TransactionTraffic(transport="tcp", sent=(sent_bytes,), received=(received_bytes,), connections=1),
    )


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
        first_byte: Histogram
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
        early: Natural
        failed: Natural

    return {"client": TlsClient, "server": TlsServer}


KIND = WorkloadKind(
    name="tls",
    title="TLS handshake",
    is_proper_name=True,
    transport="tcp",
    doc="Connect, shake hands by TLS 1.3, close: a given number at once.",
    parameters=(SESSION, EARLY_DATA, CHAIN, IN_FLIGHT, DURATION, COUNT, SHORT_WARMUP, TIMEOUT, SERVER, CLIENT),
    primary="handshake_p50",
    headline=("handshake_p50", "handshake_p99", "transactions_rate", "handshake_received"),
    metrics=(
        *("connect_mean", "connect_p50", "connect_p99"),
        *(quantity.name for quantity in HANDSHAKE_TIMES),
        *("transaction_mean", "transaction_p50", "transaction_p99", "transactions_rate"),
        *(quantity.name for quantity in FIRST_BYTE_TIMES),
        *("handshake_sent", "handshake_received", "wire_sent", "wire_received", FAILURES),
    ),
    own_metrics=(
        metric("handshake_sent", "bytes", "lower", "Bytes of a handshake to the server", "RFC 8446 section 4"),
        metric("handshake_received", "bytes", "lower", "Bytes of a handshake from the server", "RFC 8446 section 4"),
    ),
    distributions=("connect", "handshake", "transaction", "first_byte"),
    check=checked("tls", _check),
    agent_params=without_programs,
    summarise=_summarise,
    traffic=_traffic,
    expects=foretold(_expects),
    results=lambda side, params: (Expected(form=_forms()[side]),),
    to_servers=ServerUse(parameters=("count", "timeout"), defaults={"count": 1}, first=3),
)

"""`quic-connect`: how long a connection of QUIC takes to open, and to answer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..expectation import Expectation, TransactionTraffic
from ..parameter import Parameter, Params, Wrong
from ..programs import CLIENT, SERVER, checked, foretold, without_programs
from ..quantity import FAILURES, metric
from ..reason import ReasonKind
from ..server import ServerUse
from ..topology import Family
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .applications import (
    CHAIN,
    FIRST_BYTE_TIMES,
    HANDSHAKE_TIMES,
    IN_FLIGHT,
    SESSION,
    agreed,
    arrived_traffic,
    failures,
    marks,
    of_program,
    same_at_both_ends,
)
from .common import COUNT, DURATION, SHORT_WARMUP, TIMEOUT, histogram, of_one_length, transactions
from .quic_packets import LEAST_DATAGRAM_BYTES, handshake_datagrams, handshake_round_trips, stream_bytes

if TYPE_CHECKING:
    from ..form import Form

PROTOCOL = "sixbench"
"""The protocol over QUIC that both ends speak (ALPN)."""

QUIC_SESSION = replace(
    SESSION,
    choices=("full", "resumed", "0-rtt"),
    doc=(
        "handshake with the server's certificates; or with a ticket of an earlier session; or with a ticket and "
        "the request in the first flight"
    ),
)
RETRY = Parameter(
    name="retry",
    kind="flag",
    doc="server that answers each first flight with a Retry, so that the client proves its address first",
    identifying=True,
    default=False,
)
CONNECTION_BYTES = (
    metric("connection_sent", "bytes", "lower", "Bytes of a connection to the server", "RFC 9000 section 12"),
    metric("connection_received", "bytes", "lower", "Bytes of a connection from the server", "RFC 9000 section 12"),
)
"""Payload of UDP, without the close."""


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    if RETRY.of(params) and SERVER.column in params:
        return Wrong(RETRY.name, f"{RETRY.name} is for sixbench's own server: leave {RETRY.name} or {SERVER.name} out")
    return of_one_length(DURATION, COUNT)(params, families)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    if CLIENT.column in params:
        return of_program(params, client, server, "connection")
    measured = TrialMeasurements()
    for name in ("handshake", "first_byte"):
        histogram(measured, client, name, name, "mean", "p50", "p99")
    connections = client["transactions"]
    if connections:
        measured.metrics["connection_sent_bytes"] = client["sent_bytes"] / connections
        measured.metrics["connection_received_bytes"] = client["received_bytes"] / connections
    transactions(measured, client, "connection")
    agreed(measured, client["kinds"], str(QUIC_SESSION.of(params)), "the kind of handshake")
    agreed(measured, client["protocols"], PROTOCOL, "the protocol over QUIC")
    if SERVER.column not in params:
        _retries(measured, params, client, server)
    same_at_both_ends(measured, client, server)
    marks(measured, {"client": client, "server": server})
    failures(measured, client, "connections")
    return measured


def _retries(measured: TrialMeasurements, params: Params, client: Result, server: Result) -> None:
    """Rejects a trial in which the server did not send a Retry for each connection, or sent one that nobody wants."""
    retries, connections = server["retries"], client["transactions"]
    if RETRY.of(params) and retries < connections:
        words = f"the server sent {retries} Retry packets for {connections} connections, and each was to have one"
        measured.reject(ReasonKind.OTHER_PROTOCOL, words)
    elif retries and not RETRY.of(params):
        measured.reject(ReasonKind.OTHER_PROTOCOL, f"the server sent {retries} Retry packets, and none was to be sent")


def _expects(params: Params) -> Expectation:
    """A round trip for the handshake and one for the answer, which 0-RTT saves; a Retry takes one more (RFC 9000
    sections 7 and 8.1.2)."""
    session, has_retry = QUIC_SESSION.of(params), bool(RETRY.of(params))
    chain_bytes = int(CHAIN.of(params)) if session == "full" else None
    # A token of a Retry validates the client's address.
    handshake = handshake_round_trips(chain_bytes, is_validated=has_retry) + has_retry
    first_byte = handshake if session == "0-rtt" else handshake + 1
    is_early, byte = session == "0-rtt", stream_bytes(1)
    # With 0-RTT the request and its answer have room in the first datagrams, which are padded.
    sent, received = handshake_datagrams(chain_bytes, 0 if is_early else byte)
    received = received if is_early else (*received, byte)
    if has_retry:
        # The first flight goes once more, with the token.
        sent = (LEAST_DATAGRAM_BYTES, *sent)
    return Expectation(
        round_trips={"handshake": handshake, "first_byte": first_byte},
        payloads={"connection_sent_bytes": sum(sent), "connection_received_bytes": sum(received)},
        exchange=TransactionTraffic(transport="udp", sent=sent, received=received),
    )


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    if CLIENT.column in params:
        return Traffic(messages=2 * int(server["transactions"]))
    return arrived_traffic(client, server, over_tcp=False, messages=int(client["received_datagrams"]))


@cache
def _forms() -> dict[Side, type[Form]]:
    from pydantic import model_validator

    from ..form import Counts, Natural
    from ..result_form import EcnMarks, Histogram, SideResult

    class QuicClient(SideResult):
        """The client that connects."""

        transactions: Natural
        warmup_transactions: Natural
        failed: Counts
        measured_ns: Natural
        handshake: Histogram
        first_byte: Histogram
        sent_datagrams: Natural
        received_datagrams: Natural
        sent_bytes: Natural
        received_bytes: Natural
        sent_packets: Natural
        lost_packets: Natural
        ecn: EcnMarks
        kinds: Counts
        protocols: Counts

        @model_validator(mode="after")
        def _adds_up(self) -> QuicClient:
            for counts in (self.kinds, self.protocols):
                if sum(counts.values()) != self.transactions:
                    raise ValueError("what was agreed on is not as many as the connections")
            return self

    class QuicServer(SideResult):
        """The server of connections."""

        transactions: Natural
        connections: Natural
        failed: Natural
        retries: Natural
        sent_bytes: Natural
        received_bytes: Natural
        ecn: EcnMarks

    return {"client": QuicClient, "server": QuicServer}


KIND = WorkloadKind(
    name="quic-connect",
    title="QUIC connection",
    is_proper_name=True,
    transport="udp",
    doc="Connect by QUIC, send one byte, get one byte back, close: a given number at once.",
    parameters=(QUIC_SESSION, RETRY, CHAIN, IN_FLIGHT, DURATION, COUNT, SHORT_WARMUP, TIMEOUT, SERVER, CLIENT),
    primary="first_byte_p50",
    headline=("first_byte_p50", "handshake_p50", "transactions_rate", "connection_received"),
    metrics=(
        *(quantity.name for quantity in (*HANDSHAKE_TIMES, *FIRST_BYTE_TIMES)),
        *("transactions_rate", "connection_sent", "connection_received", "wire_sent", "wire_received", FAILURES),
    ),
    own_metrics=CONNECTION_BYTES,
    distributions=("handshake", "first_byte"),
    check=checked("quic-connect", _check),
    agent_params=without_programs,
    summarise=_summarise,
    traffic=_traffic,
    expects=foretold(_expects),
    results=lambda side, params: (Expected(form=_forms()[side]),),
    to_servers=ServerUse(parameters=("count", "timeout"), defaults={"count": 1}, first=5),
)

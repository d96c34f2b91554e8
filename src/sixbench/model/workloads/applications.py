"""Parts that workloads of applications share: their parameters, their metrics, and what both sides agreed on."""

from __future__ import annotations

from collections.abc import Mapping

from ..parameter import Parameter, Params
from ..programs import reading
from ..programs.end import PROGRAM
from ..quantity import metric, times
from ..reason import ReasonKind
from ..workload import Result, Traffic, TrialMeasurements
from .common import in_words, rate

SESSION = Parameter(
    name="session",
    kind="choice",
    choices=("full", "resumed"),
    doc="handshake with the server's certificates; or with a ticket of an earlier session, and new keys",
    identifying=True,
    default="full",
)
CHAIN = Parameter(
    name="chain",
    kind="size",
    doc="bytes of the certificates that the server sends: its own, and that of who signed it",
    minimum=1280,
    maximum=16384,
    identifying=True,
    default=1536,
)
IN_FLIGHT = Parameter(
    name="in-flight",
    kind="count",
    doc="connections at the same time: the next one begins when one ends",
    minimum=1,
    maximum=256,
    default=1,
)

HANDSHAKE_TIMES = tuple(
    times("handshake", "Handshake time", "RFC 8446 section 2, RFC 9001 section 4", "mean", "p50", "p99")
)
"""From the client's first byte of the handshake until the client has verified the server."""

FIRST_BYTE_TIMES = tuple(
    times(
        *("first_byte", "Time to the first byte of the answer", "RFC 9000 section 17.2, RFC 8446 section 2.3"),
        *("mean", "p50", "p99"),
    )
)
"""From before the first packet of what a connection is opened for, where it is opened, until the answer begins."""

WIRE_BYTES = (
    metric("wire_sent", "bytes", "lower", "Bytes on the wire of a transaction, to the server", "IEEE 802.3, RFC 5166"),
    metric(
        "wire_received", "bytes", "lower", "Bytes on the wire of a transaction, from the server", "IEEE 802.3, RFC 5166"
    ),
)
"""On the link on which theory expects most: with all headers, retransmissions, acknowledgements, and what closes a
connection."""

METRICS = (
    *HANDSHAKE_TIMES,
    *FIRST_BYTE_TIMES,
    *WIRE_BYTES,
)
"""The metrics that these workloads alone have."""


def agreed(measured: TrialMeasurements, counts: Mapping[str, int], claimed: str, what: str) -> None:
    """Rejects a trial in which the two sides agreed on anything else than what the experiment claims.

    Args:
        counts: what they agreed on, and how often.
        what: they agreed on, in words.
    """
    others = {name: count for name, count in counts.items() if name != claimed and count}
    if others:
        words = f"{what} was not always {claimed}, as the experiment claims: {in_words(others)}"
        measured.reject(ReasonKind.OTHER_PROTOCOL, words)


def same_at_both_ends(measured: TrialMeasurements, client: Result, server: Result, what: str = "handshakes") -> None:
    """Rejects a trial whose server completed fewer than its client counts. Somebody else's server counts nothing.
    `what`: what a transaction is."""
    if PROGRAM in server:
        return
    completed, counted = server["transactions"], client["transactions"]
    if completed < counted:
        words = f"the client counts {counted} {what}, and the server completed {completed}"
        measured.reject(ReasonKind.LEDGER, words)


def marks(measured: TrialMeasurements, results: Mapping[str, Result]) -> None:
    """Remarks on the datagrams of QUIC that came to each side with a mark of congestion, and on a path that has cleared
    the field of all of them, though quinn sends with ECT(0) (RFC 9000 section 13.4).

    Args:
        results: by side. That of somebody else's program counts nothing.
    """
    for side, result in results.items():
        if PROGRAM in result:
            continue
        ecn = result["ecn"]
        datagrams = sum(ecn.values())
        if ecn["ce"]:
            measured.notes.append(
                f"{ecn['ce']} of {datagrams} datagrams came to the {side} with a mark of congestion (ECN)"
            )
        elif datagrams and datagrams == ecn["not_ect"]:
            measured.notes.append(
                f"none of {datagrams} datagrams came to the {side} with ECN, which the other side sends with"
            )


def arrived_traffic(client: Result, server: Result, *, over_tcp: bool, messages: int) -> Traffic:
    """The payload that certainly arrived, and as many messages. TCP brings whatever it took once, as long as the
    connection lives, and the client counts the transactions that succeeded. Of UDP a part of what a side sent may be
    lost, such as probes of the path's MTU, and a part of what came may be copies: the smaller count is taken. Over
    links that both drop and copy many datagrams, less than that arrived. Somebody else's server counts nothing."""
    sent, received = int(client["sent_bytes"]), int(client["received_bytes"])
    if not over_tcp:
        sent = min(sent, int(server.get("received_bytes", 0)))
        received = min(received, int(server.get("sent_bytes", received)))
    return Traffic(forward_payload_bytes=sent, reverse_payload_bytes=received, messages=messages)


def of_program(params: Params, client: Result, server: Result, what: str) -> TrialMeasurements:
    """The measurements of a trial whose client is somebody else's: what our server counted while the program ran, and
    what its output says where sixbench knows its form. `what`: what a transaction is."""
    measured, program = TrialMeasurements(), client[PROGRAM]
    completed = server["transactions"]
    per_s = rate(completed, program["ran_ns"])
    if completed and per_s is not None:
        measured.metrics["transactions_rate_per_s"] = per_s
        measured.metrics.update(reading(params, program["output"]))
    else:
        measured.reject(ReasonKind.NOTHING_ARRIVED, f"the server completed no {what}")
    if server["failed"]:
        measured.notes.append(f"{what}s that failed at the server: {server['failed']}")
    return measured


def failures(measured: TrialMeasurements, client: Result, what: str) -> None:
    """Remarks on those that failed."""
    failed = {reason: count for reason, count in client["failed"].items() if count}
    if failed:
        measured.notes.append(f"{what} that failed: {in_words(failed)}")

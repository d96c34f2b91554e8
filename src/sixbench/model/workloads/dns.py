"""`dns`: how long an answer of DNS takes, over each of its transports."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..expectation import Expectation, TransactionTraffic
from ..parameter import Parameter, Params
from ..programs import CLIENT, SERVER, checked, foretold, without_programs
from ..quantity import metric, share, times
from ..server import ServerUse
from ..workload import (
    CONNECTION_PACKETS,
    Expected,
    Result,
    Side,
    Traffic,
    Transport,
    TrialMeasurements,
    WorkloadKind,
)
from .applications import IN_FLIGHT, agreed, arrived_traffic, failures, of_program, same_at_both_ends
from .common import COUNT, DURATION, SECOND_NS, SHORT_WARMUP, TIMEOUT, histogram, of_one_length, transactions
from .http_messages import FRAME_BYTES, PREFACE_BYTES
from .quic_packets import handshake_datagrams, stream_bytes
from .tls import VERSION
from .tls_messages import CHAIN_BYTES, NAME_BYTES, RECORD_BYTES, over_tcp

if TYPE_CHECKING:
    from ..form import Form

PROTOCOLS = {"udp": "udp", "tcp": "tcp", "tls": "dot", "https": "h2", "quic": "doq"}
"""The protocol that answers come by, over each transport: its name in ALPN where both ends agree on one."""
OVER_TLS = frozenset({"tls", "https"})
OVER_DATAGRAMS = frozenset({"udp", "quic"})
_TRANSPORTS: dict[str, frozenset[Transport]] = {
    # An answer that is truncated is asked for again by TCP.
    "udp": frozenset({"udp", "tcp"}),
    "quic": frozenset({"udp"}),
    **dict.fromkeys(("tcp", "tls", "https"), frozenset[Transport]({"tcp"})),
}

OVER = Parameter(
    name="over",
    kind="choice",
    choices=tuple(PROTOCOLS),
    doc="transport of the messages: UDP, TCP (RFC 7766), TLS (DoT, RFC 7858), HTTP/2 (DoH, RFC 8484), QUIC (DoQ, "
    "RFC 9250)",
    identifying=True,
    default="udp",
)
CONNECTION = Parameter(
    name="connection",
    kind="choice",
    choices=("new", "kept"),
    doc="a connection for each question (over UDP a port), or one for all of one of those in flight",
    identifying=True,
    default="new",
)
ANSWER = Parameter(
    name="answer",
    kind="size",
    doc="length of the answer's message",
    minimum=100,
    maximum=4096,
    identifying=True,
    default=128,
)
EDNS = Parameter(
    name="edns",
    kind="size",
    doc="longest datagram that the client says to take (RFC 6891); a longer answer is truncated, and asked for again "
    "by TCP",
    minimum=512,
    maximum=4096,
    identifying=True,
    default=1232,
)
RETRY_AFTER = Parameter(
    name="retry-after",
    kind="duration",
    doc="time without an answer after which a question over UDP is sent again",
    minimum=10**6,
    maximum=600 * SECOND_NS,
    default=SECOND_NS,
)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    if CLIENT.column in params:
        return of_program(params, client, server, "answer")
    measured = TrialMeasurements()
    for name in ("session", "response", "transaction"):
        histogram(measured, client, name, name, "mean", "p50", "p99")
    answered, over = client["transactions"], str(OVER.of(params))
    asked = answered + sum(client["failed"].values())
    if asked:
        measured.metrics["questions_unanswered_ratio"] = (asked - answered) / asked
        measured.metrics["questions_retried_ratio"] = client["retries"] / asked
        measured.metrics["answers_truncated_ratio"] = client["truncated"] / asked
    if answered:
        measured.metrics["transaction_sent_bytes"] = client["sent_bytes"] / answered
        measured.metrics["transaction_received_bytes"] = client["received_bytes"] / answered
    transactions(measured, client, "question")
    protocols = _without_truncated(client, over)
    if SERVER.column in params and over == "tls":
        # A server on a port for DNS over TLS needs no ALPN (RFC 7858 section 3.1).
        protocols.pop("none", None)
    agreed(measured, protocols, PROTOCOLS[over], "the protocol of the answers")
    if over in OVER_TLS:
        agreed(measured, client["versions"], VERSION, "the version of TLS")
    same_at_both_ends(measured, client, server, "answers")
    failures(measured, client, "questions")
    return measured


def _without_truncated(client: Result, over: str) -> dict[str, int]:
    """Number of answers by protocol, without those that came by TCP because they were truncated over UDP: that is a
    result, and no fall back."""
    protocols = dict(client["protocols"])
    if over == "udp" and client["truncated"]:
        protocols["tcp"] = max(0, protocols.get("tcp", 0) - client["truncated"])
    return protocols


QUESTION_BYTES = 12 + (1 + 12 + 1 + NAME_BYTES + 1) + 4 + 11
"""A question's header, its name of 12 digits in the trial's zone, type and class (RFC 1035 section 4.1), and the record
of EDNS (RFC 6891 section 6.1.2)."""
LENGTH_BYTES = 2
"""The length before a message in a stream (RFC 1035 section 4.2.2, RFC 9250 section 4.2)."""

_SESSION_ROUND_TRIPS = {"udp": 0, "tcp": 1, "tls": 2, "https": 2, "quic": 1}


def _expects(params: Params) -> Expectation:
    """The round trips of the transport, and one for the answer (RFC 7766, 7858, 8484 and 9250). A truncated answer
    takes two more."""
    over, answer_bytes = str(OVER.of(params)), int(ANSWER.of(params))
    is_new = CONNECTION.of(params) == "new"
    is_truncated = over == "udp" and answer_bytes > int(EDNS.of(params))
    session = _SESSION_ROUND_TRIPS[over] if is_new else 0
    response = 3 if is_truncated else 1
    exchange = None if is_truncated else _exchange(over, answer_bytes, is_new=is_new)
    payloads = {}
    if exchange is not None:
        payloads = {
            "transaction_sent_bytes": sum(exchange.sent),
            "transaction_received_bytes": sum(exchange.received),
        }
    return Expectation(
        round_trips={"session": session, "response": response, "transaction": session + response},
        payloads=payloads,
        exchange=exchange,
    )


def _exchange(over: str, answer_bytes: int, *, is_new: bool) -> TransactionTraffic:
    """The least traffic of a question and its answer. `is_new`: with that of a connection."""
    messages = (QUESTION_BYTES, answer_bytes)
    if over == "udp":
        return TransactionTraffic(transport="udp", sent=messages[:1], received=messages[1:])
    if over == "quic":
        asked, answered = (stream_bytes(LENGTH_BYTES + size) for size in messages)
        sent, received = handshake_datagrams(CHAIN_BYTES, asked) if is_new else ((asked,), ())
        return TransactionTraffic(transport="udp", sent=sent, received=(*received, answered))
    if over == "https":
        # Frames of headers, whose least length depends on what was sent before, and of data.
        asked, answered = (2 * FRAME_BYTES + size for size in messages)
    else:
        asked, answered = (LENGTH_BYTES + size for size in messages)
    sent, received = (), ()
    if over != "tcp":
        asked, answered = asked + RECORD_BYTES, answered + RECORD_BYTES
        if is_new:
            hello, chain = over_tcp(CHAIN_BYTES)
            sent, received = (hello,), (chain,)
    if over == "https" and is_new:
        asked, answered = asked + PREFACE_BYTES, answered + FRAME_BYTES
    return TransactionTraffic(
        transport="tcp", sent=(*sent, asked), received=(*received, answered), connections=int(is_new)
    )


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    if CLIENT.column in params:
        answers = int(server["transactions"])
        return Traffic(messages=2 * answers if OVER.of(params) == "udp" else answers)
    questions = int(client["transactions"]) + int(client["warmup_transactions"])
    has_datagrams = OVER.of(params) in OVER_DATAGRAMS
    if has_datagrams:
        messages = 2 * questions
    else:
        messages = CONNECTION_PACKETS * questions if CONNECTION.of(params) == "new" else 0
    return arrived_traffic(client, server, over_tcp=not has_datagrams, messages=messages)


@cache
def _forms() -> dict[Side, type[Form]]:
    from pydantic import model_validator

    from ..form import ABSENT, Counts, Natural
    from ..result_form import Histogram, SideResult

    class DnsClient(SideResult):
        """The client that asks."""

        transactions: Natural
        warmup_transactions: Natural
        failed: Counts
        measured_ns: Natural
        session: Histogram
        response: Histogram
        transaction: Histogram
        sent_bytes: Natural
        received_bytes: Natural
        retries: Natural
        truncated: Natural
        protocols: Counts
        versions: Counts
        ciphers: Counts

        @model_validator(mode="after")
        def _adds_up(self) -> DnsClient:
            if sum(self.protocols.values()) != self.transactions:
                raise ValueError("the protocols of the answers are not as many as the answers")
            return self

    class DnsServer(SideResult):
        """The server of the trial's zone."""

        transactions: Natural
        truncated: Natural
        connections: Natural
        failed: Natural
        sent_bytes: Natural = ABSENT
        received_bytes: Natural = ABSENT

    return {"client": DnsClient, "server": DnsServer}


SESSION_TIMES = tuple(
    times("session", "Time until a connection carries questions", "RFC 7858, RFC 8484, RFC 9250", "mean", "p50", "p99")
)
"""TCP's handshake, and that of TLS or QUIC. There is none over UDP."""

KIND = WorkloadKind(
    name="dns",
    title="DNS",
    is_proper_name=True,
    transport="udp",
    transports=lambda params: _TRANSPORTS[str(OVER.of(params))],
    doc="Questions of DNS for names of the trial's own zone, and answers of a given length by its server: a given "
    "number at once.",
    parameters=(
        *(OVER, CONNECTION, ANSWER, EDNS, RETRY_AFTER, IN_FLIGHT),
        *(DURATION, COUNT, SHORT_WARMUP, TIMEOUT, SERVER, CLIENT),
    ),
    primary="transaction_p50",
    headline=("transaction_p50", "response_p50", "transactions_rate", "questions_unanswered", "transaction_received"),
    metrics=(
        *(quantity.name for quantity in SESSION_TIMES),
        *("response_mean", "response_p50", "response_p99"),
        *("transaction_mean", "transaction_p50", "transaction_p99", "transactions_rate"),
        *("questions_unanswered", "questions_retried", "answers_truncated"),
        *("transaction_sent", "transaction_received", "wire_sent", "wire_received"),
    ),
    own_metrics=(
        *SESSION_TIMES,
        metric("questions_retried", "ratio", "lower", "Retries per question", "RFC 1035 section 4.2.1"),
        share("answers_truncated", "Answers truncated over UDP", "RFC 2181 section 9"),
        metric("transaction_sent", "bytes", "lower", "Bytes to the server for an answer", "RFC 1035 section 4"),
        metric("transaction_received", "bytes", "lower", "Bytes from the server for an answer", "RFC 1035 section 4"),
    ),
    distributions=("session", "response", "transaction"),
    check=checked("dns", of_one_length(DURATION, COUNT)),
    agent_params=without_programs,
    summarise=_summarise,
    traffic=_traffic,
    expects=foretold(_expects),
    results=lambda side, params: (Expected(form=_forms()[side]),),
    to_servers=ServerUse(parameters=("count", "timeout"), defaults={"count": 1}, needs_name=True),
)

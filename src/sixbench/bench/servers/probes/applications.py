"""Handshakes of TLS and QUIC with a server, and its first object by HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from ....agent import Agent
from ....agent.requests import ApplicationRequest
from ....agent.server_answers import ApplicationAttempt
from ....model.errors import AgentError
from ....model.form import ABSENT
from ....model.parameter import Parameter, Params
from ....model.workload import TrialMeasurements
from ....model.workloads import http, quic_connect, tls
from .prober import (
    ANSWERED,
    REFUSED,
    REST_NS,
    Probed,
    ProbedServer,
    Prober,
    Refuser,
    add_times,
    asks_for_rest,
    waits_s,
)

TIMEOUT_NS = 10_000_000_000
LEFT_ALONE = "refused"
"""The code of the agent's error where a server has asked to be left alone by Retry-After."""

_STATISTICS = ("mean", "p50", "p99")


def _ask(workload: str, version: Parameter | None, agent: Agent, target: ProbedServer, params: Params) -> Probed:
    count, timeout_ns = int(params["count"]), int(params.get("timeout_ns", TIMEOUT_NS))
    request = ApplicationRequest(
        workload=workload,
        version=None if version is None else str(version.of(params)),
        address=target.address,
        port=target.server.port,
        server_name=target.name or target.address,
        roots=roots(),
        count=count,
        timeout_ns=timeout_ns,
        mine=target.mine or None,
    )
    try:
        answer = agent.answer(request, timeout_s=waits_s(count, timeout_ns + REST_NS))
    except AgentError as error:
        if error.code != LEFT_ALONE:
            raise
        attempt = ApplicationAttempt(outcome=REFUSED, reason=str(error)[:1000])
        return Probed(attempts=[attempt], result={"attempts": [attempt.model_dump(exclude_none=True)]})
    return Probed(
        attempts=[_with_status(attempt) for attempt in answer.attempts],
        result=answer.model_dump(by_alias=True, exclude_none=True),
    )


def roots() -> Mapping[str, str] | None:
    """The certificates that are trusted, by the variable that OpenSSL, curl and Python have for them. None: those of
    the system."""
    file = os.environ.get("SSL_CERT_FILE")
    return {"file": file} if file else None


def _with_status(attempt: ApplicationAttempt) -> ApplicationAttempt:
    """The attempt, which is refused where the answer only says that there is none for now."""
    if attempt.outcome == ANSWERED and asks_for_rest(attempt.status):
        words = f"the server answered with status {attempt.status}"
        return attempt.model_copy(update={"outcome": REFUSED, "reason": words})
    return attempt


def _answered(probed: Probed) -> list[ApplicationAttempt]:
    return [item for item in probed.attempts if isinstance(item, ApplicationAttempt) and item.outcome == "answered"]


def _tls(params: Params, probed: Probed, measured: TrialMeasurements) -> None:
    attempts = _answered(probed)
    add_times(measured, "connect", [attempt.connect_ns for attempt in attempts], *_STATISTICS)
    add_times(measured, "handshake", [attempt.handshake_ns for attempt in attempts], *_STATISTICS)
    both = [attempt.connect_ns + attempt.handshake_ns for attempt in attempts if _has_handshake(attempt)]
    add_times(measured, "transaction", both, *_STATISTICS)


def _has_handshake(attempt: ApplicationAttempt) -> bool:
    return attempt.connect_ns is not ABSENT and attempt.handshake_ns is not ABSENT


def _quic(params: Params, probed: Probed, measured: TrialMeasurements) -> None:
    attempts = _answered(probed)
    add_times(measured, "handshake", [attempt.handshake_ns for attempt in attempts], *_STATISTICS)
    add_times(measured, "first_byte", [attempt.first_byte_ns for attempt in attempts], *_STATISTICS)


def _http(params: Params, probed: Probed, measured: TrialMeasurements) -> None:
    attempts = _answered(probed)
    add_times(measured, "connect", [attempt.connect_ns for attempt in attempts], *_STATISTICS)
    add_times(measured, "handshake", [attempt.handshake_ns for attempt in attempts], *_STATISTICS)
    add_times(measured, "first_byte", [attempt.first_byte_ns for attempt in attempts], *_STATISTICS)
    add_times(measured, "page", [attempt.total_ns for attempt in attempts], *_STATISTICS)
    statuses = {attempt.status for attempt in attempts if attempt.status is not ABSENT}
    measured.notes.extend(f"the server answered with status {status}" for status in sorted(statuses) if status >= 400)
    measured.notes.extend(
        f"the server answered with status {status}, and the redirection was not followed"
        for status in sorted(statuses)
        if 300 <= status < 400
    )
    if any(attempt.body_whole is False for attempt in attempts):
        measured.notes.append("the object goes on beyond 1 MiB, and its time is that of the first MiB")


def _refusers_of_http(params: Params) -> tuple[Refuser, ...]:
    return ("udp" if http.HTTP_VERSION.of(params) == "3" else "tcp", "http")


TLS = Prober(
    workload=tls.KIND.name,
    ask=partial(_ask, tls.KIND.name, None),
    summarise=_tls,
    refusers=lambda params: ("tcp",),
)
HTTP = Prober(
    workload=http.KIND.name,
    ask=partial(_ask, http.KIND.name, http.HTTP_VERSION),
    summarise=_http,
    refusers=_refusers_of_http,
)
QUIC_CONNECT = Prober(
    workload=quic_connect.KIND.name,
    ask=partial(_ask, quic_connect.KIND.name, None),
    summarise=_quic,
    refusers=lambda params: ("udp",),
)

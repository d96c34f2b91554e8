"""A trial's session between two agents, wherever they are: how long it may take, and how it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import Future

from ..agent import Agent
from ..agent.requests import Cancel, Finish
from ..model.errors import AgentError
from ..model.parameter import Scalar
from ..model.workload import Result

GRACE_NS = 15 * 10**9
"""Time that a trial with a duration may take beyond that duration and the timeout of an attempt before it counts as
failed."""

UNTIMED_LIMIT_NS = 600 * 10**9
"""Longest time that a trial of a number of bytes or transactions may take."""

FINISH_TIMEOUT_NS = 5 * 10**9

ANSWER_TIMEOUT_S = 10.0
"""Longest time that an agent may take to answer a request that takes no time."""


def expected_ns(params: Mapping[str, Scalar]) -> int | None:
    """Length of the measuring of a trial; None where it is not given as a time."""
    if "duration_ns" not in params:
        return None
    return int(params["duration_ns"]) + int(params.get("warmup_ns", 0))


def longest_ns(params: Mapping[str, Scalar]) -> int:
    """Longest time of a trial."""
    return limit_ns(expected_ns(params), params)


def limit_ns(timed_ns: int | None, params: Mapping[str, Scalar]) -> int:
    """Longest time of a trial that takes so long if all goes well. The last attempt may wait for its answer.

    Args:
        timed_ns: None: it is not known.
    """
    last_ns = int(params.get("timeout_ns", 0)) + GRACE_NS
    return max(UNTIMED_LIMIT_NS, last_ns) if timed_ns is None else timed_ns + last_ns


def wait_for_run(client: Agent, running: Future[Result], key: str, limit_ns: int) -> Result:
    """The client's result. Raises `AgentError`, of code `timeout` after `limit_ns`; the run is over then."""
    try:
        return client.wait(running, "run", limit_ns / 1e9)
    except AgentError as error:
        if error.code != "agent-silent":
            raise
        cancel(client, key)
        raise AgentError("timeout", f"the trial took longer than {limit_ns / 1e9:.0f} s and was stopped") from None
    except BaseException:
        cancel(client, key)
        raise


def finish(
    server: Agent,
    key: str,
    workload: str,
    params: Mapping[str, Scalar],
    client_result: Result,
    first_silence_ns: int | None = None,
    *,
    is_program: bool = False,
) -> Result:
    """The server's result, and the end of the session.

    Args:
        workload, params: what it served.
        first_silence_ns: how long to wait for a datagram where none has arrived; None: the agent's default for an
            unknown path.
        is_program: whether somebody else's program served it.

    Raises:
        AgentError: the agent refused, failed or was silent.
    """
    timeout_s = FINISH_TIMEOUT_NS / 1e9 + ANSWER_TIMEOUT_S
    sent = (client_result.get("forward_sender") or client_result).get("sent")
    request = Finish(
        session=key,
        workload=workload,
        params=params,
        is_program=is_program,
        sent=sent,
        timeout_ns=FINISH_TIMEOUT_NS,
        first_silence_ns=first_silence_ns,
    )
    try:
        return server.answer(request, timeout_s=timeout_s)
    except AgentError as error:
        raise AgentError(error.code, f"after the client had finished, {error}") from error


def cancel(agent: Agent, key: str) -> None:
    """Ends a session early, if it exists."""
    with contextlib.suppress(AgentError):
        agent.answer(Cancel(session=key), timeout_s=5)

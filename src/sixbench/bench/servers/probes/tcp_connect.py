"""TCP connections to a server."""

from __future__ import annotations

from ....agent import Agent
from ....agent.requests import TcpConnectRequest
from ....agent.server_answers import TcpAttempt
from ....model.parameter import Params
from ....model.workload import TrialMeasurements
from ....model.workloads import tcp_connect
from .prober import Probed, ProbedServer, Prober, add_times, waits_s

TIMEOUT_NS = 3_000_000_000


def _ask(agent: Agent, target: ProbedServer, params: Params) -> Probed:
    count, timeout_ns = int(params["count"]), int(params.get("timeout_ns", TIMEOUT_NS))
    request = TcpConnectRequest(
        address=target.address,
        port=target.server.port,
        count=count,
        timeout_ns=timeout_ns,
        mine=target.mine or None,
    )
    answer = agent.answer(request, timeout_s=waits_s(count, timeout_ns))
    return Probed(
        attempts=answer.attempts,
        result=answer.model_dump(by_alias=True, exclude_none=True),
    )


def _summarise(params: Params, probed: Probed, measured: TrialMeasurements) -> None:
    attempts = [item for item in probed.attempts if isinstance(item, TcpAttempt) and item.outcome == "answered"]
    add_times(measured, "connect", [attempt.elapsed_ns for attempt in attempts], "mean", "p50", "p99")


TCP_CONNECT = Prober(workload=tcp_connect.KIND.name, ask=_ask, summarise=_summarise, refusers=lambda params: ("tcp",))

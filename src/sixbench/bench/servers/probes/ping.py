"""Echo requests to a server."""

from __future__ import annotations

from ....agent import Agent
from ....agent.requests import PingRequest
from ....agent.server_answers import EchoReply
from ....model.parameter import Params
from ....model.workload import TrialMeasurements
from ....model.workloads import ping
from ....model.workloads.request_response import STATISTICS
from .prober import Probed, ProbedServer, Prober, add_times, waits_s

TIMEOUT_NS = 1_000_000_000


def _ask(agent: Agent, target: ProbedServer, params: Params) -> Probed:
    count, timeout_ns = int(params["count"]), int(params.get("timeout_ns", TIMEOUT_NS))
    interval_ns = int(params[ping.PROBE_INTERVAL.column])
    request = PingRequest(
        address=target.address,
        count=count,
        interval_ns=interval_ns,
        payload_bytes=int(ping.PAYLOAD.of(params)),
        timeout_ns=timeout_ns,
        mine=target.mine or None,
    )
    answer = agent.answer(request, timeout_s=waits_s(count, timeout_ns, interval_ns))
    return Probed(
        attempts=answer.replies,
        result=answer.model_dump(by_alias=True, exclude_none=True),
        strays=answer.strays or 0,
    )


def _summarise(params: Params, probed: Probed, measured: TrialMeasurements) -> None:
    replies = [reply for reply in probed.attempts if isinstance(reply, EchoReply) and reply.outcome == "answered"]
    add_times(measured, "rtt", [reply.rtt_ns for reply in replies], *STATISTICS)


PING = Prober(workload=ping.KIND.name, ask=_ask, summarise=_summarise, failures="loss_ratio")

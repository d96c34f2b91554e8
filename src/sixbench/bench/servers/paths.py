"""The routers and the path MTU towards a server, read without its help: once before the first trial and once after the
last."""

from __future__ import annotations

import time
from dataclasses import replace

from ...agent import Agent
from ...agent.requests import HopsRequest, PathMtuRequest
from ...model.errors import AgentError
from ...model.survey import PathMtuReading, RouteReading, ServerAddresses, SurveyedServer

HOPS_S, PATH_MTU_S = 300.0, 300.0
"""Longest times of the agent for each, with the attempts of other requests at the same address before it."""
HOP_TIMEOUT_NS = 1_000_000_000
PROBES_BY = ("icmp", "udp")
"""The kinds of probes of the path MTU, in the order in which they are tried: the first that is answered counts."""


def with_readings(agent: Agent, server: SurveyedServer) -> SurveyedServer:
    """The server with one more reading of each family's path. A kernel that refuses the means leaves them out. Raises
    `AgentError` where the agent has ended."""
    return replace(server, families={name: _read(agent, entry, server.mine) for name, entry in server.families.items()})


def _read(agent: Agent, entry: ServerAddresses, mine: bool) -> ServerAddresses:
    if not entry.is_reachable or entry.address is None:
        return entry
    route = _route(agent, entry.address)
    mtus: list[PathMtuReading] = []
    for by in PROBES_BY:
        mtu = _path_mtu(agent, entry.address, by, mine)
        mtus += [] if mtu is None else [mtu]
        if mtu is not None and mtu.outcome == "answered":
            mtus = [mtu]
            break
    return replace(
        entry,
        routes=(*entry.routes, *([] if route is None else [route])),
        path_mtus=(*entry.path_mtus, *mtus[:1]),
    )


def _route(agent: Agent, address: str) -> RouteReading | None:
    try:
        answer = agent.answer(HopsRequest(address=address, timeout_ns=HOP_TIMEOUT_NS), timeout_s=HOPS_S)
    except AgentError:
        if not agent.alive:
            raise
        return None
    hops = []
    times = []
    for hop in answer.hops:
        hops.append(tuple(dict.fromkeys(item.from_ for item in hop.answers if item.from_)))
        known = [item.rtt_ns for item in hop.answers if item.rtt_ns]
        times.append(min(known, default=None))
    return RouteReading(realtime_ns=time.time_ns(), hops=tuple(hops), rtt_ns=tuple(times), ended=answer.ended)


def _path_mtu(agent: Agent, address: str, by: str, mine: bool) -> PathMtuReading | None:
    try:
        request = PathMtuRequest(address=address, port=443, by=by, mine=mine or None)
        answer = agent.answer(request, timeout_s=PATH_MTU_S)
    except AgentError:
        if not agent.alive:
            raise
        return None
    return PathMtuReading(
        realtime_ns=time.time_ns(),
        by=by,
        outcome=answer.outcome,
        mtu_bytes=answer.mtu_bytes,
        interface_mtu_bytes=answer.interface_mtu_bytes,
        packet_too_big=answer.packet_too_big,
        mss_bytes=answer.mss_bytes,
    )

"""Changing a link from one state to another while packets cross it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from ..agent import Agent
from ..lab.emulation import change_on
from ..lab.queues import rate_change_lines
from ..model.errors import AgentError
from ..model.topology import Link
from .laboratory import Laboratory

TIMEOUT_S = 10.0


def change_link(laboratory: Laboratory, before: Link, after: Link) -> str | None:
    """Changes a link to what `after` says, all at once: MTU, rates and queues at its ends, and what our emulator does.
    Returns what went wrong, in words; None if nothing."""
    running: list[tuple[Agent, str, Future[dict[str, Any]]]] = []
    for end, old, new in zip(after.ends, before.directions, after.directions, strict=True):
        agent = laboratory.agents[end.node]
        if after.mtu_bytes != before.mtu_bytes:
            argv = ["ip", "link", "set", "dev", end.name, "mtu", str(after.mtu_bytes)]
            running.append((agent, "exec", agent.submit("exec", argv=argv)))
        if (old.rate_bps, old.queue, old.burst_bytes) != (new.rate_bps, new.queue, new.burst_bytes):
            stdin = "".join(f"{line}\n" for line in rate_change_lines(after, end))
            running.append((agent, "exec", agent.submit("exec", argv=["tc", "-batch", "-"], stdin=stdin)))
    emulator = laboratory.emulator
    if emulator is not None and after.is_emulated and after.directions != before.directions:
        future = emulator.submit("emulate-change", **change_on(after.name, after.directions))
        running.append((emulator, "emulate-change", future))
    return "; ".join(filter(None, (_wrong(*one) for one in running))) or None


def _wrong(agent: Agent, op: str, future: Future[dict[str, Any]]) -> str | None:
    try:
        done = agent.wait(future, op, TIMEOUT_S)
    except AgentError as error:
        return str(error)
    return f"{agent.name}: {' '.join(done['stderr'].split())}" if done.get("exit") else None

"""Changing a link from one state to another while packets cross it."""

from __future__ import annotations

from collections.abc import Sequence

from ..agent.answers import ExecAnswer
from ..agent.requests import EmulateChange, Exec
from ..lab.emulation import change_on
from ..lab.queues import rate_change_lines
from ..model.errors import AgentError
from ..model.topology import Link
from .asking import SentRequest, ask
from .laboratory import Laboratory


def change_link(laboratory: Laboratory, before: Link, after: Link) -> str | None:
    """Changes a link to what `after` says, all at once: MTU, rates and queues at its ends, and what our emulator does.
    Returns what went wrong, in words; None if nothing."""
    commands: list[SentRequest[ExecAnswer]] = []
    for end, old, new in zip(after.ends, before.directions, after.directions, strict=True):
        agent = laboratory.agents[end.node]
        if after.mtu_bytes != before.mtu_bytes:
            argv = ["ip", "link", "set", "dev", end.name, "mtu", str(after.mtu_bytes)]
            commands.append(ask(agent, Exec(argv=argv)))
        if (old.rate_bps, old.queue, old.burst_bytes) != (new.rate_bps, new.queue, new.burst_bytes):
            stdin = "".join(f"{line}\n" for line in rate_change_lines(after, end))
            commands.append(ask(agent, Exec(argv=["tc", "-batch", "-"], stdin=stdin)))
    emulated = None
    if laboratory.emulator is not None and after.is_emulated and after.directions != before.directions:
        emulated = ask(laboratory.emulator, EmulateChange(**change_on(after.name, after.directions)))
    wrong = [_wrong(command) for command in commands]
    if emulated is not None:
        try:
            emulated.answer()
        except AgentError as error:
            wrong.append(str(error))
    return "; ".join(filter(None, wrong)) or None


def run_lines(laboratory: Laboratory, node: str, lines: Sequence[str]) -> str | None:
    """Runs lines for `ip -batch` in a node. Returns what went wrong, in words; None if nothing."""
    stdin = "".join(f"{line}\n" for line in lines)
    return _wrong(ask(laboratory.agents[node], Exec(argv=["ip", "-batch", "-"], stdin=stdin)))


def _wrong(command: SentRequest[ExecAnswer]) -> str | None:
    try:
        done = command.answer()
    except AgentError as error:
        return str(error)
    return f"{command.agent.name}: {' '.join(done.stderr.split())}" if done.exit else None

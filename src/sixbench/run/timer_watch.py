"""Watching how late the timers of links' rates are during a trial, by the kernel's own account.

It comes from programs on tracepoints (docs/protocol.md, `timers-start`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..agent import Agent
from ..agent.requests import TimersStart, TimersStop
from ..model.observation import DeviceTimers
from .asking import ask
from .laboratory import Laboratory
from .proof.timers import Bucket


@dataclass(kw_only=True)
class Timers:
    """The timers that were seen.

    Attributes:
        watched: the token buckets.
        seen: those that the agent watched; None: the kernel did not tell.
        elapsed_ns: for how long they were watched.
    """

    watched: list[Bucket] = field(default_factory=list)
    seen: list[DeviceTimers] | None = None
    elapsed_ns: int = 0


class TimerWatch:
    """Watches token buckets for one trial."""

    def __init__(self, laboratory: Laboratory, agents: Mapping[str, Agent], found: Timers) -> None:
        self._laboratory = laboratory
        self._agents = agents
        self._watcher = next(iter(agents.values()))
        self._found = found
        self._is_watching = False

    def start(self) -> Callable[[], None]:
        """Asks to watch from now on, unless there is no bucket or this network's kernel has refused before. What it
        returns waits until that is so, and raises `AgentError`."""
        if not self._found.watched or self._laboratory.hides_timers:
            return lambda: None
        devices = [
            {
                "netns_inode": self._agents[bucket.node].netns_inode,
                "device": bucket.device,
                "slack_ns": bucket.slack_ns,
            }
            for bucket in self._found.watched
        ]
        asked = ask(self._watcher, TimersStart(devices=devices))
        self._is_watching = True

        def started() -> None:
            self._is_watching = False
            self._laboratory.hides_timers = asked.refusal() is not None
            self._is_watching = not self._laboratory.hides_timers

        return started

    def stop(self) -> Callable[[], None]:
        """Asks to stop watching. What it returns waits and keeps what was seen, and raises `AgentError`."""
        if not self._is_watching:
            return lambda: None
        asked = ask(self._watcher, TimersStop())
        self._is_watching = False

        def stopped() -> None:
            answer = asked.answer()
            self._found.seen, self._found.elapsed_ns = answer.devices, answer.elapsed_ns

        return stopped

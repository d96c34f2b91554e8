"""Watching how late the timers of links' rates are during a trial, by the kernel's own account.

It comes from programs on tracepoints (docs/protocol.md, `timers-start`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..agent import Agent
from ..agent.requests import TimersStart, TimersStop
from ..model.json_object import JsonObject
from ..model.observation import DeviceTimers
from .asking import ask
from .by_machine import by_machine, with_namespaces
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
        self._machines = by_machine(agents.values())
        self._found = found
        self._watching: list[tuple[Agent, list[Agent]]] = []

    def start(self) -> Callable[[], None]:
        """Asks to watch from now on, unless there is no bucket or this network's kernel has refused before. What it
        returns waits until that is so, and raises `AgentError`."""
        if not self._found.watched or self._laboratory.hides_timers:
            return lambda: None
        watching = [
            (self._laboratory.watcher(agents), agents, devices)
            for agents in self._machines
            if (devices := self._devices_of(agents))
        ]
        asked = [
            ((watcher, agents), ask(watcher, TimersStart(devices=devices))) for watcher, agents, devices in watching
        ]
        self._watching = [both for both, _ in asked]

        def started() -> None:
            self._watching = [both for both, item in asked if item.refusal() is None]
            self._laboratory.hides_timers = len(self._watching) < len(asked)

        return started

    def stop(self) -> Callable[[], None]:
        """Asks to stop watching. What it returns waits and keeps what was seen, and raises `AgentError`."""
        asked = [(agents, ask(watcher, TimersStop())) for watcher, agents in self._watching]
        self._watching = []

        def stopped() -> None:
            for agents, item in asked:
                answer = item.answer()
                self._found.seen = [*(self._found.seen or []), *with_namespaces(answer.devices, agents)]
                self._found.elapsed_ns = answer.elapsed_ns

        return stopped

    def _devices_of(self, agents: Sequence[Agent]) -> list[JsonObject]:
        """The buckets on a machine, as its agent is asked to watch them."""
        numbers = {agent.name: agent.netns_inode for agent in agents}
        return [
            {"netns_inode": numbers[bucket.node], "device": bucket.device, "slack_ns": bucket.slack_ns}
            for bucket in self._found.watched
            if bucket.node in numbers
        ]

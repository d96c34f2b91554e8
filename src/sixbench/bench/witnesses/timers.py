"""Timers of links' rates, and how late they are during a trial, by the kernel's own account.

It comes from programs on tracepoints (docs/protocol.md, `timers-start`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...agent import Agent
from ...agent.requests import TimersStart, TimersStop
from ...model.evidence import Evidence
from ...model.json_object import JsonObject
from ...model.observation import DeviceTimers
from ..asking import ask
from ..by_machine import by_machine, with_namespaces
from ..proof.case import Case, Testimony
from ..proof.timers import buckets, judge_timers, timer_evidence
from ..setting import TrialSetting
from .witness import Waiting, Witness, nothing


class TimerWitness(Witness):
    """Watches the token buckets of the path's links, unless this network's kernel has refused before."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._buckets = buckets(view.link for view in setting.views)
        self._watching: list[tuple[Agent, list[Agent]]] = []
        self._timers: list[DeviceTimers] | None = None
        self._elapsed_ns = 0

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        # A change of a link may change its bucket.
        return not setting.events and bool(buckets(view.link for view in setting.views))

    def begin(self) -> Waiting:
        laboratory = self.setting.laboratory
        if laboratory.hides_timers:
            return nothing
        watching = [
            (laboratory.watcher(agents), agents, devices)
            for agents in by_machine(self.setting.watched.values())
            if (devices := self._devices_of(agents))
        ]
        asked = [
            ((watcher, agents), ask(watcher, TimersStart(devices=devices))) for watcher, agents, devices in watching
        ]
        self._watching = [both for both, _ in asked]

        def started() -> None:
            self._watching = [both for both, item in asked if item.refusal() is None]
            laboratory.hides_timers = len(self._watching) < len(asked)

        return started

    def end(self) -> Waiting:
        asked = [(agents, ask(watcher, TimersStop())) for watcher, agents in self._watching]
        self._watching = []

        def stopped() -> None:
            for agents, item in asked:
                answer = item.answer()
                self._timers = [*(self._timers or []), *with_namespaces(answer.devices, agents)]
                self._elapsed_ns = answer.elapsed_ns

        return stopped

    def _devices_of(self, agents: Sequence[Agent]) -> list[JsonObject]:
        """The buckets on a machine, as its agent is asked to watch them."""
        numbers = {agent.name: agent.netns_inode for agent in agents}
        return [
            {"netns_inode": numbers[bucket.node], "device": bucket.device, "slack_ns": bucket.slack_ns}
            for bucket in self._buckets
            if bucket.node in numbers
        ]

    def judge(self, case: Case) -> Testimony:
        if self._timers is None:
            return Testimony()
        evidence = timer_evidence(self._buckets, self._timers, case.nodes)
        measured_ns = int(case.params.get("duration_ns", 0)) or self._elapsed_ns
        notes, too_late = judge_timers(evidence, measured_ns, case.margin)
        return Testimony(evidence=Evidence(timers=evidence), reasons=too_late, notes=notes)

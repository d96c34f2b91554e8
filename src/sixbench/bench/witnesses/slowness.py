"""Slowness of processors: by how much longer a loop takes on them than at their fastest."""

from __future__ import annotations

from ...agent import Agent
from ...agent.requests import LoopTimes
from ..asking import ask
from ..proof.case import Case, Testimony
from ..setting import TrialSetting
from .witness import Waiting, Witness, nothing


class SlownessWitness(Witness):
    """Times a loop on each processor that a node of the path has for itself, before and after the traffic."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._before: dict[int, float] = {}
        self._after: dict[int, float] = {}

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return not setting.laboratory.topology.is_spread

    def begin(self) -> Waiting:
        def timed() -> None:
            self._before = self._slowdowns()

        return timed

    def end(self) -> Waiting:
        if self._before:
            self._after = self._slowdowns()
        return nothing

    def _slowdowns(self) -> dict[int, float]:
        """Share by which a loop takes longer now than at its fastest, by processor."""
        first: dict[int, Agent] = {}
        for name, agent in self.setting.watched.items():
            processors = self.setting.placed.by_node.get(name, ())
            if len(processors) == 1:
                first.setdefault(processors[0], agent)
        asked = {processor: ask(agent, LoopTimes()) for processor, agent in first.items()}
        here = self.setting.laboratory.processors
        return {processor: here.slowdown(processor, item.answer()) for processor, item in asked.items()}

    def judge(self, case: Case) -> Testimony:
        """The slowest of the processors, in the mean of before and after."""
        both = [(self._before[item] + self._after[item]) / 2 for item in self._before if item in self._after]
        return Testimony(metrics={"core_slowdown_ratio": max(both)} if both else {})

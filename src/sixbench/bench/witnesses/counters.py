"""Counters of the nodes on the path, and whether their interfaces stayed up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...agent.requests import Counters as CountersRequest
from ...lab.emulation import EMULATOR
from ...model.observation import CountersAnswer
from ...model.reason import Reason
from ..asking import ask_all, wait_all
from ..proof.link_state import link_failures
from ..setting import TrialSetting
from ..settling import Left, settle, still_ns
from ..under_way import delays_by_netem_ns, residual_ns
from .witness import Waiting, Witness, nothing


@dataclass(frozen=True, kw_only=True)
class CounterLooks:
    """The counters of the nodes on the path, by node, before and after the traffic."""

    before: Mapping[str, CountersAnswer] = field(default_factory=dict)
    after: Mapping[str, CountersAnswer] = field(default_factory=dict)


class CounterWitness(Witness):
    """Reads all counters of the nodes on the path, once nothing of an earlier trial or of the building is under way."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._before: Mapping[str, CountersAnswer] = {}
        self._after: Mapping[str, CountersAnswer] = {}

    def look_before(self) -> Waiting:
        self._before = self._of_path(settle(self.setting.laboratory.left, self._look))
        return nothing

    def look_after(self) -> Waiting:
        looked: Mapping[str, CountersAnswer] = {}
        try:
            looked = self._look()
            self._after = self._of_path(looked)
        finally:
            self.setting.laboratory.left = self._left(looked)
        return nothing

    def _look(self) -> dict[str, CountersAnswer]:
        """The counters of the nodes on the path, and of the node that emulates links."""
        emulator = self.setting.laboratory.emulator
        extra = {} if emulator is None else {EMULATOR: emulator}
        return wait_all(ask_all(self.setting.watched | extra, CountersRequest()))

    def _of_path(self, looked: Mapping[str, CountersAnswer]) -> dict[str, CountersAnswer]:
        return {name: looked[name] for name in self.setting.watched}

    def _left(self, looked: Mapping[str, CountersAnswer]) -> Left:
        topology = self.setting.network.topology
        return Left(
            ended_ns=time.monotonic_ns(),
            counters=looked,
            least_ns=delays_by_netem_ns(topology),
            most_ns=residual_ns(topology),
            still_ns=still_ns(has_user_space=self.setting.laboratory.has_user_space),
        )

    def causes(self) -> list[Reason]:
        return link_failures(self.setting.views, self._before, self._after, self.setting.taken_down)

    def observation(self) -> CounterLooks:
        return CounterLooks(before=self._before, after=self._after)

"""Relays on the path: what they passed on, and the sessions that they refused."""

from __future__ import annotations

from ...agent import Agent
from ...agent.requests import RelayCounters
from ...model.evidence import Evidence
from ...model.observation import RelayAnswer
from ..asking import ask_all, wait_all
from ..proof.case import Case, Testimony
from ..proof.relays import relay_evidence
from ..setting import Setting
from .witness import Waiting, Witness, carrying


class RelayWitness(Witness):
    """Reads the counters of relays before and after the traffic."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._before: dict[str, RelayAnswer] = {}
        self._after: dict[str, RelayAnswer] = {}

    @classmethod
    def sees(cls, setting: Setting) -> bool:
        return len(setting.network.parts) > 1

    @property
    def _nodes(self) -> dict[str, Agent]:
        """The nodes whose agents are relays."""
        return carrying(self.setting, self.setting.network.relays)

    def look_before(self) -> Waiting:
        asked = ask_all(self._nodes, RelayCounters())

        def answered() -> None:
            self._before = wait_all(asked)

        return answered

    def look_after(self) -> Waiting:
        asked = ask_all(self._nodes, RelayCounters())

        def answered() -> None:
            self._after = wait_all(asked)

        return answered

    def judge(self, case: Case) -> Testimony:
        is_meant = case.kind.fills_tables
        judged = relay_evidence(case.network, self._before, self._after, case.carried, is_meant=is_meant)
        return Testimony(
            evidence=Evidence(relays=judged.relays or None, sessions=judged.sessions or None),
            reasons=judged.invalid,
            notes=judged.notes,
        )

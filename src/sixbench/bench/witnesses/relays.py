"""Relays on the path: what they passed on, and the sessions that they refused."""

from __future__ import annotations

from ...agent import Agent
from ...agent.requests import RelayCountersRequest
from ...model.evidence import Evidence
from ...model.observation import RelayAnswer
from ..proof.case import Case, Testimony
from ..proof.relays import relay_evidence
from ..setting import TrialSetting
from .witness import CountingWitness, carrying


class RelayWitness(CountingWitness[RelayAnswer]):
    """Reads the counters of relays before and after the traffic."""

    request = RelayCountersRequest()

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return len(setting.network.parts) > 1

    @property
    def nodes(self) -> dict[str, Agent]:
        """The nodes whose agents are relays."""
        return carrying(self.setting, self.setting.network.relays)

    def judge(self, case: Case) -> Testimony:
        is_meant = case.traffic.fills_tables
        judged = relay_evidence(case.network, self.before, self.after, case.carried, is_meant=is_meant)
        return Testimony(
            evidence=Evidence(relays=judged.relays or None, sessions=judged.sessions or None),
            reasons=judged.invalid,
            notes=judged.notes,
        )

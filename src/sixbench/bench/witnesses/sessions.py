"""Sessions of the nodes that track connections: how many, what the table refused, and what each takes."""

from __future__ import annotations

from ...agent import Agent
from ...agent.requests import ConnectionTracking
from ...model.evidence import Evidence
from ...model.metric import METRICS
from ...model.observation import TrackingAnswer
from ...model.workloads.connections import SESSION_MEMORY, TEARDOWN_RATE
from ..asking import ask_all, wait_all
from ..proof.case import Case, Testimony
from ..proof.sessions import judge_sessions, session_evidence, session_memory_bytes, teardown_rate_per_s
from ..setting import TrialSetting
from .witness import CountingWitness, Waiting


class SessionWitness(CountingWitness[TrackingAnswer]):
    """Has nodes forget all sessions before the trial, and counts those that they have after it."""

    request = ConnectionTracking()
    first_request = ConnectionTracking(forget=True)

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._torn_down: dict[str, TrackingAnswer] = {}

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return bool(setting.network.tracking)

    @property
    def nodes(self) -> dict[str, Agent]:
        return {name: self.setting.laboratory.agents[name] for name in self.setting.network.tracking}

    def look_after(self) -> Waiting:
        counted = super().look_after()

        def answered() -> None:
            counted()
            if TEARDOWN_RATE in self.setting.kind.metrics:
                self._torn_down = wait_all(ask_all(self.nodes, ConnectionTracking(forget=True)))

        return answered

    def judge(self, case: Case) -> Testimony:
        sessions = session_evidence(self.before, self.after)
        tracking = case.network.tracking
        notes, refused = judge_sessions(tracking, sessions, self.before, is_meant=case.traffic.fills_tables)
        values = {
            SESSION_MEMORY: session_memory_bytes(sessions),
            TEARDOWN_RATE: teardown_rate_per_s(sessions, self._torn_down),
        }
        return Testimony(
            evidence=Evidence(sessions=sessions or None),
            reasons=refused,
            notes=notes,
            metrics={
                METRICS[name].column: value
                for name, value in values.items()
                if value is not None and name in case.kind.metrics
            },
        )

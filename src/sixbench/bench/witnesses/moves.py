"""Moves of a client that lost its address: those that both ends saw, beside those that the events ask for."""

from __future__ import annotations

from ...model.evidence import Evidence
from ..proof.case import Case, Testimony
from ..proof.moves import judge_moves
from ..setting import TrialSetting
from .witness import Witness


class MoveWitness(Witness):
    """Compares the moves in both ends' results with the addresses that the client has left. It asks nobody itself."""

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return bool(setting.remaining)

    def judge(self, case: Case) -> Testimony:
        moves, reasons = judge_moves(case.client, case.server, [case.network, *self.setting.remaining])
        return Testimony(evidence=Evidence(moves=moves), reasons=reasons)

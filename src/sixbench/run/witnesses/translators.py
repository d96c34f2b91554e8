"""Translators on the path: packets of each family, and those that were answered or dropped, by clause."""

from __future__ import annotations

from collections.abc import Mapping

from ...agent.requests import TranslatorCounters
from ...engines import EBPF, USER
from ...model.evidence import Evidence
from ...model.observation import TranslatorsAnswer, TranslatorState
from ..asking import Asked, ask_all, wait_all
from ..proof.case import Case, Testimony
from ..proof.translators import check_translators, translation_notes, translator_evidence
from ..setting import Setting
from .witness import Waiting, Witness, carrying

Translators = dict[str, dict[str, TranslatorState]]
"""Counters by node and device."""


class TranslatorWitness(Witness):
    """Reads the counters of translators that are agents themselves, before and after the traffic."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._before: Translators = {}
        self._after: Translators = {}

    @classmethod
    def sees(cls, setting: Setting) -> bool:
        return bool(setting.network.translators) and setting.laboratory.engine in (EBPF.name, USER.name)

    def look_before(self) -> Waiting:
        asked = self._ask()

        def answered() -> None:
            self._before = _translators(asked)

        return answered

    def look_after(self) -> Waiting:
        asked = self._ask()

        def answered() -> None:
            self._after = _translators(asked)

        return answered

    def _ask(self) -> dict[str, Asked[TranslatorsAnswer]]:
        nodes = carrying(self.setting, self.setting.network.translators)
        return ask_all(nodes, TranslatorCounters())

    def judge(self, case: Case) -> Testimony:
        translators = translator_evidence(case.network, self._before, self._after, case.forgotten)
        return Testimony(
            evidence=Evidence(translators=translators),
            reasons=check_translators(case.network, translators, case.carried),
            notes=translation_notes(translators),
        )


def _translators(asked: Mapping[str, Asked[TranslatorsAnswer]]) -> Translators:
    return {name: answer.translators for name, answer in wait_all(asked).items()}

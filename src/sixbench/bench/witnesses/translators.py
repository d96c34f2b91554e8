"""Translators on the path: packets of each family, and those that were answered or dropped, by clause."""

from __future__ import annotations

from collections.abc import Mapping

from ...agent import Agent
from ...agent.requests import TranslatorCountersRequest
from ...engines import EBPF, USER
from ...model.evidence import Evidence
from ...model.observation import TranslatorsAnswer, TranslatorState
from ..proof.case import Case, Testimony
from ..proof.translators import check_translators, translation_notes, translator_evidence
from ..setting import TrialSetting
from .witness import CountingWitness, carrying

Translators = dict[str, dict[str, TranslatorState]]
"""Counters by node and device."""


class TranslatorWitness(CountingWitness[TranslatorsAnswer]):
    """Reads the counters of translators that are agents themselves, before and after the traffic."""

    request = TranslatorCountersRequest()

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return bool(setting.network.translators) and setting.laboratory.engine in (EBPF.name, USER.name)

    @property
    def nodes(self) -> dict[str, Agent]:
        return carrying(self.setting, self.setting.network.translators)

    def judge(self, case: Case) -> Testimony:
        translators = translator_evidence(case.network, _by_device(self.before), _by_device(self.after), case.forgotten)
        return Testimony(
            evidence=Evidence(translators=translators),
            reasons=check_translators(case.network, translators, case.carried),
            notes=translation_notes(translators),
        )


def _by_device(answers: Mapping[str, TranslatorsAnswer]) -> Translators:
    return {name: answer.translators for name, answer in answers.items()}

"""Links with a known truth: whether they did what they claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...agent.requests import EmulateRecord
from ...lab.emulation import emulated_links
from ...model.evidence import Evidence
from ...model.observation import EmulateAnswer
from .. import emulation
from ..asking import ask, wait_all
from ..proof.case import Case, Testimony
from ..proof.emulation import assess
from ..setting import TrialSetting
from .witness import Waiting, Witness, nothing


@dataclass(frozen=True, kw_only=True)
class EmulatorRecords:
    """Counts of our emulator, by link."""

    by_link: Mapping[str, EmulateAnswer] = field(default_factory=dict)


class EmulationWitness(Witness):
    """Has the emulator count anew when a trial begins, and asks what it did."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._records: dict[str, EmulateAnswer] = {}

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return any(link.is_emulated for link in setting.laboratory.topology.wires)

    def begin(self) -> Waiting:
        emulation.begin(self.setting.laboratory, self.setting.seed, self.setting.token)
        return nothing

    def look_after(self) -> Waiting:
        emulator = self.setting.laboratory.emulator
        if emulator is None:
            return nothing
        links = [link.name for _, link in emulated_links(self.setting.laboratory.topology)]
        asked = {link: ask(emulator, EmulateRecord(link=link)) for link in links}

        def answered() -> None:
            self._records = wait_all(asked)

        return answered

    def observation(self) -> EmulatorRecords:
        return EmulatorRecords(by_link=self._records)

    def judge(self, case: Case) -> Testimony:
        emulated = assess(case.network.topology, self._records, self.setting.taken_down)
        return Testimony(evidence=Evidence(emulation=emulated.links or None), reasons=emulated.invalid)

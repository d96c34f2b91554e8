"""Programs of others, under test or as an end of the trial: what each used, whether it lived, and its output; and the
versions of all others."""

from __future__ import annotations

from collections.abc import Mapping

from ...agent import Agent
from ...agent.requests import DeviceCounters, DeviceLog
from ...model.evidence import Evidence
from ...model.observation import DeviceCountersAnswer, DeviceLogAnswer
from ...model.programs import has_program
from ...model.reason import Reason
from ..asking import ask, wait_all
from ..program_ends import output_of, use_of
from ..proof.case import Case, Testimony
from ..proof.programs import ended_programs, program_evidence
from ..setting import TrialSetting
from .witness import CountingWitness, Waiting


class ProgramWitness(CountingWitness[DeviceCountersAnswer]):
    """Reads what each program under test has used before and after the traffic, and its output in between."""

    request = DeviceCounters()
    first_request = DeviceCounters(reset_peak=True)

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._logs: dict[str, DeviceLogAnswer] = {}
        self._versions: Mapping[str, dict[str, str]] = {}
        self._of_ends: dict[str, bytes] = {}

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return bool(setting.network.hosting or setting.laboratory.versions or has_program(setting.params))

    @property
    def nodes(self) -> dict[str, Agent]:
        return {name: self.setting.laboratory.agents[name] for name in self.setting.network.hosting}

    def look_after(self) -> Waiting:
        self._versions = self.setting.laboratory.versions
        counted = super().look_after()

        def answered() -> None:
            counted()
            for reason in ended_programs(self.after)[:1]:
                self.setting.laboratory.spoil(reason.text)
            self._logs = wait_all(
                {
                    name: ask(agent, DeviceLog(after=self.before[name].log_bytes))
                    for name, agent in self.nodes.items()
                    if name in self.before
                }
            )

        return answered

    def failure(self) -> Reason | None:
        return next(iter(ended_programs(self.after)), None)

    def judge(self, case: Case) -> Testimony:
        ends = dict(zip(case.between, (case.client, case.server), strict=True))
        self._of_ends = {node: output for node, result in ends.items() if (output := output_of(result))}
        used = {node: use for node, result in ends.items() if (use := use_of(result)) is not None}
        programs = program_evidence(self.before, self.after, case.network.guests) | used or None
        return Testimony(evidence=Evidence(programs=programs, versions=dict(self._versions) or None))

    def files(self) -> dict[str, bytes]:
        """The output of each program in the trial."""
        files = {f"{node}.log": output for node, output in self._of_ends.items()}
        for node, answer in self._logs.items():
            if answer.text:
                omitted = f"({answer.omitted_bytes} bytes before this are gone)\n" if answer.omitted_bytes else ""
                files[f"{node}.log"] = (omitted + answer.text).encode()
        return files

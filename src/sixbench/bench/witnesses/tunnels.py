"""Ends of tunnels: packets in and out, drops with their reasons, and the run time of BPF programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait

from ...agent import Agent
from ...agent.requests import TunnelCountersRequest
from ...model.evidence import Evidence
from ...model.observation import TunnelsAnswer, TunnelState
from ...model.workload import Result
from ..asking import ask_all, wait_all
from ..proof.case import Case, Testimony
from ..proof.packets import interface_changes
from ..proof.tunnels import check_tunnels, drop_notes, program_times, tunnel_evidence
from ..setting import TrialSetting
from .counters import CounterLooks
from .witness import CountingWitness, Waiting, carrying, nothing

PROGRAM_TIME_NS = 200_000_000
"""Time for which the run time of BPF programs is measured, from the start on. Meanwhile each run takes some 20 ns
longer."""

Tunnels = dict[str, dict[str, TunnelState]]
"""Counters by node and device."""


class TunnelWitness(CountingWitness[TunnelsAnswer]):
    """Reads the counters of tunnels' ends before and after the traffic. Those of the kernel are interfaces, which are
    counted with all others."""

    request = TunnelCountersRequest()

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._programs: dict[str, TunnelsAnswer] = {}

    @property
    def nodes(self) -> dict[str, Agent]:
        """The nodes whose agents may carry tunnels themselves."""
        return carrying(self.setting, self.setting.network.tunnels)

    def begin(self) -> Waiting:
        if not self.setting.is_bpf:
            return nothing
        asked = ask_all(self.nodes, TunnelCountersRequest(run_time="start"))

        def started() -> None:
            wait_all(asked)

        return started

    def watch(self, running: Sequence[Future[Result]]) -> None:
        if self.setting.is_bpf:
            wait(running, timeout=PROGRAM_TIME_NS / 1e9)
            self._programs = wait_all(ask_all(self.nodes, TunnelCountersRequest(run_time="stop")))

    def judge(self, case: Case) -> Testimony:
        looks = case.seen(CounterLooks)
        interfaces = interface_changes(looks.before, looks.after)
        tunnels = tunnel_evidence(case.network, _by_device(self.before), _by_device(self.after), interfaces)
        return Testimony(
            evidence=Evidence(tunnels=tunnels),
            reasons=check_tunnels(case.network, tunnels, case.carried),
            notes=drop_notes(tunnels),
            metrics=program_times(_by_device(self._programs)),
        )


def _by_device(answers: Mapping[str, TunnelsAnswer]) -> Tunnels:
    return {name: answer.tunnels for name, answer in answers.items()}

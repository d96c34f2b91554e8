"""Ends of tunnels: packets in and out, drops with their reasons, and the run time of BPF programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait

from ...agent.requests import TunnelCounters
from ...model.evidence import Evidence
from ...model.observation import TunnelsAnswer, TunnelState
from ...model.workload import Result
from ..asking import Asked, ask_all, wait_all
from ..proof.case import Case, Testimony
from ..proof.packets import interface_changes
from ..proof.tunnels import check_tunnels, drop_notes, program_times, tunnel_evidence
from ..setting import Setting
from .counters import CounterLooks
from .witness import Waiting, Witness, carrying, nothing

PROGRAM_TIME_NS = 200_000_000
"""Time for which the run time of BPF programs is measured, from the start on. Meanwhile each run takes some 20 ns
longer."""

Tunnels = dict[str, dict[str, TunnelState]]
"""Counters by node and device."""


class TunnelWitness(Witness):
    """Reads the counters of tunnels' ends before and after the traffic. Those of the kernel are interfaces, which are
    counted with all others."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._before: Tunnels = {}
        self._after: Tunnels = {}
        self._programs: Tunnels = {}

    def look_before(self) -> Waiting:
        asked = self._ask()

        def answered() -> None:
            self._before = _tunnels(asked)

        return answered

    def begin(self) -> Waiting:
        if not self.setting.is_bpf:
            return nothing
        asked = self._ask("start")

        def started() -> None:
            wait_all(asked)

        return started

    def watch(self, running: Sequence[Future[Result]]) -> None:
        if self.setting.is_bpf:
            wait(running, timeout=PROGRAM_TIME_NS / 1e9)
            self._programs = _tunnels(self._ask("stop"))

    def look_after(self) -> Waiting:
        asked = self._ask()

        def answered() -> None:
            self._after = _tunnels(asked)

        return answered

    def _ask(self, run_time: str | None = None) -> dict[str, Asked[TunnelsAnswer]]:
        """Asks the nodes whose agents may carry tunnels themselves."""
        nodes = carrying(self.setting, self.setting.network.tunnels)
        return ask_all(nodes, TunnelCounters(run_time=run_time))

    def judge(self, case: Case) -> Testimony:
        looks = case.seen(CounterLooks)
        tunnels = tunnel_evidence(case.network, self._before, self._after, interface_changes(looks.before, looks.after))
        return Testimony(
            evidence=Evidence(tunnels=tunnels),
            reasons=check_tunnels(case.network, tunnels, case.carried),
            notes=drop_notes(tunnels),
            metrics=program_times(self._programs),
        )


def _tunnels(asked: Mapping[str, Asked[TunnelsAnswer]]) -> Tunnels:
    return {name: answer.tunnels for name, answer in wait_all(asked).items()}

"""Clocks of client and server on two machines, by an exchange over the trial's own path before and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.errors import CapabilityError
from ...model.evidence import Evidence
from ...model.evidence.clocks import ClockLook, TwoClocks
from ...model.host import MOST_DRIFT_PPM
from ...model.leg import Leg
from ...model.parameter import Scalar
from ...model.workloads.common import PACKET_LOG
from ..clock_sources.link import read_link
from ..one_clock import drop_one_clock_metrics
from ..one_way import summarise_by_line, summarise_without
from ..parts import Hosts
from ..proof.case import Case, EndResults, Testimony
from ..setting import TrialSetting
from .witness import Waiting, Witness, nothing

if TYPE_CHECKING:
    from ...stats.two_clocks import Exchange, Line


class ClockWitness(Witness):
    """Looks at the clocks of both ends, where the workload can note when each datagram came."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._is_needed = PACKET_LOG in setting.kind.parameters
        self._before: tuple[Exchange, int] | None = None
        self._clocks: TwoClocks | None = None
        self._line: Line | None = None
        self._unknown: str | None = None

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return not setting.has_one_clock

    @property
    def params(self) -> Mapping[str, Scalar]:
        return {PACKET_LOG.column: True} if self._is_needed else {}

    def look_before(self) -> Waiting:
        self._before = self._look("before")
        return nothing

    def look_after(self) -> Waiting:
        from ...stats.two_clocks import line_of

        if self._before is None or self.is_cut_short:
            return nothing
        after = self._look("after")
        if after is None:
            return nothing
        try:
            # Twice the drift, because one clock may be fast and the other slow.
            self._line = line = line_of(self._before[0], after[0], 2 * MOST_DRIFT_PPM)
        except ValueError as error:
            self._unknown = (
                f"no single difference of the clocks agrees with the exchanges before and after it ({error})"
            )
            return nothing
        client, server = (self.setting.laboratory.agents[name].host for name in self.setting.between)
        looks = [
            ClockLook(realtime_ns=realtime_ns, client_ns=at.at_ns, low_ns=at.low_ns, high_ns=at.high_ns)
            for at, (_, realtime_ns) in ((line.first, self._before), (line.last, after))
        ]
        self._clocks = TwoClocks(
            client=client or "",
            server=server or "",
            before=looks[0],
            after=looks[1],
            low_ppm=line.low_ppm,
            high_ppm=line.high_ppm,
        )
        return nothing

    def _look(self, when: str) -> tuple[Exchange, int] | None:
        if not self._is_needed:
            return None
        try:
            return read_link(_ends(self.setting), f"{self.setting.key}-{when}")
        except CapabilityError as error:
            self._unknown = f"{error} ({when} the trial)"
            return None

    def judge(self, case: Case) -> Testimony:
        if self._clocks is None or self._line is None:
            measured = summarise_without(case, self._unknown)
        else:
            measured = summarise_by_line(case, self._line, self._clocks)
        return Testimony(evidence=Evidence(clocks=self._clocks), measured=measured)

    @classmethod
    def judge_results(cls, results: EndResults) -> Testimony:
        """Leaves out all that needs one clock. That needs no note, because nobody expects it between two machines."""
        measured = results.kind.summarise(results.params, results.client, results.server)
        drop_one_clock_metrics(measured)
        return Testimony(measured=measured)


def _ends(setting: TrialSetting) -> Hosts:
    """Between whom the clocks are looked at: those at the ends of the cable where one joins the two machines, since
    nothing that is emulated is between them; else client and server."""
    hosts, agents = setting.hosts, setting.laboratory.agents
    for crossing in (view.crossing for view in setting.views):
        near, far = agents.get(crossing.near), agents.get(crossing.far)
        if near is None or far is None or (near.host, far.host) != (hosts.client.host, hosts.server.host):
            continue
        for family in (hosts.family, 4, 6):
            source, destination = (crossing.link.end_of(end).address(family) for end in (crossing.near, crossing.far))
            if source is not None and destination is not None:
                leg = Leg(
                    family=family, near=crossing.near, far=crossing.far, source=source.ip, destination=destination.ip
                )
                return replace(hosts, client=near, server=far, family=family, legs={family: (leg,)})
    return hosts

"""Packets on every link of the path, which prove by their headers that the trial took it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...agent import Agent
from ...agent.requests import CaptureStart, CaptureStop
from ...model.observation import CaptureAnswer
from ..asking import ask
from ..parts import parts_of, trial_expected_ns
from ..proof.case import Case, Testimony
from ..proof.discovered import without_questions
from ..proof.packets import judge, silent_notes
from ..proof.pcapng import to_pcapng
from ..proof.viewpoints import middle_of
from ..session import GRACE_NS, UNTIMED_LIMIT_NS
from ..setting import TrialSetting
from .counters import CounterLooks
from .witness import Waiting, Witness

CAPTURE_PACKETS = 64
CAPTURE_SNAPLEN_BYTES = 192
"""So many packets of each link prove the path, by their headers: the deepest stack that is measured, VXLAN over IPv6
with TCP's options, takes 186."""
DHCP_SNAPLEN_BYTES = 590
"""Ethernet, and the longest message that every DHCP client takes (RFC 2131 section 2)."""
SHARED_CAPTURE_PACKETS = 1024
"""Traffic in which one sender may send many packets before the other sends any: flows of two families share the
links."""
KEPT_PACKETS = 4096
WHOLE_PACKET_BYTES = 65535

EVERYBODY = "255.255.255.255"
"""Addresses of DHCP, both ways: the host has no address (RFC 2131 section 4.1)."""


@dataclass(frozen=True, kw_only=True)
class Captures:
    """The captured packets of each link, in the order of the path."""

    answers: Sequence[CaptureAnswer] = ()


class CaptureWitness(Witness):
    """Captures packets on every link of the path."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._capturing: dict[str, Agent] = {}
        self._captures: list[CaptureAnswer] = []

    def begin(self) -> Waiting:
        setting = self.setting
        timed_ns = trial_expected_ns(setting.kind, setting.params)
        flows = len(parts_of(setting.kind, setting.params))
        addresses, asked = _all_addresses(setting), []
        for index, view in enumerate(setting.views):
            agent, name = setting.laboratory.agents[view.end.node], f"{setting.key}-{index}"
            self._capturing[name] = agent
            request = CaptureStart(
                capture=name,
                interface=view.end.name,
                addresses=addresses,
                after_ns=0 if setting.keeps_packets else int(setting.params.get("warmup_ns", 0)),
                max_packets=_packets(setting),
                max_ns=UNTIMED_LIMIT_NS if timed_ns is None else timed_ns + GRACE_NS * flows,
                snaplen_bytes=_snaplen_bytes(setting),
            )
            asked.append(ask(agent, request))

        def started() -> None:
            for item in asked:
                item.answer()

        return started

    def end(self) -> Waiting:
        asked = [ask(agent, CaptureStop(capture=name)) for name, agent in self._capturing.items()]

        def stopped() -> None:
            self._captures = [item.answer() for item in asked]

        return stopped

    def observation(self) -> Captures:
        return Captures(answers=self._captures)

    def judge(self, case: Case) -> Testimony:
        looks = case.seen(CounterLooks)
        captures = without_questions(case.network, self._captures)
        judgement = judge(case.views, captures, looks.before, looks.after, case.traffic, case.unreached)
        return Testimony(
            evidence=judgement.evidence,
            reasons=judgement.invalid,
            notes=silent_notes(judgement.evidence.silent or {}),
        )

    def files(self) -> dict[str, bytes]:
        """The packets of the most telling link, or of all links where they are kept."""
        views, middle = self.setting.views, middle_of(self.setting.views)
        files = {}
        for index, (view, capture) in enumerate(zip(views, self._captures, strict=False)):
            if capture.packets and (self.setting.keeps_packets or index == middle):
                interface = f"{view.end.name} of {view.end.node} on {view.link.name}"
                packets = to_pcapng(capture.packets, interface, _snaplen_bytes(self.setting))
                files[f"{view.link.name}.pcapng"] = packets
        return files


def _has_dhcp(setting: TrialSetting) -> bool:
    """True if a CLAT asks by DHCP whether it can do without IPv4."""
    clat = setting.network.learning
    return clat is not None and clat.discovery is not None and clat.discovery.dhcp is not None


def _snaplen_bytes(setting: TrialSetting) -> int:
    """Captured part of each packet."""
    if setting.keeps_packets:
        return WHOLE_PACKET_BYTES
    return DHCP_SNAPLEN_BYTES if _has_dhcp(setting) else CAPTURE_SNAPLEN_BYTES


def _packets(setting: TrialSetting) -> int:
    """Number of captured packets of each link."""
    if setting.keeps_packets:
        return KEPT_PACKETS
    return SHARED_CAPTURE_PACKETS if len(setting.legs) > 1 else CAPTURE_PACKETS


def _all_addresses(setting: TrialSetting) -> list[str]:
    """The addresses of all nodes on the path, of both families, so that packets of the wrong family are seen too; and
    those that stand for the hosts on the legs behind translators. Where a CLAT asks by DHCP, that of everybody too."""
    topology = setting.network.topology
    results = {
        str(address.ip): None
        for node in setting.watched
        for link in topology.links_of(node)
        for address in (link.end_of(node).ipv4, link.end_of(node).ipv6)
        if address is not None
    }
    for legs in setting.legs.values():
        results |= {str(address): None for leg in legs for address in (leg.source, leg.destination)}
    return [*results, *([EVERYBODY] if _has_dhcp(setting) else [])]

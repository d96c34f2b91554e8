"""Prefixes that CLATs learned, and the DHCP by which they were told to do without IPv4."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.evidence import Evidence
from ...model.observation import DiscoveredPrefixAnswer
from ..proof.case import Case, Testimony
from ..proof.discovered import dhcp_evidence, discovered_prefixes
from ..setting import TrialSetting
from .captures import Captures
from .witness import Waiting, Witness, nothing


class DiscoveryWitness(Witness):
    """Keeps the prefixes that nodes learned last, when the network was built or in the trial."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._discovered: Mapping[str, DiscoveredPrefixAnswer] = {}

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return setting.network.learning is not None or bool(setting.laboratory.discovered)

    def look_after(self) -> Waiting:
        self._discovered = dict(self.setting.laboratory.discovered)
        return nothing

    def judge(self, case: Case) -> Testimony:
        # A translator that was taken away in the trial was made anew once its node had learned the prefix.
        captures = case.seen(Captures).answers if case.forgotten else None
        dhcp, unproved = dhcp_evidence(case.network, case.views, captures)
        discovered = discovered_prefixes(self._discovered) or None
        return Testimony(evidence=Evidence(discovered=discovered, dhcp=dhcp), reasons=unproved)

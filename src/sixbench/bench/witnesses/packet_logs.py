"""Times of the datagrams that a workload was asked to log, as files beside the record."""

from __future__ import annotations

from ...model.workloads.common import PACKET_LOG
from ..proof.case import Case, Testimony
from ..setting import TrialSetting
from .witness import Witness


class PacketLogWitness(Witness):
    """Joins the logs of both ends. It asks nobody itself."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._files: dict[str, bytes] = {}

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return bool(setting.params.get(PACKET_LOG.column))

    def judge(self, case: Case) -> Testimony:
        from ...store.packet_log import packet_log_files

        self._files = packet_log_files(case.client, case.server)
        return Testimony()

    def files(self) -> dict[str, bytes]:
        return self._files

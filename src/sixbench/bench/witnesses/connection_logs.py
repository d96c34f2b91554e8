"""Logs of a client's connections, by which Wireshark reads the packets that a trial keeps: secrets of TLS, and events
of QUIC. They prove nothing."""

from __future__ import annotations

from ...agent import Agent
from ...agent.requests import ConnectionLogsStart, ConnectionLogsStop
from ...model.observation import ConnectionLogs
from ...store import QLOG, TLS_KEYS
from ..asking import ask
from ..proof.case import Case, Testimony
from ..setting import TrialSetting
from .witness import Waiting, Witness, nothing


class ConnectionLogWitness(Witness):
    """Lets the client's node keep the logs of its connections, where the packets are kept too."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._keeping: Agent | None = None
        self._logs: ConnectionLogs | None = None

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return setting.keeps_packets

    def begin(self) -> Waiting:
        client = self.setting.hosts.client
        asked = ask(client, ConnectionLogsStart())

        def started() -> None:
            asked.answer()
            self._keeping = client

        return started

    def end(self) -> Waiting:
        if self._keeping is None:
            return nothing
        asked = ask(self._keeping, ConnectionLogsStop())

        def stopped() -> None:
            self._logs = asked.answer()

        return stopped

    def judge(self, case: Case) -> Testimony:
        logs = self._logs
        left_out = {} if logs is None else {TLS_KEYS: logs.tls_keys_left_out_bytes, QLOG: logs.qlog_left_out_bytes}
        return Testimony(notes=[f"{name} had no room for {size} bytes more" for name, size in left_out.items() if size])

    def files(self) -> dict[str, bytes]:
        """The logs that have anything in them."""
        logs = self._logs
        texts = {} if logs is None else {TLS_KEYS: logs.tls_keys, QLOG: logs.qlog}
        return {name: text.encode() for name, text in texts.items() if text}

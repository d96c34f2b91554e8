"""Logs of a client's connections: the files that a trial keeps of them, and remarks on what they had no room for."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sixbench.agent.requests import ConnectionLogsStop
from sixbench.agent.requests.request import Answered, Request
from sixbench.bench.proof.case import Case
from sixbench.bench.setting import TrialSetting
from sixbench.bench.witnesses import Witnesses
from sixbench.bench.witnesses.connection_logs import ConnectionLogWitness
from sixbench.model.errors import AgentError
from sixbench.store import QLOG, TLS_KEYS

pytestmark = pytest.mark.computes

KEYS: dict[str, Any] = {
    "tls_keys": "CLIENT_TRAFFIC_SECRET_0 ab 01\n",
    "tls_keys_left_out_bytes": 0,
    "qlog_left_out_bytes": 0,
}


class Client:
    """An agent that answers these operations."""

    def __init__(self, **answers: dict[str, Any] | AgentError) -> None:
        self.answers = {"start": {}, **answers}
        self.asked: list[str] = []

    def ask(self, request: Request[Answered]) -> Future[Answered]:
        self.asked.append(request.op)
        answer: Future[Answered] = Future()
        given = self.answers[request.op.removeprefix("connection-logs-")]
        if isinstance(given, AgentError):
            answer.set_exception(given)
        else:
            answer.set_result(request.read(given))
        return answer

    def wait(self, answer: Future[Answered], *_: object) -> Answered:
        return answer.result()


def observed(client: Client) -> ConnectionLogWitness:
    setting = cast(TrialSetting, SimpleNamespace(hosts=SimpleNamespace(client=client), keeps_packets=True))
    witness = ConnectionLogWitness(setting)
    with Witnesses([witness]).observing():
        pass
    return witness


def test_only_logs_that_have_anything_in_them_are_kept() -> None:
    both = observed(Client(stop={**KEYS, "qlog": "{}\n"}))
    assert both.files() == {TLS_KEYS: KEYS["tls_keys"].encode(), QLOG: b"{}\n"}
    assert list(observed(Client(stop=KEYS)).files()) == [TLS_KEYS]
    assert observed(Client(stop={**KEYS, "tls_keys": ""})).files() == {}


def test_a_log_that_had_no_room_for_all_is_remarked_on() -> None:
    full = observed(Client(stop={**KEYS, "qlog": "{}\n", "qlog_left_out_bytes": 300}))
    assert list(full.judge(cast(Case, None)).notes) == ["client.sqlog had no room for 300 bytes more"]
    assert list(observed(Client(stop=KEYS)).judge(cast(Case, None)).notes) == []


def test_what_was_not_begun_is_not_ended() -> None:
    client = Client(start=AgentError("capture-exists", "logs of connections are kept already"))
    with pytest.raises(AgentError, match="kept already"):
        observed(client)
    assert client.asked == ["connection-logs-start"]


def test_secrets_longer_than_the_protocol_has_them_are_refused() -> None:
    with pytest.raises(AgentError, match="tls_keys"):
        ConnectionLogsStop().read({**KEYS, "tls_keys": "x" * (2**20 + 1)})


def test_a_trial_whose_packets_are_not_kept_asks_for_no_secrets() -> None:
    assert not ConnectionLogWitness.sees(cast(TrialSetting, SimpleNamespace(keeps_packets=False)))
    assert ConnectionLogWitness.sees(cast(TrialSetting, SimpleNamespace(keeps_packets=True)))

"""The bring-up of a CLAT: it forgets its prefix and learns it again, while the client asks whether IPv4 works."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from ...agent.requests import ClientRunRequest, TranslatorRemove
from ...lab.render import device_lines_of
from ...mechanisms import find_engine
from ...mechanisms.discovering import wrong_prefix
from ...model.device import Discovery, Translator
from ...model.errors import LabError
from ...model.json_object import JsonObject
from ...model.network import Network
from ...model.observation import DiscoveredPrefixAnswer, TranslatorState
from ...model.observer import Observer
from ...model.parameter import Scalar
from ...model.workload import Result
from ...model.workloads import bring_up
from ..laboratory import Laboratory
from ..parts import Started
from ..session import ANSWER_TIMEOUT_S, cancel
from ..setting import TrialSetting
from .performer import Performance, Performer

HEAD_START_S = 0.02
"""Time for which the client has sent requests when the CLAT begins, so that none of its times begins too late."""
REST_S = 0.01
"""Time of the wait beyond two round trips before the prefix is forgotten again. Answers to later requests come back
until then: without a translator they would circle between the CLAT and its router."""


class BringUpPerformer(Performer):
    """Bring-ups of the path's CLAT, one after the other."""

    workload = bring_up.KIND.name

    def perform(
        self, setting: TrialSetting, params: dict[str, Scalar], begun: Started, observer: Observer | None
    ) -> Performance:
        begun([])
        kind, count = setting.kind, int(bring_up.REPETITIONS.of(params))
        ups = _BringUps(laboratory=setting.laboratory, network=setting.network, forgotten=[])
        client, server = ups.run(kind.served_by, kind.agent_params(params), count, setting.key, setting.token)
        return Performance(client=client, server=server, forgotten=tuple(ups.forgotten))


@dataclass(frozen=True, kw_only=True)
class _BringUps:
    """The repetitions of a trial.

    Attributes:
        forgotten: the last counters of the translators that were taken away.
    """

    laboratory: Laboratory
    network: Network
    forgotten: list[TranslatorState]

    def run(
        self, workload: str, params: Mapping[str, Scalar], count: int, key: str, token: str
    ) -> tuple[Result, Result]:
        """Both sides' results. Raises `AgentError` or `LabError`; the laboratory is spoiled then, as its CLAT may be
        without a translator."""
        clat = self.network.learning
        assert clat is not None, "paths without one are refused"
        assert clat.discovery is not None, "it learns its prefix"
        try:
            repetitions = [
                self._once(clat, clat.discovery, workload, params, f"{key}-{number}", token)
                for number in range(1, count + 1)
            ]
        except BaseException as error:
            self.laboratory.spoil(f"{clat.device} of {clat.node} was not brought up: {error}")
            raise
        return {"repetitions": repetitions}, {}

    def _once(
        self,
        clat: Translator,
        discovery: Discovery,
        workload: str,
        params: Mapping[str, Scalar],
        session: str,
        token: str,
    ) -> Result:
        first = self.network.legs[0]
        client, node = self.laboratory.agents[first.near], self.laboratory.agents[clat.node]
        self.forgotten.append(node.answer(TranslatorRemove(device=clat.device), timeout_s=ANSWER_TIMEOUT_S))
        limit_s = int(bring_up.PATIENCE.of(params)) / 1e9 + ANSWER_TIMEOUT_S
        running = client.ask(
            ClientRunRequest(
                session=session,
                workload=workload,
                token=token,
                params=params,
                address=str(first.source),
                peer=str(first.destination),
                port=0,
            )
        )
        try:
            time.sleep(HEAD_START_S)
            asked = [fields for fields in (discovery.dhcp, discovery.fields) if fields is not None]
            timeout_s = sum(int(fields["timeout_ns"]) for fields in asked) / 1e9 + ANSWER_TIMEOUT_S
            answers = node.call("translator-bring-up", timeout_s=timeout_s, **self._fields(clat, discovery))
            probe = client.wait(running, "run", limit_s)
        except BaseException:
            cancel(client, session)
            raise
        before = {"dhcp": answers["dhcp"]} if "dhcp" in answers else {}
        discovered = DiscoveredPrefixAnswer.model_validate(answers["discovered"] | before)
        wrong = wrong_prefix(discovery, discovered.prefix)
        if wrong is not None:
            raise LabError(f"bringing up {clat.device} in {clat.node}: {wrong}")
        self.laboratory.discovered[clat.node] = discovered
        answered = probe.get("answered")
        if answered is not None:
            time.sleep(REST_S + 2 * (answered["received_ns"] - answered["sent_ns"]) / 1e9)
        return {"clat": answers, "probe": probe}

    def _fields(self, clat: Translator, discovery: Discovery) -> JsonObject:
        [request] = find_engine(self.laboratory.engine).make(clat).requests
        translator = request.fields | {"mapping": request.fields["mapping"] | {"prefixes": []}}
        asking = {} if discovery.dhcp is None else {"dhcp": discovery.dhcp}
        return asking | {
            "discovery": discovery.fields,
            "translator": translator,
            "ip": device_lines_of(self.network, clat),
        }

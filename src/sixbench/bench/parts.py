"""A trial of several flows: sessions between the same two agents, at the same time or one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from ..agent import Agent
from ..agent.answers import ServeAnswer
from ..agent.requests import ClientRunRequest, Serve
from ..model.leg import Legs
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.programs import client_end, server_end
from ..model.topology import Family
from ..model.workload import Part, Result, WorkloadKind
from .arriving import SHORTEST_NS, Watching, ends_of
from .program_ends import blaming_server, require_alive, require_success
from .session import ANSWER_TIMEOUT_S, cancel, expected_ns, finish, longest_ns, wait_for_run


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """The agents of both ends, and the legs between them by the family of the client's addresses.

    Attributes:
        family: the family of the path.
        legs: in the order in which flows that use several families get their addresses.
        further: those to which flows of the path's family move when the client loses the addresses before.
        first_silence_ns: how long a server of datagrams waits where none has arrived; None: the agent's default.
    """

    client: Agent
    server: Agent
    family: Family
    legs: Mapping[Family, Legs]
    first_silence_ns: int | None = None
    further: Sequence[Legs] = ()

    def of(self, part: Part) -> list[Legs]:
        """The legs of a part: at first, and then those to which it moves."""
        if not part.families:
            family = part.family or self.family
            return [self.legs[family], *(self.further if family == self.family else ())]
        return [legs for family, legs in self.legs.items() if family in part.families]


ALONE = ""
"""The name of the one part of a trial that has no others."""

Started = Callable[[Sequence[Future[Result]]], None]


def parts_of(kind: WorkloadKind, params: Mapping[str, Scalar]) -> tuple[Part, ...]:
    """The flows of a trial. There is one where the workload is one of the agent's."""
    if kind.parts is not None:
        return kind.parts(params)
    return (
        Part(
            name=ALONE,
            workload=kind.served_by,
            params=kind.agent_params(params),
            families=kind.families(params),
            server=server_end(kind.name, params),
            client=client_end(kind.name, params),
        ),
    )


def trial_expected_ns(kind: WorkloadKind, params: Mapping[str, Scalar]) -> int | None:
    """Length of the measuring of a trial; None where it is not given as a time."""
    total_ns = 0
    for together in _steps(parts_of(kind, params)):
        times_ns = [expected_ns(part.params) for part in together]
        known_ns = [time_ns for time_ns in times_ns if time_ns is not None]
        if len(known_ns) < len(times_ns):
            return None
        total_ns += max(known_ns)
    return total_ns


def run_parts(
    parts: Sequence[Part], hosts: Hosts, key: str, token: str, started: Started, observer: Observer | None = None
) -> tuple[Result, Result]:
    """Both sides' results: those of a single part, or `{"parts": {name: result}}`. Raises `AgentError`; no session is
    left then.

    Args:
        key: of the trial; the sessions' names begin with it.
        started: is called with what runs, once the first step has begun.
        observer: is told what arrives and how senders fare, by other threads. None: nobody is asked.
    """
    client: dict[str, Result] = {}
    server: dict[str, Result] = {}
    for index, together in enumerate(_steps(parts)):
        names = {part.name: f"{key}-{part.name}" if part.name != ALONE else key for part in together}
        try:
            served = {part.name: _serve(part, hosts, names[part.name], token) for part in together}
            running = {part.name: _run(part, hosts, names[part.name], token, served[part.name]) for part in together}
            if index == 0:
                started(list(running.values()))
            with contextlib.ExitStack() as watching:
                for part in together:
                    watching.enter_context(_watching(part, hosts, key, names[part.name], observer))
                for part in _first_to_fail_first(together, running):
                    limit_ns = longest_ns(part.params)
                    ending = partial(_finish, part, hosts, names[part.name])
                    with _blaming(part, ending):
                        client[part.name] = wait_for_run(hosts.client, running[part.name], names[part.name], limit_ns)
                    require_success(client[part.name])
                    server[part.name] = ending(client[part.name])
                    require_alive(server[part.name])
        except BaseException:
            for name in names.values():
                cancel(hosts.client, name)
                cancel(hosts.server, name)
            raise
    if ALONE in client:
        return client[ALONE], server[ALONE]
    return {"parts": client}, {"parts": server}


def _finish(part: Part, hosts: Hosts, session: str, client_result: Result) -> Result:
    return finish(
        hosts.server,
        session,
        part.workload,
        part.params,
        client_result,
        hosts.first_silence_ns,
        is_program=part.server is not None,
    )


def _blaming(part: Part, ending: Callable[[Result], Result]) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if part.server is None else blaming_server(lambda: ending({}))


def _steps(parts: Sequence[Part]) -> list[list[Part]]:
    ordered = sorted(parts, key=lambda part: part.step)
    return [list(together) for _, together in groupby(ordered, key=lambda part: part.step)]


def _first_to_fail_first(together: Sequence[Part], running: Mapping[str, Future[Result]]) -> list[Part]:
    """The parts of a step, in the order in which to wait for them. Who waits for another one that has failed would fail
    as well, later and for no reason of its own."""
    if len(together) == 1:
        return list(together)
    limit_ns = min(longest_ns(part.params) for part in together)
    ended = wait(running.values(), timeout=limit_ns / 1e9, return_when=FIRST_EXCEPTION).done
    return sorted(together, key=lambda part: running[part.name] not in ended or running[part.name].exception() is None)


def _watching(part: Part, hosts: Hosts, key: str, session: str, observer: Observer | None) -> Watching:
    """Function that asks both ends of a flow while it is measured."""
    return Watching(
        ends_of(part.workload, part.params, client=hosts.client, server=hosts.server),
        session,
        key,
        part.name,
        every_ns=int(part.params.get("interval_ns", SHORTEST_NS)),
        until_ns=int(part.params["duration_ns"]) if "duration_ns" in part.params else None,
        observer=observer,
    )


def _serve(part: Part, hosts: Hosts, session: str, token: str) -> ServeAnswer:
    last, *others = (legs[-1] for legs in hosts.of(part))
    request = Serve(
        session=session,
        workload=part.workload,
        token=token,
        params=part.params,
        address=str(last.destination),
        peer=str(last.source),
        program=None if part.server is None else part.server.fields,
        also=[{"address": str(leg.destination), "peer": str(leg.source)} for leg in others] or None,
    )
    ready_s = 0.0 if part.server is None else part.server.ready_timeout_ns / 1e9
    return hosts.server.answer(request, timeout_s=ANSWER_TIMEOUT_S + ready_s)


def _run(part: Part, hosts: Hosts, session: str, token: str, served: ServeAnswer) -> Future[Result]:
    first, *others = (legs[0] for legs in hosts.of(part))
    return hosts.client.ask(
        ClientRunRequest(
            session=session,
            workload=part.workload,
            token=token,
            params=part.params,
            address=str(first.source),
            peer=str(first.destination),
            port=served.port,
            certificate=served.certificate,
            program=None if part.client is None else part.client.fields,
            also=[{"address": str(leg.source), "peer": str(leg.destination)} for leg in others] or None,
        )
    )

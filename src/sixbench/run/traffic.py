"""The traffic of a trial: the workload between its two ends, and the changes of links in the midst of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from ..model.evidence.events import LinkEvent
from ..model.observation import TranslatorState
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.trace import Trace
from ..model.workload import Part, Result
from ..model.workloads import bring_up
from .bringing_up import BringUps
from .events import Events
from .parts import parts_of, run_parts
from .setting import Setting
from .witnesses import Witnesses


@dataclass(frozen=True, kw_only=True)
class Performance:
    """The traffic of a trial, as its two ends and its links saw it.

    Attributes:
        client, server: the agents' results.
        events: the changes of links that happened.
        forgotten: the last counters of translators that were taken away meanwhile.
    """

    client: Result = field(default_factory=dict)
    server: Result = field(default_factory=dict)
    events: tuple[LinkEvent, ...] = ()
    forgotten: tuple[TranslatorState, ...] = ()


def perform(
    setting: Setting, params: dict[str, Scalar], events: Events, witnesses: Witnesses, observer: Observer | None = None
) -> Performance:
    """Runs the workload. Raises `AgentError` or `LabError`.

    Args:
        params: those of the setting, and what witnesses add to them.
        events: the changes of links, which begin with the traffic.
        observer: is told what arrives and how senders fare, by other threads. None: nobody is asked.
    """
    kind = setting.kind

    def begun(running: Sequence[Future[Result]]) -> None:
        events.start()
        witnesses.watch(running)

    if kind.brings_up:
        begun([])
        ups = BringUps(laboratory=setting.laboratory, network=setting.network, forgotten=[])
        count = int(bring_up.REPETITIONS.of(params))
        client, server = ups.run(kind.served_by, kind.agent_params(params), count, setting.key, setting.token)
        return Performance(client=client, server=server, events=tuple(events.done), forgotten=tuple(ups.forgotten))
    parts = [_with_trace(part, setting.traces) for part in parts_of(kind, params)]
    client, server = run_parts(parts, setting.hosts, setting.key, setting.token, begun, observer)
    return Performance(client=client, server=server, events=tuple(events.done))


def _with_trace(part: Part, traces: Mapping[str, Trace]) -> Part:
    """The parameters with the datagrams of a capture in place of its name."""
    if "trace" not in part.params:
        return part
    datagrams: Scalar = traces[str(part.params["trace"])].datagrams
    return replace(part, params=part.params | {"trace": datagrams})

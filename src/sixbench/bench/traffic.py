"""The traffic of a trial: the workload between its two ends, and the changes of links in the midst of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.workload import Result
from .events import Events
from .setting import TrialSetting
from .witnesses import Witnesses
from .workloads import performer_of
from .workloads.performer import Performance


def perform(
    setting: TrialSetting,
    params: dict[str, Scalar],
    events: Events,
    witnesses: Witnesses,
    observer: Observer | None = None,
) -> Performance:
    """Runs the workload. Raises `AgentError` or `LabError`.

    Args:
        params: those of the setting, and what witnesses add to them.
        events: the changes of links, which begin with the traffic.
        observer: is told what arrives and how senders fare, by other threads. None: nobody is asked.
    """

    def begun(running: Sequence[Future[Result]]) -> None:
        events.start()
        witnesses.watch(running)

    performance = performer_of(setting.kind).perform(setting, params, begun, observer)
    return replace(performance, events=tuple(events.done))

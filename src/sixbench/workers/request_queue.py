"""Queue in which a worker's tasks wait for its main thread, which measures: signals reach it, and no event loop waits
for it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from ..model.errors import CapabilityError
from ..model.json_object import JsonObject


@dataclass(frozen=True, kw_only=True)
class TaskRequest:
    """A task's request: the text that came with it, and where the answer goes."""

    text: str
    answer: Future[JsonObject] = field(default_factory=Future)


@dataclass(frozen=True, kw_only=True)
class PlanRequest(TaskRequest):
    """Asks if a run can be measured here, and with which engines."""


@dataclass(frozen=True, kw_only=True)
class BlockRequest(TaskRequest):
    """A block. `is_wanted`: whether somebody still waits for it."""

    is_wanted: Callable[[], bool]


class RequestQueue:
    """Requests that a worker has not yet carried out."""

    def __init__(self) -> None:
        self._asked: queue.Queue[TaskRequest | None] = queue.Queue()

    def put(self, asked: TaskRequest) -> Future[JsonObject]:
        """Asks. Any thread may do so."""
        self._asked.put(asked)
        return asked.answer

    def close(self) -> None:
        """Nothing more is asked: the scheduler has gone."""
        self._asked.put(None)

    def next(self, timeout_s: float) -> TaskRequest | None:
        """The next request; None where `close` was called. Raises `TimeoutError` where nothing was asked for so
        long."""
        try:
            return self._asked.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError from None


_here: RequestQueue | None = None
"""Dask hands tasks to a process, so that there is one desk a process."""


def open_request_queue() -> RequestQueue:
    """A new desk, which tasks find from now on."""
    global _here  # noqa: PLW0603
    _here = RequestQueue()
    return _here


def request_queue() -> RequestQueue:
    """The desk of this worker. Raises `CapabilityError` in any other worker of Dask."""
    if _here is None:
        raise CapabilityError("this worker of Dask is no worker; start one with: sixbench worker")
    return _here

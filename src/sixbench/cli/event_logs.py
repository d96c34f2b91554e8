"""Helpers of the commands that take `--events FILE`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .common import note

if TYPE_CHECKING:
    from ..model.observer import Observer
    from ..store import EventLog


@contextlib.contextmanager
def event_log(file: Path | None) -> Iterator[EventLog | None]:
    """The log of a run's events, if one is asked for. What went wrong with it is told at its end. Raises `UsageError`
    where the file cannot be opened."""
    if file is None:
        yield None
        return
    from ..store import EventLog

    with EventLog(file) as log:
        try:
            yield log
        finally:
            if log.problem is not None:
                note(f"sixbench: {log.problem}; the run itself is complete")


def observers(progress: Observer, log: EventLog | None) -> Observer:
    """The progress line, and the log beside it where there is one."""
    from ..model.observer import Observers

    return progress if log is None else Observers(progress, log)


def refuse_in_guests(file: Path | None) -> None:
    """Raises `UsageError` where events are asked for of a run in emulated machines, which have files of their own."""
    from ..model.errors import UsageError

    if file is not None:
        raise UsageError("--events has no meaning in emulated machines; leave out --events, or the kernels")

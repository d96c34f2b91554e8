"""The trials of a run as `trial-ended` events. Each is read once for all viewers of the run."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

from ..model.run_events import trial_ended_event
from ..model.trial import TrialRecord
from ..store import Folder, RunDirectoryState, read_briefs, read_run

AT_ONCE = 200
"""Trials that are read before their events are sent, which takes some tenths of a second."""


class Briefs:
    """The trials of one run directory.

    Attributes:
        events: one for each trial, in the order in which the trials were recorded.
    """

    def __init__(self, directory: Folder) -> None:
        self.events: list[dict[str, Any]] = []
        self._directory = directory
        self._keys: set[str] = set()
        self._coming: Iterator[TrialRecord] | None = None
        self._changes: RunDirectoryState | None = None
        self._read: RunDirectoryState | None = None
        self._reading = threading.Lock()

    def read_more(self) -> bool:
        """Reads the next trials of the run. Returns whether there may be more. Raises `StoreError`."""
        with self._reading:
            if self._coming is None:
                self._changes = RunDirectoryState.of(self._directory)
                if self._changes == self._read:
                    return False
                self._coming = read_briefs(read_run(self._directory, only=()), self._keys)
            records = list(itertools.islice(self._coming, AT_ONCE))
            for record in records:
                self._keys.add(record.key)
                self.events.append(trial_ended_event(record, record.started_realtime_ns + record.elapsed_ns))
            if len(records) < AT_ONCE:
                self._coming, self._read = None, self._changes
            return self._coming is not None

"""The events of a run for the page: those of its log, or what the run directory itself tells where there is none.

Each event has a number, which never changes: its line in the log, or its place among the recorded trials. So a page
whose stream was cut goes on behind the last one that it has.
"""

from __future__ import annotations

import json
from io import BufferedReader
from typing import Any

from ..model.errors import StoreError
from ..model.files import open_regular
from ..model.run_events import check_event, planned_event, trial_ended_event
from ..store import Folder, Run, holds_run, is_being_run
from .runs import Runs

TRIALS = "trials"
LOG_SUFFIX = ".events.jsonl"
"""The log of run NAME is NAME.events.jsonl, beside its directory."""

MOST_AT_ONCE = 2000
LONGEST_LINE_BYTES = 2**24
"""`planned` names all combinations; 100,000 of them are some megabytes."""


class LogReader:
    """Reads a log as it grows.

    Attributes:
        number: that of the last event that was read.
    """

    source = "log"

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._half = b""
        self.number = 0

    def close(self) -> None:
        """Nothing is read any more."""
        self._file.close()

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The events that are new, at most `MOST_AT_ONCE`. A line that is none keeps its number and is left out."""
        found: list[tuple[int, dict[str, Any]]] = []
        while len(found) < MOST_AT_ONCE:
            line = self._file.readline(LONGEST_LINE_BYTES)
            if not line:
                break
            self._half += line
            if not line.endswith(b"\n"):
                if len(self._half) >= LONGEST_LINE_BYTES:
                    self._half = b""
                break
            whole, self._half = self._half, b""
            self.number += 1
            try:
                event = check_event(json.loads(whole))
            except (ValueError, RecursionError):
                continue
            found.append((self.number, event))
        return found


class RecordReader:
    """Reads the trials that a run directory has, as if they were a log."""

    source = "records"

    def __init__(self, runs: Runs, name: str) -> None:
        self._runs = runs
        self._name = name
        self._names: list[str] = []
        self.number = 0

    def close(self) -> None:
        """There is nothing to close."""

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The events that are new. Raises `StoreError`."""
        folder = self._runs.folder(self._name)
        before = (folder.folder(TRIALS) if folder.has(TRIALS) else folder).names()
        if self.number and before == self._names:
            return []
        self._names = before
        events = _events_of(self._runs.read(self._name))
        found = list(enumerate(events, start=1))[self.number :]
        self.number = len(events)
        return found


def rest_of(runs: Runs, name: str) -> str | None:
    """The state of a run that no process runs; None while one does, or has not made its directory yet."""
    try:
        run_directory = runs.folder(name)
        if not holds_run(run_directory) or is_being_run(run_directory):
            return None
        state = runs.read(name).manifest.state
    except StoreError:
        return None
    return "interrupted" if state == "running" else state


Reader = LogReader | RecordReader


def reader_of(runs: Runs, name: str) -> Reader:
    """What tells of a run. Raises `StoreError` where there is neither a log nor a run of that name."""
    try:
        folder = Folder.open(runs.directory)
    except OSError as error:
        raise StoreError(f"opening {runs.directory}: {error.strerror}") from error
    log = f"{name}{LOG_SUFFIX}"
    if folder.has(log):
        try:
            return LogReader(open_regular(log, in_folder=folder.descriptor, follow_links=False))
        except OSError as error:
            raise StoreError(f"reading {log}: {error.strerror}") from error
    runs.folder(name)
    return RecordReader(runs, name)


_VALUES = ("values", "sender-values")


def without_old_values(events: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Without the values of trials that have ended since, which nobody would see."""
    begun = [event["key"] for _, event in events if event["event"] == "trial-started"]
    if not begun:
        return events
    return [(number, event) for number, event in events if event["event"] not in _VALUES or event["key"] == begun[-1]]


def _events_of(run: Run) -> list[dict[str, Any]]:
    manifest = run.manifest
    first = planned_event(manifest.experiment, str(run.directory), 0, manifest.started_realtime_ns)
    ended = [trial_ended_event(one, one.started_realtime_ns + one.elapsed_ns) for one in run.trials]
    return [first, *ended]

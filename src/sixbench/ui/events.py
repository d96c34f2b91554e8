"""The events of a run for the page: those of its log, or what the run directory itself tells where there is none.

Each event has a number, which never changes: its line in the log, or its place among the recorded trials. So a page
whose stream was cut goes on behind the last one that it has.
"""

from __future__ import annotations

import json
import re
from io import BufferedReader
from typing import Any

from ..model.errors import StoreError
from ..model.files import open_regular
from ..model.quoting import text_of
from ..model.run_events import check_event, planned_event
from ..store import Folder, holds_run, is_being_run
from .briefs import AT_ONCE
from .runs import Runs

LOG_SUFFIX = ".events.jsonl"
"""The log of run NAME is NAME.events.jsonl, beside its directory."""

CHUNK_BYTES = 2**20
"""The part of a log that is read before an event is sent."""
LONGEST_LINE_BYTES = 2**24
"""`planned` names all combinations; 100,000 of them are some megabytes."""

_VALUES = ("values", "sender-values")
_IS_OF_VALUES = re.compile(rb'"event": ?"(sender-)?values"')
_IS_START = re.compile(rb'"event": ?"trial-started"')
"""As the events of a log are written. Within a text a quotation mark is escaped, so no text looks like them."""


class LogReader:
    """Reads a log as it grows.

    Attributes:
        number: that of the last event that was read.
        has_more: whether the log had more than was read the last time.
    """

    source = "log"

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._half = b""
        self.number = 0
        self.has_more = True

    def close(self) -> None:
        """Nothing is read any more."""
        self._file.close()

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The events in the next `CHUNK_BYTES`. A line that is none keeps its number and is left out, as are values of
        trials after which another one began."""
        chunk = self._file.read(CHUNK_BYTES)
        self.has_more = len(chunk) == CHUNK_BYTES
        *lines, self._half = (self._half + chunk).split(b"\n")
        if len(self._half) >= LONGEST_LINE_BYTES:
            self._half = b""
        last = next((index for index in range(len(lines) - 1, -1, -1) if _IS_START.search(lines[index])), 0)
        found: list[tuple[int, dict[str, Any]]] = []
        for index, line in enumerate(lines):
            self.number += 1
            if index < last and _IS_OF_VALUES.search(line):
                continue
            try:
                found.append((self.number, check_event(json.loads(line))))
            except (ValueError, RecursionError):
                continue
        return found


class RecordReader:
    """Reads the trials that a run directory has, as if they were a log.

    Attributes:
        has_more: whether the run had more than was read the last time.
    """

    source = "records"

    def __init__(self, runs: Runs, name: str) -> None:
        self._runs = runs
        self._name = name
        self.number = 0
        self.has_more = True

    def close(self) -> None:
        """There is nothing to close."""

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The events that are new, some at once. Raises `StoreError`."""
        briefs = self._runs.briefs(self._name)
        if self.number == 0:
            run = self._runs.outline(self._name)
            self.number = 1
            manifest, place = run.manifest, text_of(str(run.directory))
            return [(1, planned_event(manifest.experiment, place, 0, manifest.started_realtime_ns))]
        if len(briefs.events) < self.number:
            self.has_more = briefs.read_more()
        first = self.number - 1
        events = briefs.events[first : first + AT_ONCE]
        self.has_more = self.has_more or len(briefs.events) > first + len(events)
        self.number += len(events)
        return list(enumerate(events, start=first + 2))


def rest_of(runs: Runs, name: str) -> str | None:
    """The state of a run that no process runs; None while one does, or has not made its directory yet."""
    try:
        run_directory = runs.folder(name)
        if not holds_run(run_directory) or is_being_run(run_directory):
            return None
        state = runs.outline(name).manifest.state
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


def without_old_values(events: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Without the values of trials that have ended since, which nobody would see."""
    begun = [event["key"] for _, event in events if event["event"] == "trial-started"]
    if not begun:
        return events
    return [(number, event) for number, event in events if event["event"] not in _VALUES or event["key"] == begun[-1]]

"""The events of a run for the page: those of its log, or what the run directory itself tells where there is none.

Each event has a number, which never changes: its line in the log, or its place among the recorded trials. So a page
whose stream was cut goes on behind the last one that it has.
"""

from __future__ import annotations

import json
import os
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
CHUNKS_AT_ONCE = 32
"""Parts without an event that are read one after the other: a tenth of a second."""
RECENT_BYTES = 2**22
"""Of the values of a trial that has lasted long: some 20,000 values."""
LONGEST_LINE_BYTES = 2**24
"""`planned` names all combinations; 100,000 of them are some megabytes."""

_VALUES = ("values", "sender-values")
_IS_OF_VALUES = re.compile(rb'"event": ?"(sender-)?values"')
_STARTS = (b'"event": "trial-started"', b'"event":"trial-started"')
"""As the events of a log are written. Within a text a quotation mark is escaped, so no text looks like them."""
_OF_VALUES = tuple(b'{"event": "%s", ' % name.encode() for name in _VALUES)
"""The beginning of most lines of a log, which is found in less time than what it may have of other orders of keys."""


class LogReader:
    """Reads a log as it grows.

    Values that nobody would see are left out: those of trials after which another one began, and of the trial under way
    those before the newest `RECENT_BYTES` that the log had when it was opened.

    Attributes:
        number: that of the last event that was read.
        has_more: whether the log had more than was read the last time.
    """

    source = "log"

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._half = b""
        self._read_bytes = 0
        self._recent_from = _recent_from(file)
        self.number = 0
        self.has_more = True

    def close(self) -> None:
        """Nothing is read any more."""
        self._file.close()

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The events in the next `CHUNK_BYTES` that have any. A line that is none keeps its number and is left out."""
        for _ in range(CHUNKS_AT_ONCE):
            events = self._of_chunk()
            if events or not self.has_more:
                return events
        return []

    def _of_chunk(self) -> list[tuple[int, dict[str, Any]]]:
        chunk = self._file.read(CHUNK_BYTES)
        self.has_more = len(chunk) == CHUNK_BYTES
        whole = self._half + chunk
        old = whole.count(b"\n", 0, max(_last_start(whole), self._recent_from - self._read_bytes + len(self._half), 0))
        self._read_bytes += len(chunk)
        *lines, self._half = whole.split(b"\n")
        if len(self._half) >= LONGEST_LINE_BYTES:
            self._half = b""
        first = self.number + 1
        numbered = [one for one in enumerate(lines[:old], first) if not one[1].startswith(_OF_VALUES)]
        numbered = [one for one in numbered if not _IS_OF_VALUES.search(one[1])]
        self.number += len(lines)
        found: list[tuple[int, dict[str, Any]]] = []
        for number, line in [*numbered, *enumerate(lines[old:], first + old)]:
            try:
                found.append((number, check_event(json.loads(line))))
            except (ValueError, RecursionError):
                continue
        return found


def _recent_from(file: BufferedReader) -> int:
    """The byte of a log before which no value is shown: that at which the last trial begins, if it is a recent one."""
    begin = max(0, os.fstat(file.fileno()).st_size - RECENT_BYTES)
    return begin + max(0, _last_start(os.pread(file.fileno(), RECENT_BYTES, begin)))


def _last_start(content: bytes) -> int:
    """The byte of the last event that says that a trial begins; -1: there is none."""
    return max(content.rfind(words) for words in _STARTS)


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

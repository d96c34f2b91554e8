"""The events of a run for the page: from its log, or from the run directory where there is no log.

Each event has a number that never changes: its line in the log, or its place among the recorded trials. So a page
whose stream was cut continues after the last event that it has.
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
"""Part of a log that is read before an event is sent."""
CHUNKS_AT_ONCE = 32
"""Parts without an event that are read one after the other, in a tenth of a second."""
RECENT_BYTES = 2**22
"""Part of a log from which the values of a long trial are sent: some 20,000 values."""
LONGEST_LINE_BYTES = 2**24
"""Longest line of a log. `planned` names all combinations; 100,000 of them take some megabytes."""

_VALUES = ("values", "sender-values")
_IS_OF_VALUES = re.compile(rb'"event": ?"(sender-)?values"')
_STARTS = (b'"event": "trial-started"', b'"event":"trial-started"')
"""The beginning of a trial, as logs have it. Quotation marks within a text are escaped, so no text looks like this."""
_OF_VALUES = tuple(b'{"event": "%s", ' % name.encode() for name in _VALUES)
"""The usual beginning of lines with values. It is found faster than `_IS_OF_VALUES`, which allows any order."""


class LogReader:
    """Reads a log as it grows.

    Values that nobody would see are left out: those of trials before the newest one, and of the newest trial those
    before the last `RECENT_BYTES` of the log as it was opened.

    Attributes:
        number: that of the last event that was read.
        has_more: whether the log continued after the last read.
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
        """Closes the log."""
        self._file.close()

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The events of the next chunk that has any. A line that is not an event keeps its number and is left out."""
        for _ in range(CHUNKS_AT_ONCE):
            events = self._of_chunk()
            if events or not self.has_more:
                return events
        return []

    def _of_chunk(self) -> list[tuple[int, dict[str, Any]]]:
        chunk = self._file.read(CHUNK_BYTES)
        self.has_more = len(chunk) == CHUNK_BYTES
        whole = self._half + chunk
        old_bytes = self._recent_from - self._read_bytes + len(self._half)
        self._read_bytes += len(chunk)
        end = whole.rfind(b"\n") + 1
        lines_in_all = whole.count(b"\n")
        if end <= old_bytes and _are_of_values(whole, lines_in_all):
            self.number += lines_in_all
            self._half = whole[end:]
            return []
        old = whole.count(b"\n", 0, max(_last_start(whole), old_bytes, 0))
        *lines, self._half = whole.split(b"\n")
        if len(self._half) >= LONGEST_LINE_BYTES:
            self._half = b""
        first = self.number + 1
        numbered = [(number, line) for number, line in enumerate(lines[:old], first) if not line.startswith(_OF_VALUES)]
        numbered = [(number, line) for number, line in numbered if not _IS_OF_VALUES.search(line)]
        self.number += len(lines)
        events: list[tuple[int, dict[str, Any]]] = []
        for number, line in [*numbered, *enumerate(lines[old:], first + old)]:
            try:
                events.append((number, check_event(json.loads(line))))
            except (ValueError, RecursionError):
                continue
        return events


def _are_of_values(content: bytes, number: int) -> bool:
    """True if so many lines, which are all that end in this part of a log, begin as those with values usually do. So a
    part with nothing else needs no look at each of its thousands of lines."""
    end = content.rfind(b"\n")
    usual = 1 if content.startswith(_OF_VALUES, 0, end) else 0
    for words in _OF_VALUES:
        if usual < number:
            usual += content.count(b"\n" + words, 0, end)
    return 0 < usual == number


def _recent_from(file: BufferedReader) -> int:
    """The byte of a log before which no value is shown: the start of the last trial, if it is recent."""
    begin = max(0, os.fstat(file.fileno()).st_size - RECENT_BYTES)
    return begin + max(0, _last_start(os.pread(file.fileno(), RECENT_BYTES, begin)))


def _last_start(content: bytes) -> int:
    """The byte of the last event at which a trial begins; -1: there is none."""
    return max(content.rfind(words) for words in _STARTS)


class RecordReader:
    """Reads the trials of a run directory as if they were a log.

    Attributes:
        has_more: whether the run had more trials after the last read.
    """

    source = "records"

    def __init__(self, runs: Runs, name: str) -> None:
        self._runs = runs
        self._name = name
        self.number = 0
        self.has_more = True

    def close(self) -> None:
        """Does nothing: no file stays open."""

    def more(self) -> list[tuple[int, dict[str, Any]]]:
        """The next new events, at most `AT_ONCE`. Raises `StoreError`."""
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
    """The state of a run without a process; None while it has one, or has no directory yet."""
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
    """The reader of a run's events. Raises `StoreError` where there is neither a log nor a run of that name."""
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
    """The events without the values of earlier trials, which nobody would see."""
    begun = [event["key"] for _, event in events if event["event"] == "trial-started"]
    if not begun:
        return events
    return [(number, event) for number, event in events if event["event"] not in _VALUES or event["key"] == begun[-1]]

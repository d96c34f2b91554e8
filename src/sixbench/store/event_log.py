"""The log of a run's events: a file to which each is appended as one line of JSON (docs/run-events.md).

Whatever is wrong with the file, the run goes on. The first failure ends the log, and the command tells it at its end.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ..model.errors import StoreError, UsageError, WriteError
from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.observer import Arrived, Observer, SenderSample, StopRule
from ..model.quoting import text_of
from ..model.run_events import planned_event, stopped_event, trial_ended_event
from ..model.trial import TrialRecord
from .folder import Folder


class EventLog(Observer):
    """Appends the events of a run to a file, a line for each that it is told of. Use as a context manager.

    Attributes:
        problem: why nothing is written any more; None: all was written.

    Raises `UsageError` where the file cannot be opened, is not a regular one, or has another name: a pipe would keep
    the run waiting, and a link would have it write elsewhere.
    """

    wants_values = True

    def __init__(self, file: Path, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._file = file
        self._clock_ns = clock_ns
        self._writing = threading.Lock()
        self._progress: dict[str, int] = {"done": 0, "expected": 0, "remaining_ns": 0}
        self.problem: str | None = None
        try:
            self._descriptor = Folder.open(file.parent).open_to_append(file.name, helps="")
        except OSError as error:
            raise UsageError(f"opening {file} for --events: {error.strerror}; name a file that can be made") from error
        except (StoreError, WriteError) as error:
            raise UsageError(f"opening {file} for --events: {error}; name a file that can be appended to") from error
        self._begin_line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)

    def planned(self, experiment: Experiment, directory: str, done: int) -> None:
        self._append(planned_event(experiment, text_of(directory), done, self._clock_ns()))

    def built(self, path: str, topology: int, elapsed_ns: int) -> None:
        self._write("built", path=path, topology=topology, elapsed_ns=elapsed_ns)

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        """Is written with the trial that begins next."""
        self._progress = {"done": done, "expected": expected, "remaining_ns": max(0, remaining_ns)}
        if decided is not None:
            self._progress["decided"] = decided

    def trial_begins(self, experiment: Experiment, combination: Combination, planned: PlannedTrial) -> None:
        what: dict[str, Any] = {"key": planned.key, "block": planned.block}
        what |= {"combination": combination.name, "path": planned.path}
        what |= {} if planned.repeat is None else {"repeat": planned.repeat}
        self._write("trial-started", **what, **self._progress)

    def arrived(self, seen: Arrived) -> None:
        self._write("values", **_known(seen))

    def sampled(self, seen: SenderSample) -> None:
        self._write("sender-values", **_known(seen))

    def trial_ended(self, record: TrialRecord) -> None:
        self._append(trial_ended_event(record, self._clock_ns()))

    def block_ended(self, block: int) -> None:
        self._write("block-done", block=block)

    def stopped(self, combination: str, rules: Sequence[StopRule], blocks: int) -> None:
        self._append(stopped_event(combination, rules, blocks, self._clock_ns()))

    def ended(self, state: str, trials: int) -> None:
        self._write("ended", state=state, trials=trials)

    def report_written(self, file: str) -> None:
        self._write("report-written", file=text_of(file))

    def _begin_line(self) -> None:
        """Ends a line that a killed run left half-written."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._give(b"\n")

    def _write(self, event: str, **fields: Any) -> None:
        self._append({"event": event, "at_realtime_ns": self._clock_ns(), **fields})

    def _append(self, event: dict[str, Any]) -> None:
        self._give(json.dumps(event, allow_nan=False, ensure_ascii=False).encode() + b"\n")

    def _give(self, line: bytes) -> None:
        with self._writing:
            if self.problem is not None:
                return
            try:
                if os.write(self._descriptor, line) < len(line):
                    self.problem = f"writing to {self._file}: the disk is full; the log of events ends there"
            except OSError as error:
                self.problem = f"writing to {self._file}: {error.strerror}; the log of events ends there"


def _known(seen: Arrived | SenderSample) -> dict[str, Any]:
    """The values of a moment, without those that are not known."""
    return {name: value for name, value in asdict(seen).items() if value is not None}

"""The progress of a run, on standard error: a bar with the time left on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from ..model.trial import TrialRecord

_PLAIN_EVERY_S = 15.0


class Progress:
    """Shows how a run goes on. Use as a context manager."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._bad = 0
        self._last_s = 0.0

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = [
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
            ]
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("building the network", total=None, left="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def progress(self, done: int, expected: int, remaining_ns: int) -> None:
        """So many trials are done of so many that are expected, which leaves so much time."""
        left = f"{_clock(remaining_ns)} left"
        if self._bar is not None:
            words = "measuring" + (f" ({self._bad} not valid)" if self._bad else "")
            self._bar.update(self._task, description=words, total=expected, completed=done, left=left)
        elif not self._quiet and time.monotonic() - self._last_s >= _PLAIN_EVERY_S:
            self._last_s = time.monotonic()
            print(f"{done} of {expected} trials, {left}", file=sys.stderr, flush=True)

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial was recorded; one that is not valid is told at once."""
        if record.status == "ok":
            return
        self._bad += 1
        line = f"{record.key} ({record.workload}): {record.status}: {'; '.join(record.reasons)}"
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        elif not self._quiet:
            print(line, file=sys.stderr, flush=True)


def _clock(duration_ns: int) -> str:
    seconds = max(0, round(duration_ns / 1e9))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"

"""The progress of a run, on standard error: a bar and the trial at hand on a terminal, else a line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.metric import METRICS
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.quoting import listed, printable
from ..model.reason import sentences
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from .common import note

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PLAIN_EVERY_S = 15.0
"""Interval of lines where there is no terminal, during the first `PLAIN_EARLY_S`."""

PLAIN_EARLY_S = 120.0

PLAIN_LATER_EVERY_S = 60.0
"""Interval of lines after that: a run of hours fills no log. A guest keeps to the shorter time, because the machine
around it takes a longer silence for a guest that hangs (`bench.guests.QUIET_S`)."""


@dataclass(frozen=True, kw_only=True)
class _Value:
    """The primary metric of a trial that has ended."""

    what: str
    text: str
    path: str
    block: int


class ProgressDisplay(Observer):
    """Shows how a run goes on. Use as a context manager.

    Args:
        quiet: shows nothing at all.
        earlier: the trials of a run that is continued, so that all that are not valid are counted.
        clock_s: a monotonic clock.
    """

    def __init__(
        self, quiet: bool, earlier: Sequence[TrialRecord] = (), clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet = quiet
        self._clock_s = clock_s
        self._not_valid = sum(record.status != "ok" for record in earlier)
        self._values: dict[tuple[str, str], _Value] = {}
        self._last: _Value | None = None
        for record in earlier:
            self._remember(record)
        self._done, self._expected, self._left = 0, 0, ""
        self._decided: int | None = None
        self._combinations = 0
        self._now = ""
        self._live: Any = None
        self._bar: Any = None
        self._task: Any = None
        self._started_s = clock_s()
        self._plain_s: float | None = None

    def __enter__(self) -> ProgressDisplay:
        self._started_s = self._clock_s()
        if not self._quiet:
            self._go_live()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        self._decided = decided
        from ..bench.environment import GUEST

        by_whom = " by its clock" if GUEST in os.environ else ""
        self._done, self._expected, self._left = done, expected, f"{_clock(remaining_ns)} left{by_whom}"

    def trial_begins(self, experiment: Experiment, combination: Combination, planned: PlannedTrial) -> None:
        self._combinations = len(experiment.combinations)
        self._now = trial_words(combination.workload.kind, combination.levels, planned.path)
        original = experiment.path(planned.path).aa_of
        self._now += f" ({original} once more)" if original else ""
        self._now += f", block {planned.block} of {_blocks(experiment)}"
        self._now += "" if planned.repeat is None else f", repeat {planned.repeat} of at most {experiment.repeats}"
        before = self._values.get((combination.name, planned.path))
        if before is not None:
            self._now += f"; it was {before.text} in block {before.block}"
        self._show()

    def blocks_out(self, blocks: Sequence[int], workers: int) -> None:
        number = "1 worker" if workers == 1 else f"{workers} workers"
        self._now = f"{'block' if len(blocks) == 1 else 'blocks'} {listed(map(str, blocks))} on {number}"
        self._show()

    def _show(self) -> None:
        """Draws the bar, or prints a line if it is time for one."""
        if self._live is not None:
            self._bar.update(self._task, description="measuring", total=self._expected, completed=self._done)
            self._live.refresh()
        elif not self._quiet and self._is_due():
            note("; ".join([self._counts(), f"now {self._now}", *self._last_words()]))

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial was recorded. One that is not valid is told at once, with its reasons."""
        self._remember(record)
        if record.status == "ok":
            return
        self._not_valid += 1
        what = trial_words(record.workload, record.levels, record.path)
        what += f", block {record.block}" + ("" if record.repeat is None else f", repeat {record.repeat}")
        line = f"{what}: {record.status}: {sentences(record.reasons)}"
        if self._live is not None:
            self._live.console.print(printable(line), markup=False, highlight=False)
        elif not self._quiet:
            note(line)

    def _remember(self, record: TrialRecord) -> None:
        """Keeps the value of the metric that stands first for the workload."""
        from ..report import words

        metric = METRICS[WORKLOADS[record.workload].primary]
        if record.status != "ok" or metric.column not in record.metrics:
            return
        self._last = self._values[record.combination, record.path] = _Value(
            what=words.metric_in_sentence(metric.name),
            text=words.quantity(record.metrics[metric.column], metric.unit),
            path=record.path,
            block=record.block,
        )

    def _counts(self) -> str:
        words = [f"{self._done} of {self._expected} trials", *([self._left] if self._left else [])]
        if self._decided is not None:
            words.append(f"{self._decided} of {self._combinations} combinations decided")
        return ", ".join([*words, *([f"{self._not_valid} not valid so far"] if self._not_valid else [])])

    def _last_words(self) -> list[str]:
        last = self._last
        return [] if last is None else [f"last {last.what}: {last.text} over {last.path}"]

    def _is_due(self) -> bool:
        """True if it is time for a line of a log."""
        from ..bench.environment import GUEST

        now_s = self._clock_s()
        is_frequent = now_s - self._started_s < PLAIN_EARLY_S or GUEST in os.environ
        every_s = PLAIN_EVERY_S if is_frequent else PLAIN_LATER_EVERY_S
        if self._plain_s is not None and now_s - self._plain_s < every_s:
            return False
        self._plain_s = now_s
        return True

    def _go_live(self) -> None:
        """Starts the bar, where standard error is a terminal that can redraw its lines."""
        if not sys.stderr.isatty():
            return
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_dumb_terminal:
            return
        from rich.live import Live
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(TextColumn("{task.description}"), BarColumn(), console=console)
        self._task = self._bar.add_task("building the network", total=None)
        self._live = Live(get_renderable=lambda: self._drawn(console), console=console, transient=True)
        self._live.start()

    def _drawn(self, console: Console) -> RenderableType:
        """The bar, and below it a line each for the numbers, the trial at hand and the last value."""
        from rich.console import Group
        from rich.text import Text

        names = [f"now {self._now}", *self._last_words()] if self._now else []
        counts = [self._counts()] if self._expected else []
        lines = [Text(f"  {line}", no_wrap=True, overflow="ellipsis") for line in (*counts, *names)]
        return Group(self._bar, *lines)


def trial_words(workload: str, levels: Mapping[str, Scalar], path: str) -> str:
    """A trial as people call it: `TCP bulk transfer, message 1 KiB, over ipv6`."""
    from ..report import words

    parts = [words.workload_title(workload), words.levels(levels), f"over {path}"]
    return ", ".join(part for part in parts if part)


def _blocks(experiment: Experiment) -> str:
    blocks = experiment.blocks
    if blocks.minimum == blocks.maximum:
        return f"{blocks.minimum}"
    return f"at least {blocks.minimum}" if blocks.time_ns is not None else f"{blocks.minimum} to {blocks.maximum}"


def _clock(duration_ns: int) -> str:
    seconds = max(0, round(duration_ns / 1e9))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"

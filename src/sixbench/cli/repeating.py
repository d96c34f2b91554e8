"""The occurrences of a monitor: each is a command of sixbench in a process of its own, and what it left is kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import Interrupted, StoreError, UsageError
from ..model.exit_codes import Exit
from ..model.monitoring import Occurrence, OccurrenceState, Settings
from .common import note

if TYPE_CHECKING:
    from ..model.monitoring import Followed, Monitor
    from ..store import MonitorWriter

Call = Callable[[list[str], bool], tuple[int, str]]
"""`lab.own_process.call`."""

MOST_REASON = 2000
"""Characters of a reason that are kept."""

_OF_FILE = re.compile(r"[^\n]+?:\d+: ")
"""The beginning of a problem in an experiment file."""

KILLED = "the process that measured it was killed, or the machine stopped"


class Repeating:
    """A monitor that is being repeated.

    Args:
        quiet: whether the command shows no progress.
        call: runs a command of sixbench.
    """

    def __init__(self, writer: MonitorWriter, settings: Settings, *, quiet: bool, call: Call) -> None:
        self.writer = writer
        self.settings = settings
        self.quiet = quiet
        self.call = call
        self.largest_bytes = 0

    def recover(self) -> None:
        """Records the runs that were killed meanwhile. Raises `UsageError` where one of them still goes on."""
        from ..store import is_being_run

        for number in self.writer.unrecorded():
            directory = self.writer.run_directory(number)
            now_ns = time.time_ns()
            try:
                goes_on = is_being_run(directory)
            except StoreError:
                goes_on = False  # the directory does not hold a run
            if goes_on:
                raise UsageError(f"another process is running {directory}; wait until it has ended")
            occurrence = Occurrence(
                number=number,
                state="interrupted",
                started_realtime_ns=now_ns,
                ended_realtime_ns=now_ns,
                reason=KILLED,
            )
            self.writer.record(occurrence)
            note(f"sixbench: occurrence {number} is recorded as interrupted: {KILLED}")

    def begin_and_occur(self) -> Occurrence:
        """Makes room for as much as the largest run took since the command began, or else the last one before it, and
        measures once; see `occur`. A monitor that comes to nothing with its first occurrence is removed."""
        if not self.writer.is_new:
            self.writer.save_settings(self.settings)
            self.make_room(self.largest_bytes or self._size_of_run(self.writer.next_number() - 1))
            return self._sized()
        self.writer.save_settings(self.settings)
        try:
            occurrence = self._sized()
        except UsageError:
            self.writer.discard()
            raise
        self.writer.is_new = False
        return occurrence

    def _sized(self) -> Occurrence:
        """Measures once, and notes what its run takes on the disk."""
        occurrence = self.occur()
        self.largest_bytes = max(self.largest_bytes, self._size_of_run(occurrence.number))
        return occurrence

    def _size_of_run(self, number: int) -> int:
        """Room on the disk of an occurrence's run; 0 where it is no longer there."""
        from ..store import used_bytes

        try:
            return used_bytes(self.writer.run_folder(number))
        except StoreError:
            return 0

    def occur(self) -> Occurrence:
        """Measures once, and keeps all of it. What goes wrong with the measurement is recorded as its reason.

        Raises:
            Interrupted: it was interrupted, which is recorded.
            UsageError: the very first occurrence measured nothing because the command cannot be obeyed.
            WriteError: it cannot be recorded.
        """
        number = self.writer.next_number()
        directory = self.writer.run_directory(number)
        started_ns = time.time_ns()
        try:
            code, text = self.call([*self._words(directory)], self.quiet)
        except Interrupted as stop:
            self._record(number, "interrupted", started_ns, reason=str(stop))
            raise
        if code == Exit.USAGE and number == 1 and not directory.exists():
            if self.settings.command[0] != "run" or not _OF_FILE.match(text):
                raise UsageError(f"nothing was measured: {text}")
            if self.quiet:
                note(text)  # otherwise these lines were printed already
            raise UsageError("nothing was measured: the experiment has these problems")
        if code == Exit.INTERRUPTED:
            self._record(number, "interrupted", started_ns, code, text or "it was interrupted")
            raise Interrupted(text or f"occurrence {number} was interrupted")
        if code not in (Exit.DONE, Exit.PARTLY):
            return self._record(
                number, "failed", started_ns, code, text or f"it ended with {code} and printed no message"
            )
        try:
            return self._kept(number, directory, started_ns, code)
        except StoreError as error:
            return self._record(number, "failed", started_ns, code, str(error))

    def _words(self, directory: Path) -> list[str]:
        command = [*self.settings.command]
        if self.quiet and command[0] in ("run", "reach") and "--quiet" not in command and "-q" not in command:
            command.append("--quiet")
        return [command[0], "--out", str(directory), *command[1:]]

    def _kept(self, number: int, directory: Path, started_ns: int, code: int) -> Occurrence:
        """Reads what the command left, and adds it to the data set. Raises `StoreError`."""
        from ..analysis import analyse
        from ..analysis.monitoring import conditions_of, measured_of
        from ..report.monitoring import why_not_complete
        from ..store import read_run

        run = read_run(directory)
        if run.problems:
            raise StoreError(run.problems[0])
        conditions = conditions_of(run)
        self._check_alike(run.manifest.experiment.name, conditions)
        values = measured_of(run, analyse(run))
        if run.trials:
            self.writer.add_trials(number, started_ns, run)
        state: OccurrenceState = "complete" if code == Exit.DONE and values else "partly" if values else "failed"
        return self._record(
            number,
            state,
            started_ns,
            code,
            None if state == "complete" else why_not_complete(run, state),
            experiment=run.manifest.experiment.name,
            conditions=conditions,
            values=values,
            trials=sum(trial.status == "ok" for trial in run.trials),
        )

    def _check_alike(self, experiment: str, conditions: dict[str, str]) -> None:
        """Raises `StoreError` where the results would mean something else than those before."""
        known = next(
            (occurrence for occurrence in self.writer.read().occurrences if occurrence.experiment is not None), None
        )
        if known is None:
            return
        for what, now, before in (
            ("experiment", experiment, known.experiment),
            ("clock", conditions.get("clock"), known.conditions.get("clock")),
        ):
            if now != before:
                raise StoreError(f"its {what} is {now}, and that of occurrence {known.number} is {before}")

    def _record(
        self,
        number: int,
        state: OccurrenceState,
        started_ns: int,
        code: int | None = None,
        reason: str | None = None,
        **more: object,
    ) -> Occurrence:
        occurrence = Occurrence(
            number=number,
            state=state,
            started_realtime_ns=started_ns,
            ended_realtime_ns=time.time_ns(),
            exit_code=code,
            reason=None if reason is None else reason[:MOST_REASON],
            **more,  # type: ignore[arg-type]
        )
        self.writer.record(occurrence)
        return occurrence

    def make_room(self, spare_bytes: int = 0) -> None:
        """Removes what is oldest where the directory is larger than its bound, and tells all that it removes.

        Args:
            spare_bytes: how much more is to have room.
        """
        from ..report.monitoring import removed_text
        from ..store import make_room

        most = self.settings.keep_bytes
        room = make_room(self.writer, self.writer.read().occurrences, max(0, most - spare_bytes), time.time_ns())
        for number, removed in room.removed:
            note(f"sixbench: occurrence {number}: {removed_text(removed)}")
        for sentence in room.kept:
            note(f"sixbench: {sentence}")
        if room.used_bytes > most:
            note(
                f"sixbench: {self.writer.directory} takes {room.used_bytes} bytes, which is more than --keep allows, "
                "and nothing is left that may be removed; give a larger --keep"
            )

    def page(self) -> tuple[Monitor, list[Followed]]:
        """Looks for changes, writes the page, and returns what it is made of."""
        from ..analysis.monitoring import follow, new_conditions
        from ..report.monitoring import page_of

        monitor = self.writer.read()
        followed = follow(monitor.occurrences, monitor.settings)
        text = page_of(str(self.writer.directory), monitor, followed, new_conditions(monitor.occurrences))
        written = self.writer.write_page(text)
        note(f"page: {written}")
        return monitor, followed


def next_start_ns(first_ns: int, every_ns: int, now_ns: int) -> tuple[int, int]:
    """Start of the occurrence after one that was to begin at `first_ns`, and the number of those left out because that
    took longer than the time between two."""
    missed = max(0, now_ns - first_ns) // every_ns
    return first_ns + (missed + 1) * every_ns, missed

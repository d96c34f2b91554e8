"""The directory of a monitor: what is repeated, one record for each occurrence, their runs, and the data set.

::

    DIR/
      monitor.json             the command, and what is fixed beforehand: baseline, rate of false alarms, bound
      occurrences/000001.json  an occurrence: when, how it ended, the values of all series, what was removed of it
      runs/000001/             its run directory
      trials/000000.parquet    all columns of the data set, without a row
      trials/000001.parquet    the trials of an occurrence
      index.html               derived: the page

Nothing in it is believed, as nothing in a run directory is. Names of files come from numbers, never from a record.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..model.errors import StoreError, UsageError, WriteError
from ..model.monitoring import MONITOR_SCHEMA, OCCURRENCE_SCHEMA, Monitor, Occurrence, Removed, Settings
from ..model.quoting import printable
from .atomic import dumps
from .data_set import add_to_data_set
from .folder import PARTIAL_SUFFIX, Folder
from .manifest_check import number_problem
from .run_directory import Run, opened
from .run_json import read_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MONITOR = "monitor.json"
OCCURRENCES = "occurrences"
RUNS = "runs"
TABLES = "trials"
PAGE = "index.html"

MOST_NUMBER = 10**9
MOST_REALTIME_NS = 2**63 - 1
LARGEST_BASELINE = 1000
MOST_TEXT = 500
"""Characters of a name, such as that of a path."""

_RECORD = re.compile(r"(\d{6,10})\.json")
_NUMBERED = re.compile(r"(\d{6,10})(\.json|\.parquet)?")


def holds_monitor(directory: Path) -> bool:
    """True if a monitor was begun there."""
    try:
        return Folder.open(directory).has_file(MONITOR)
    except OSError:
        return False


def run_name(number: int) -> str:
    """The name of the run directory of that occurrence."""
    return f"{number:06d}"


def read_monitor(directory: Path) -> Monitor:
    """Reads the directory of a monitor. Raises `StoreError` where there is none, or what is fixed beforehand is
    damaged. Problems of single occurrences are in `Monitor.problems`."""
    if not holds_monitor(directory):
        raise StoreError(f"{directory} is not the directory of a monitor: it has no {MONITOR}")
    return _read(opened(directory))


def _read(folder: Folder) -> Monitor:
    settings: Settings = _parsed(folder, MONITOR, MONITOR_SCHEMA, Settings)
    wrong = _wrong_settings(settings)
    if wrong is not None:
        raise StoreError(f"{_place(folder, MONITOR)}: damaged: {wrong}")
    occurrences, problems = list[Occurrence](), list[str]()
    inside = folder.folder(OCCURRENCES) if folder.has(OCCURRENCES) else None
    for name in [] if inside is None else inside.names():
        assert inside is not None
        if name.endswith(PARTIAL_SUFFIX):
            continue
        try:
            occurrences.append(_occurrence(inside, name))
        except StoreError as error:
            problems.append(str(error))
    occurrences.sort(key=lambda occurrence: occurrence.number)
    return Monitor(settings=settings, occurrences=tuple(occurrences), problems=tuple(problems))


def _occurrence(folder: Folder, name: str) -> Occurrence:
    match = _RECORD.fullmatch(name)
    if match is None:
        raise StoreError(f"{_place(folder, name)}: not the record of an occurrence")
    occurrence: Occurrence = _parsed(folder, name, OCCURRENCE_SCHEMA, Occurrence)
    times = (
        occurrence.started_realtime_ns,
        occurrence.ended_realtime_ns,
        *(item.at_realtime_ns for item in occurrence.removed),
    )
    wrong = None
    if occurrence.number != int(match[1]) or name != f"{run_name(occurrence.number)}.json":
        wrong = f"it says that it is occurrence {occurrence.number}"
    elif not all(0 <= at <= MOST_REALTIME_NS for at in times):
        wrong = "a time is out of range"
    elif occurrence.trials < 0 or any(item.n < 1 for item in occurrence.values):
        wrong = "a count of trials is out of range"
    elif any(item.removed_bytes < 0 for item in occurrence.removed):
        wrong = "it removed less than nothing"
    elif any(len(text) > MOST_TEXT for item in occurrence.values for text in item.series.key):
        wrong = "a name is longer than any of an experiment"
    elif len({item.series.key for item in occurrence.values}) < len(occurrence.values):
        wrong = "it has two values of one series"
    if wrong is not None:
        raise StoreError(f"{_place(folder, name)}: damaged: {wrong}")
    return occurrence


def _wrong_settings(settings: Settings) -> str | None:
    alarms = settings.false_alarms
    if not settings.command:
        return "it has no command"
    if not 2 <= settings.baseline <= LARGEST_BASELINE:
        return f"a baseline of {settings.baseline} occurrences"
    if (alarms.per_look is None) == (alarms.per_year is None):
        return "false alarms have one rate"
    if not (0 < (alarms.per_look or 0.5) < 1 and (alarms.per_year or 1) > 0):
        return "the rate of false alarms is out of range"
    return "a bound on the disk under 0" if settings.keep_bytes < 0 else None


def _parsed(folder: Folder, name: str, schema: str, kind: type[Any]) -> Any:
    from pydantic import ValidationError

    from ..model.form import words_of

    data = read_json(folder, name)
    place = _place(folder, name)
    if data.get("schema") != schema:
        raise StoreError(f"{place}: its schema is not {schema}, which this version reads")
    wrong = number_problem(data)
    if wrong is not None:
        raise StoreError(f"{place}: damaged: {wrong}")
    text = dumps({key: item for key, item in data.items() if key != "schema"})
    try:
        # Validated as JSON, so that only lists are converted, to tuples: else the text "NaN" would become a number.
        return _adapter(kind.__name__).validate_json(text, strict=True)
    except ValidationError as error:
        raise StoreError(f"{place}: damaged: {next(words_of(error))}") from error


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter({"Settings": Settings, "Occurrence": Occurrence}[kind])


def _place(folder: Folder, name: str) -> str:
    return printable(str(folder.path / name))


class MonitorWriter(AbstractContextManager["MonitorWriter"]):
    """Writes the directory of a monitor. One process at a time: it is locked until this is closed.

    Attributes:
        is_new: whether the monitor begins with this.

    Raises `UsageError` where another process has it.
    """

    def __init__(self, folder: Folder, *, is_new: bool) -> None:
        self.folder = folder
        self.is_new = is_new
        folder.lock(f"another process repeats {folder.path}; wait until it has ended")

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Opens the directory of a monitor, or makes one. Raises `UsageError` where another process has it or it holds
        something else, `WriteError` where it cannot be made."""
        try:
            if directory.is_symlink():
                raise OSError(errno.ELOOP, "it is a symbolic link")
            directory.mkdir(parents=True, exist_ok=True)
            folder = Folder.open(directory, follow_links=False)
        except OSError as error:
            raise WriteError(
                f"making the directory {directory} of a monitor: {error.strerror}; give a writable place"
            ) from error
        is_new = not folder.has(MONITOR)
        writer = cls(folder, is_new=is_new)
        held = [name for name in folder.names() if name.removesuffix(PARTIAL_SUFFIX) != MONITOR]
        if is_new and held:
            writer.close()
            raise UsageError(f"{directory} is not empty and holds no monitor; give another directory")
        return writer

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self.folder.close()

    @property
    def directory(self) -> Path:
        """Its current directory."""
        return self.folder.current_path

    def read(self) -> Monitor:
        return _read(self.folder)

    def save_settings(self, settings: Settings) -> None:
        """Writes what is fixed beforehand. Raises `WriteError`."""
        wrong = _wrong_settings(settings)
        if wrong is not None:
            raise ValueError(wrong)  # never writes a file that cannot be read again
        self.folder.write(MONITOR, _text(MONITOR_SCHEMA, settings, indent=True))

    def discard(self) -> None:
        """Removes a monitor that came to nothing before its first occurrence ended."""
        for name in (MONITOR, OCCURRENCES, RUNS, TABLES):
            self.folder.remove(name)
        place = self.directory
        if not self.folder.names():
            place.rmdir()

    def next_number(self) -> int:
        """A number that no file of the directory has, one above the largest."""
        return max((number for _, number in self._numbered()), default=0) + 1

    def unrecorded(self) -> list[int]:
        """The numbers of runs without a record: whoever repeated it was killed meanwhile."""
        recorded = {number for part, number in self._numbered() if part == OCCURRENCES}
        return sorted({number for part, number in self._numbered() if part == RUNS} - recorded)

    def _numbered(self) -> Iterator[tuple[str, int]]:
        for part in (OCCURRENCES, RUNS, TABLES):
            for name in self.folder.folder(part).names() if self.folder.has(part) else []:
                match = _NUMBERED.fullmatch(name)
                if match is not None and int(match[1]) < MOST_NUMBER:
                    yield part, int(match[1])

    def run_directory(self, number: int) -> Path:
        """Directory of the run of an occurrence, which may not exist yet."""
        self.inside(RUNS)
        return self.directory / RUNS / run_name(number)

    def run_folder(self, number: int) -> Folder:
        """The directory of that run, which must not be a link. Raises `StoreError` where there is none."""
        return self.inside(RUNS).folder(run_name(number))

    def inside(self, part: str) -> Folder:
        """A directory in it, which is made where there is none. Raises `StoreError` or `WriteError`."""
        if self.folder.has(part):
            return self.folder.folder(part)
        try:
            return self.folder.make_folder(part)
        except OSError as error:
            raise WriteError(f"making {self.folder.path / part}: {error.strerror}") from error

    def record(self, occurrence: Occurrence) -> None:
        """Writes the record of an occurrence. Raises `WriteError`."""
        self.inside(OCCURRENCES).write(f"{run_name(occurrence.number)}.json", _text(OCCURRENCE_SCHEMA, occurrence))

    def note_removed(self, occurrence: Occurrence, removed: Removed) -> Occurrence:
        """Records that a part of an occurrence is removed, once for each part."""
        if any(item.part == removed.part for item in occurrence.removed):
            return occurrence
        noted = replace(occurrence, removed=(*occurrence.removed, removed))
        self.record(noted)
        return noted

    def add_trials(self, number: int, started_realtime_ns: int, run: Run) -> None:
        """Adds the trials of an occurrence to the data set. Raises `StoreError` or `WriteError`."""
        add_to_data_set(self.inside(TABLES), number, started_realtime_ns, run.trials, run.manifest)

    def write_page(self, text: str) -> Path:
        """Writes the page, and returns its file. Raises `WriteError`."""
        self.folder.write(PAGE, text)
        return self.directory / PAGE


def _text(schema: str, value: Settings | Occurrence, *, indent: bool = False) -> str:
    import json

    data = {"schema": schema, **asdict(value)}
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) if indent else dumps(data)

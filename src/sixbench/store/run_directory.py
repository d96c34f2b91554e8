"""Run directories: created, written trial by trial, read back."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ..model.errors import StoreError, UsageError, WriteError
from ..model.trial import TrialRecord
from ..model.wording import printable
from .atomic import dumps
from .details import Details
from .folder import PARTIAL_SUFFIX, Folder, folders_in
from .ledger import Journal, hashes_of, read_journal
from .manifest import Manifest, RunState
from .manifest_json import manifest_from_json, manifest_to_json
from .record_check import Planned, problems_of

MANIFEST = "manifest.json"
EXPERIMENT = "experiment.yaml"
TRIALS = "trials"
TRIAL = "trial.json"
SERIES = "series.parquet"
TABLE = "trials.parquet"


MAX_JSON_BYTES = 2**28
"""The largest manifest or record. With 100,000 combinations a manifest has some 50 MB."""

MAX_DEPTH = 40
"""How deep objects and lists may be in one another. Those of a manifest are some ten levels deep."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as it was read: the manifest and the trials in order of execution.

    Attributes:
        problems: trials that are missing, damaged, copied or changed, each with what is wrong. None of them is among
            `trials`.
    """

    directory: Path
    manifest: Manifest
    trials: list[TrialRecord]
    problems: tuple[str, ...] = ()

    @cached_property
    def by_key(self) -> dict[str, TrialRecord]:
        """The trials by their key."""
        return {trial.key: trial for trial in self.trials}

    def file(self, key: str, name: str) -> bytes | None:
        """A file of one trial. None where it has no file of that name, or the run is not on a disk. Raises
        `StoreError` where it cannot be read."""
        if not self.directory.is_dir():
            return None
        inside = opened(self.directory)
        for part in (TRIALS, key):
            if not inside.has(part):
                return None
            inside = inside.folder(part)
        return inside.read(name) if inside.has(name) else None

    def series(self, key: str) -> dict[str, dict[str, list[float]]]:
        """Interval series of one trial: source, then quantity, to values; `t_ns` among them. Empty where none are.
        Raises `StoreError` where the file is damaged."""
        content = self.file(key, SERIES)
        if content is None:
            return {}
        from .series import read_series

        return read_series(content, str(self.directory / TRIALS / key / SERIES))


class RunWriter:
    """Adds trials to a run directory. One process at a time: the directory is locked until this is closed. A
    directory that is renamed meanwhile is still the same one.

    Raises `UsageError` where another process has it.
    """

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        _lock(folder)
        self._folder = folder
        self._trials = folder.folder(TRIALS) if folder.has(TRIALS) else _make_trials(folder)
        self._accepted = dict(manifest.accepted)
        self._journal = Journal(folder)
        self._writing: str | None = None
        """The trial that is being written, or whose writing was interrupted."""
        self.manifest = manifest

    @property
    def directory(self) -> Path:
        """Where the run directory is now."""
        return self._folder.place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlocks the directory. Calls after the first do nothing."""
        self._folder.path = self._folder.place
        self._journal.close()
        self._trials.close()
        self._folder.close()

    def save_manifest(self, **changes: Any) -> None:
        """Writes the manifest with some fields changed."""
        # An interrupt may come when a trial is in its place and not yet noted.
        if self._writing is not None and self._writing not in self._accepted and self._trials.has(self._writing):
            self._note_what_is_there(self._writing)
        self.manifest = replace(self.manifest, accepted=dict(self._accepted), **changes)
        text = json.dumps(manifest_to_json(self.manifest), indent=1, allow_nan=False, ensure_ascii=False)
        self._folder.write(MANIFEST, text)
        self._journal.remove()

    def set_state(self, state: RunState, ended_realtime_ns: int) -> None:
        """Records how the run ended."""
        self.save_manifest(state=state, ended_realtime_ns=ended_realtime_ns)

    def discard(self) -> None:
        """Removes the directory of a run that came to nothing. There must be no trials in it."""
        place = self.directory
        for name in (EXPERIMENT, MANIFEST):
            self._folder.remove(name)
        with contextlib.suppress(OSError):  # what is not empty holds what others put there
            (place / TRIALS).rmdir()
            place.rmdir()
        self.close()

    def add_trial(
        self,
        record: TrialRecord,
        series: dict[str, dict[str, list[float]]],
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Makes a trial durable. Raises `WriteError`, and then nothing of it is there.

        Args:
            record: its record.
            series: interval series by source.
            files: more files by name, such as header captures.
        """
        text = dumps(record.to_json())
        TrialRecord.from_json(json.loads(text))  # what is written can be read
        contents = {TRIAL: text.encode(), **(files or {})}
        if series:
            from .series import series_parquet

            contents[SERIES] = series_parquet(series)
        self.add_files(record.key, contents)

    def add_files(self, key: str, contents: Mapping[str, bytes]) -> None:
        """Makes the files of a trial durable. Raises `WriteError`, and then none of them is there."""
        self._writing = key
        self._trials.write_folder(key, contents, also=self._journal.unflushed())
        self._note(key, contents)
        self._writing = None

    def tidy(self, run: Run) -> None:
        """Removes what an interruption left half-written, and notes the trials that a crash left unnoted or an earlier
        version of sixbench did not note."""
        for name in self._trials.names():
            if name.endswith(PARTIAL_SUFFIX):
                self._trials.remove(name)
        for trial in run.trials:
            if trial.key not in self._accepted:
                self._note_what_is_there(trial.key)

    def _note_what_is_there(self, key: str) -> None:
        inside = self._trials.folder(key)
        self._note(key, {name: inside.read(name) for name in inside.names()})

    def _note(self, key: str, contents: Mapping[str, bytes]) -> None:
        hashes = hashes_of(contents)
        self._accepted[key] = hashes
        self._journal.note(key, hashes)


def _make_trials(folder: Folder) -> Folder:
    """Makes the directory of trials of a run that came without any, as it does into a guest. Raises `WriteError`."""
    try:
        return folder.make_folder(TRIALS)
    except OSError as error:
        raise WriteError(f"making {folder.path / TRIALS}: {error.strerror}") from error


def holds_run(directory: Path) -> bool:
    """Whether a run was begun there."""
    return (directory / MANIFEST).is_file()


MAX_SAME_NAMES = 1000
"""How many directories may have the same name but for a number at its end."""


def new_directory(wanted: Path) -> Path:
    """Makes a directory that nobody else has: of that name, or with `-2`, `-3` ... added where there is one. Raises
    `WriteError`."""
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        for number in range(1, MAX_SAME_NAMES + 1):
            directory = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
            with contextlib.suppress(FileExistsError):
                directory.mkdir()
                return directory
    except OSError as error:
        raise WriteError(
            f"making the directory {wanted}: {error.strerror}; give a writable place with --out"
        ) from error
    raise WriteError(f"making the directory {wanted}: there are {MAX_SAME_NAMES} of that name; give another --out")


def create_new_run(wanted: Path, manifest: Manifest) -> RunWriter:
    """Makes a run directory that nobody else has, of that name or one like it, by which the run is called. Raises
    `WriteError`, and then nothing is left."""
    directory = new_directory(wanted)
    try:
        return create_run(directory, replace(manifest, run=directory.name))
    except BaseException:
        with contextlib.suppress(OSError):  # what is not empty holds what others put there
            directory.rmdir()
        raise


def create_run(directory: Path, manifest: Manifest) -> RunWriter:
    """Makes a new run directory. Raises `UsageError` where one is already, `WriteError` where it cannot be made."""
    existed = check_free(directory, manifest.experiment.text)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        folder = Folder.open(directory)
    except OSError as error:
        raise WriteError(
            f"making the run directory {directory}: {error.strerror}; give a writable place with --out"
        ) from error
    try:
        writer = RunWriter(folder, manifest)
        folder.write(EXPERIMENT, manifest.experiment.text)
        writer.save_manifest()
    except (WriteError, KeyboardInterrupt):
        with contextlib.suppress(WriteError, OSError):
            for name in (TRIALS, EXPERIMENT, MANIFEST):
                folder.remove(name)
            if not existed:
                directory.rmdir()
        raise
    return writer


def check_free(directory: Path, experiment: str) -> bool:
    """Checks that a run directory can be made there. Returns whether there is a directory already, which is empty, or
    holds what a run of the same experiment left that was killed at its very beginning. Raises `UsageError`,
    `StoreError` or `WriteError`.

    Args:
        experiment: the text of its file.
    """
    try:
        existed = directory.exists()
        if (directory / MANIFEST).exists():
            raise UsageError(
                f"{directory} already holds a run; give another --out, or continue it with: sixbench resume {directory}"
            )
        if existed and not (directory.is_dir() and _is_free(directory, experiment)):
            raise UsageError(f"{directory} exists and is not an empty directory; give another --out")
    except OSError as error:
        raise WriteError(
            f"making the run directory {directory}: {error.strerror}; give a writable place with --out"
        ) from error
    return existed


def _is_free(directory: Path, experiment: str) -> bool:
    """Whether a run can begin in a directory: it is empty, or holds no more than what a run of the same experiment
    leaves that is killed before it has a manifest. Raises `OSError`."""
    names = {name.removesuffix(PARTIAL_SUFFIX) for name in os.listdir(directory)}
    if not names:
        return True
    folder = opened(directory)
    if not names <= {TRIALS, EXPERIMENT, MANIFEST} or not folder.has(TRIALS) or folder.folder(TRIALS).names():
        return False
    return not folder.has(EXPERIMENT) or folder.read(EXPERIMENT) == experiment.encode()


def open_run(directory: Path) -> tuple[RunWriter, Run]:
    """Opens a run to continue it. Files that an interruption left half-written are removed.

    Raises:
        StoreError: the directory is not a run directory, or it is damaged.
        UsageError: another process has it.
        WriteError: nothing can be written there.
    """
    run = read_run(directory)
    if run.problems:
        more = f" ({len(run.problems)} such problems; see: sixbench verify {directory})" if run.problems[1:] else ""
        raise StoreError(f"{run.problems[0]}{more}; a run can continue only if nothing that it recorded has changed")
    writer = RunWriter(opened(directory), run.manifest)
    writer.tidy(run)
    return writer, run


def _lock(folder: Folder) -> None:
    try:
        fcntl.flock(folder.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            raise UsageError(f"another process is running {folder.path}; wait until it has ended") from error
        raise WriteError(f"locking {folder.path}: {error.strerror}") from error


def opened(directory: Path) -> Folder:
    """A run directory, held open. Raises `StoreError`."""
    try:
        return Folder.open(directory)
    except OSError as error:
        raise StoreError(f"opening {directory}: {error.strerror}") from error


def read_run(directory: Path) -> Run:
    """Reads a run directory. Raises `StoreError` where there is none, or its manifest is damaged. Problems of
    single trials are in `Run.problems`."""
    if not (directory.is_dir() and (folder := opened(directory)).has(MANIFEST)):
        raise StoreError(f"{directory} is not a run directory: it has no {MANIFEST}")
    manifest = manifest_from_json(read_json(folder, MANIFEST), printable(str(directory / MANIFEST)))
    manifest = replace(manifest, accepted={**manifest.accepted, **read_journal(folder)})
    planned = Planned.of(manifest.experiment)
    trials, problems = list[TrialRecord](), list[str]()
    inside = folder.folder(TRIALS) if folder.has(TRIALS) else folder
    names = [] if inside is folder else list(folders_in(inside))
    details = Details(inside, _json_object, TRIAL)
    for name in names:
        place = str(inside.path / name / TRIAL)
        try:
            record, wrong = _read_trial(inside.folder(name), name, manifest, planned, details)
        except StoreError as error:
            problems.append(str(error))
            continue
        if wrong:
            problems.append(f"{printable(place)}: damaged trial record: {wrong}")
        else:
            trials.append(record)
    present = set(names)
    problems += [
        f"{printable(str(inside.path / name))}: missing: the run recorded it"
        for name in manifest.accepted
        if name not in present
    ]
    trials.sort(key=lambda trial: trial.sequence)
    return Run(directory=directory, manifest=manifest, trials=trials, problems=tuple(problems))


def _read_trial(
    folder: Folder, name: str, manifest: Manifest, planned: Planned, details: Details
) -> tuple[TrialRecord, str | None]:
    """A record and what is wrong with it. Raises `StoreError` where no record can be read."""
    content = folder.read(TRIAL, MAX_JSON_BYTES)
    record = _parse(content, folder.path / TRIAL)
    wrong = next(problems_of(record, name, planned), None)
    known = manifest.accepted.get(name)
    digest = hashes_of({TRIAL: content})[TRIAL]
    if wrong is None and known is not None and known.get(TRIAL) != digest:
        wrong = "it was changed after the run recorded it"
    # The last trial before a crash is there before it is noted.
    if wrong is None and known is None and manifest.accepted and manifest.state != "running":
        wrong = "the run did not record it"
    return record if wrong else details.lighter(record, name, digest), wrong


def _parse(content: bytes, place: Path) -> TrialRecord:
    """The record in a file. Raises `StoreError` where it is none."""
    try:
        return TrialRecord.from_json(_json_object(content, place))
    except ValueError as error:
        raise StoreError(f"{printable(str(place))}: damaged trial record: {error}") from error


def others_who_may_write(directory: Path) -> str | None:
    """Who else may change the content of a run directory, in words. None: only this user and root."""
    return opened(directory).others_who_may_write()


def verify_run(run: Run) -> list[str]:
    """All that is wrong with the files of a run's trials: `Run.problems`, and files whose hash is not the one that was
    recorded. Empty: every file is as it was then."""
    folder = opened(run.directory)
    found = list(run.problems)
    for trial in run.trials:
        known = run.manifest.accepted.get(trial.key)
        if known is None:
            continue
        inside = folder.folder(TRIALS).folder(trial.key)
        names = inside.names()
        hashes = hashes_of({name: inside.read(name) for name in names if name in known})
        place = printable(str(inside.path))
        found += [f"{place}/{printable(name)}: missing: the run recorded it" for name in known if name not in names]
        found += [
            f"{place}/{printable(name)}: it was changed after the run recorded it"
            for name in hashes
            if hashes[name] != known[name]
        ]
        found += [f"{place}/{printable(name)}: the run did not record it" for name in names if name not in known]
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def read_json(folder: Folder, name: str) -> dict[str, Any]:
    """An object of JSON in a file of a run. Raises `StoreError`."""
    return _json_object(folder.read(name, MAX_JSON_BYTES), folder.path / name)


def _json_object(content: bytes, path: Path) -> dict[str, Any]:
    """An object of JSON, whose texts show what they are: control characters stand escaped in them. Raises
    `StoreError`."""
    place = printable(str(path))
    try:
        text = content.decode()
        data = json.loads(text, parse_constant=_no_number)
        if "\\ud" in text.lower():
            json.dumps(data, ensure_ascii=False).encode()  # half a character is none
    except (ValueError, RecursionError) as error:
        reason = printable(str(error).partition(";")[0])
        raise StoreError(f"{place}: not JSON: {reason}") from error
    if not isinstance(data, dict):
        raise StoreError(f"{place}: not a JSON object")
    if _depth(data) > MAX_DEPTH:
        raise StoreError(f"{place}: more than {MAX_DEPTH} levels deep, which nothing of a run is")
    return {**_escaped(data)} if _MAY_CONTROL.search(text) else data


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters with which a text could steer a terminal or reverse what stands beside it (Unicode UAX 9). Line feeds and
tabs are none of them."""

_MAY_CONTROL = re.compile(rf"\\u(00|20)|\\[bfr]|{_CONTROLS.pattern}")


def _escaped(data: Any) -> Any:
    if isinstance(data, str):
        return _CONTROLS.sub(lambda found: printable(found.group()), data)
    if isinstance(data, list):
        return [_escaped(one) for one in data]
    return {_escaped(key): _escaped(one) for key, one in data.items()} if isinstance(data, dict) else data


def _depth(data: Any) -> int:
    """How many levels of objects and lists there are, up to one more than `MAX_DEPTH`."""
    level, depth = [data], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            part
            for whole in level
            for part in (whole.values() if type(whole) is dict else whole)
            if type(part) is dict or type(part) is list
        ]
    return depth


def write_derived(run: Run, files: dict[str, str]) -> dict[str, Path]:
    """Writes `trials.parquet`, and files that others derived from a run, by name, into its directory.

    Returns their paths. Raises `WriteError`.
    """
    from .table import trials_parquet

    contents: dict[str, str | bytes] = dict(files)
    if run.trials:
        contents[TABLE] = trials_parquet(run.trials, run.manifest)
    folder = opened(run.directory)
    for name, content in contents.items():
        folder.write(name, content)
    return {name: run.directory / name for name in contents}

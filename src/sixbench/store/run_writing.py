"""Run directories: made, written trial by trial, continued."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from ..model.errors import StoreError, UsageError, WriteError
from ..model.trial import TrialRecord
from .atomic import dumps
from .folder import PARTIAL_SUFFIX, Folder
from .ledger import Journal, hashes_of
from .manifest import Manifest, RunState
from .manifest_json import manifest_to_json
from .run_directory import EXPERIMENT, MANIFEST, SERIES, TRIAL, TRIALS, Run, opened, read_run

TABLE = "trials.parquet"


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
        return self._folder.current_path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlocks the directory. Calls after the first do nothing."""
        self._folder.path = self._folder.current_path
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

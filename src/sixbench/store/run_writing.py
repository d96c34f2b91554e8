"""Run directories: made, written trial by trial, continued."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..model.errors import StoreError, UsageError, WriteError
from ..model.quoting import text_of
from ..model.record_json import record_from_json, record_to_json
from ..model.trial import TrialRecord
from .atomic import dumps
from .folder import PARTIAL_SUFFIX, Folder
from .ledger import Journal, hashes_of
from .manifest import Manifest, RunState
from .manifest_json import manifest_to_json
from .run_directory import APART, ARRIVED, EXPERIMENT, MANIFEST, SERIES, TRIAL, TRIALS, Run, opened, read_run

TABLE = "trials.parquet"


class RunWriter(AbstractContextManager["RunWriter"]):
    """Adds trials to a run directory. One process at a time: the directory is locked until this is closed. A
    directory that is renamed meanwhile is still the same one.

    Raises `UsageError` where another process has it.
    """

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        folder.lock(f"another process is running {folder.path}; wait until it has ended")
        self._folder = folder
        # A run is copied into a guest without its trials.
        self._trials = folder.folder(TRIALS) if folder.has(TRIALS) else _make(folder, TRIALS)
        self._accepted = dict(manifest.accepted)
        self._watched = manifest.watched
        self._journal = Journal(folder)
        self._writing: str | None = None
        """The trial that is being written, or whose writing was interrupted."""
        self.manifest = manifest

    @property
    def directory(self) -> Path:
        """Current directory of the run."""
        return self._folder.current_path

    @property
    def identity(self) -> tuple[int, int]:
        """The directory by its device and inode, as pages that look at the run name it."""
        return self._folder.identity

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
        # An interrupt may come after a trial is in its place and before it is recorded.
        if self._writing is not None and self._writing not in self._accepted and self._trials.has(self._writing):
            self._note_what_is_there(self._writing)
        self.manifest = replace(self.manifest, accepted=dict(self._accepted), watched=self._watched, **changes)
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
        with contextlib.suppress(OSError):  # a directory that is not empty has files of others
            self._folder.remove_empty(TRIALS)
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
        self._note_watched(record)
        self.add_files(record.key, trial_files(record, series, files))

    def add_files(self, key: str, contents: Mapping[str, bytes]) -> None:
        """Makes the files of a trial durable. Raises `WriteError`, and then none of them is there."""
        self._writing = key
        self._trials.write_folder(key, contents, also=self._journal.unflushed())
        self._note(key, contents)
        self._writing = None

    def add_block(self, name: str, trials: Mapping[str, Mapping[str, bytes]], *, is_late: bool = False) -> bool:
        """Makes all trials of a block durable that came from a worker, or none of them. Raises `WriteError`.

        If any of them was accepted before, the block came late or twice: it is kept apart and counted.

        Args:
            name: of the block and the attempt at it, which nothing else in the directory has.
            trials: the files of each trial, by its key.
            is_late: whether it is to be kept apart in any case.

        Returns:
            Whether it was accepted.
        """
        if is_late or any(key in self._accepted for key in trials):
            self._existing_or_new(APART).write_folders(name, trials)
            self.save_manifest(apart=self.manifest.apart + len(trials))
            return False
        arrived = self._existing_or_new(ARRIVED)
        arrived.write_folders(name, trials)
        self._accept(arrived, name)
        return True

    def _accept(self, arrived: Folder, name: str) -> None:
        """Moves the trials of a block that has arrived to the others."""
        block = arrived.folder(name)
        for key in block.names():
            self._writing = key
            block.move(key, self._trials)
            self._note_what_is_there(key)
            self._writing = None
        arrived.remove(name)

    def _existing_or_new(self, name: str) -> Folder:
        """A directory of the run's, which is made where there is none. Raises `WriteError`."""
        return self._folder.folder(name) if self._folder.has(name) else _make(self._folder, name)

    def tidy(self, run: Run) -> bool:
        """Removes what an interruption left half-written, and notes the trials that a crash left unnoted or an earlier
        version of sixbench did not note. Returns whether there were blocks to accept that had arrived: then the run has
        more trials than before."""
        inside = [self._trials, *(self._folder.folder(text) for text in (ARRIVED, APART) if self._folder.has(text))]
        for folder in inside:
            for name in folder.names():
                if name.endswith(PARTIAL_SUFFIX):
                    folder.remove(name)
        for trial in run.trials:
            self._note_watched(trial)
            if trial.key not in self._accepted:
                self._note_what_is_there(trial.key)
        arrived = self._folder.folder(ARRIVED) if self._folder.has(ARRIVED) else None
        blocks = [] if arrived is None else arrived.names()
        for name in blocks:
            self._accept(self._existing_or_new(ARRIVED), name)
        return bool(blocks)

    def _note_watched(self, trial: TrialRecord) -> None:
        if trial.watched is not None:
            self._watched = trial.watched or bool(self._watched)

    def _note_what_is_there(self, key: str) -> None:
        inside = self._trials.folder(key)
        self._note(key, {name: inside.read(name) for name in inside.names()})

    def _note(self, key: str, contents: Mapping[str, bytes]) -> None:
        hashes = hashes_of(contents)
        self._accepted[key] = hashes
        self._journal.note(key, hashes)


def trial_files(
    record: TrialRecord, series: dict[str, dict[str, list[float]]], files: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """The files of a trial by name: its record, its series where it has any, and these others."""
    text = dumps(record_to_json(record))
    record_from_json(json.loads(text))  # never writes a record that cannot be read again
    contents = {TRIAL: text.encode(), **(files or {})}
    if series:
        from .series import series_parquet

        contents[SERIES] = series_parquet(series)
    return contents


def _make(folder: Folder, name: str) -> Folder:
    """Makes a directory of a run. Raises `WriteError`."""
    try:
        return folder.make_folder(name)
    except OSError as error:
        raise WriteError(f"making {folder.path / name}: {error.strerror}") from error


MAX_SAME_NAMES = 1000
"""Number of directories that may have the same name but for a number at its end."""


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
        return create_run(directory, replace(manifest, run=text_of(directory.name)))
    except BaseException:
        with contextlib.suppress(OSError):  # a directory that is not empty has files of others
            directory.rmdir()
        raise


def create_run(directory: Path, manifest: Manifest) -> RunWriter:
    """Makes a new run directory. Raises `UsageError` where one is already, `WriteError` where it cannot be made."""
    existed = check_free(directory, manifest.experiment.text)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        folder = Folder.open(directory, follow_links=False)
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
        if directory.is_symlink():
            raise UsageError(f"{directory} is a symbolic link; name the directory itself with --out")
        existed = directory.exists()
        folder = Folder.open(directory, follow_links=False) if directory.is_dir() else None
        if folder is not None and folder.has(MANIFEST):
            raise UsageError(
                f"{directory} already holds a run; give another --out, or continue it with: sixbench resume {directory}"
            )
        if existed and not (folder is not None and _is_free(folder, experiment)):
            raise UsageError(f"{directory} exists and is not an empty directory; give another --out")
    except OSError as error:
        raise WriteError(
            f"making the run directory {directory}: {error.strerror}; give a writable place with --out"
        ) from error
    return existed


def _is_free(folder: Folder, experiment: str) -> bool:
    """True if a run can begin in a directory: it is empty, or holds no more than what a run of the same experiment
    leaves that is killed before it has a manifest. Raises `OSError`."""
    names = {name.removesuffix(PARTIAL_SUFFIX) for name in folder.names()}
    if not names:
        return True
    if not names <= {TRIALS, EXPERIMENT, MANIFEST} or not folder.has(TRIALS) or folder.folder(TRIALS).names():
        return False
    return not folder.has(EXPERIMENT) or folder.read(EXPERIMENT) == experiment.encode()


def open_run(directory: Path) -> tuple[RunWriter, Run]:
    """Opens a run to continue it. Files that an interruption left half-written are removed.

    Raises:
        StoreError: the directory is not a run directory, is a link to one, or is damaged.
        UsageError: another process has it.
        WriteError: nothing can be written there.
    """
    folder = opened(directory, follow_links=False)
    run = _sound(folder)
    writer = RunWriter(folder.reopened(), run.manifest)
    try:
        return writer, _sound(folder) if writer.tidy(run) else run
    except BaseException:
        writer.close()
        raise


def _sound(folder: Folder) -> Run:
    """A run that can continue. Raises `StoreError`."""
    run = read_run(folder)
    if run.problems:
        more = f" ({len(run.problems)} such problems; see: sixbench verify {folder.path})" if run.problems[1:] else ""
        raise StoreError(f"{run.problems[0]}{more}; a run can continue only if nothing that it recorded has changed")
    return run


def write_derived(run: Run, files: dict[str, str]) -> dict[str, Path]:
    """Writes `trials.parquet`, and files that others derived from a run, by name, into its directory.

    Returns their paths. Raises `WriteError`.
    """
    from .table import trials_parquet

    contents: dict[str, str | bytes] = dict(files)
    if run.trials:
        contents[TABLE] = trials_parquet(run.trials, run.manifest)
    folder = run.opened()
    for name, content in contents.items():
        folder.write(name, content)
    return {name: run.directory / name for name in contents}

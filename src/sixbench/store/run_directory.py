"""Run directories: created, written trial by trial, read back."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..model.errors import StoreError, UsageError, WriteError
from ..model.trial import TrialRecord
from .atomic import PARTIAL_SUFFIX, dumps, write_directory, write_file
from .manifest import Manifest, RunState, manifest_from_json, manifest_to_json

MANIFEST = "manifest.json"
TRIALS = "trials"
TRIAL = "trial.json"
SERIES = "series.parquet"
TABLE = "trials.parquet"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as it was read: the manifest and the trials in order of execution."""

    directory: Path
    manifest: Manifest
    trials: list[TrialRecord]

    @cached_property
    def by_key(self) -> dict[str, TrialRecord]:
        """The trials by their key."""
        return {trial.key: trial for trial in self.trials}

    def series(self, key: str) -> dict[str, dict[str, list[float]]]:
        """Interval series of one trial: source, then quantity, to values; `t_ns` among them. Empty where none are."""
        path = self.directory / TRIALS / key / SERIES
        if not path.exists():
            return {}
        from .series import read_series

        return read_series(path)


class RunWriter:
    """Adds trials to a run directory. One process at a time: the directory is locked for as long as this lives.

    Raises `UsageError` where another process has it.
    """

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.manifest = manifest
        self._unlock = weakref.finalize(self, os.close, _lock(directory))

    def close(self) -> None:
        """Gives the directory free, as does the end of this object."""
        self._unlock()

    def save_manifest(self, **changes: Any) -> None:
        """Writes the manifest with some fields changed."""
        self.manifest = replace(self.manifest, **changes)
        write_file(
            self.directory / MANIFEST,
            json.dumps(manifest_to_json(self.manifest), indent=1, allow_nan=False, ensure_ascii=False),
        )

    def set_state(self, state: RunState, ended_realtime_ns: int) -> None:
        """Records how the run ended."""
        self.save_manifest(state=state, ended_realtime_ns=ended_realtime_ns)

    def discard(self) -> None:
        """Removes the directory of a run that came to nothing: all but trials, of which there must be none."""
        self.close()
        for name in ("experiment.yaml", MANIFEST):
            (self.directory / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # what is not empty holds what others put there
            (self.directory / TRIALS).rmdir()
            self.directory.rmdir()

    def add_trial(
        self,
        record: TrialRecord,
        series: dict[str, dict[str, list[float]]],
        files: dict[str, bytes] | None = None,
    ) -> None:
        """Makes a trial durable. Raises `WriteError`, and then nothing of it is there.

        Args:
            record: its record.
            series: interval series by source.
            files: more files by name, such as header captures.
        """

        def fill(directory: Path) -> None:
            (directory / TRIAL).write_text(dumps(record.to_json()), encoding="utf-8")
            for name, content in (files or {}).items():
                (directory / name).write_bytes(content)
            if series:
                from .series import write_series

                write_series(directory / SERIES, series)

        write_directory(self.directory / TRIALS / record.key, fill)


def holds_run(directory: Path) -> bool:
    """Whether a run was begun there."""
    return (directory / MANIFEST).is_file()


def create_run(directory: Path, manifest: Manifest) -> RunWriter:
    """Makes a new run directory. Raises `UsageError` where one is already, `WriteError` where it cannot be made."""
    try:
        existed = directory.exists()
        if (directory / MANIFEST).exists():
            raise UsageError(
                f"{directory} already holds a run; give another --out, or continue it with: sixbench resume {directory}"
            )
        if existed and (not directory.is_dir() or any(directory.iterdir())):
            raise UsageError(f"{directory} exists and is not an empty directory; give another --out")
        (directory / TRIALS).mkdir(parents=True)
    except OSError as error:
        raise WriteError(
            f"making the run directory {directory}: {error.strerror}; give a writable place with --out"
        ) from error
    writer = RunWriter(directory, manifest)
    try:
        write_file(directory / "experiment.yaml", manifest.experiment.text)
        writer.save_manifest()
    except WriteError:
        shutil.rmtree(directory / TRIALS, ignore_errors=True)
        for name in ("experiment.yaml", MANIFEST):
            (directory / name).unlink(missing_ok=True)
        if not existed:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return writer


def open_run(directory: Path) -> tuple[RunWriter, Run]:
    """Opens a run to continue it; what an interruption left half-written is removed. Raises `StoreError`."""
    run = read_run(directory)
    writer = RunWriter(directory, run.manifest)
    for partial in (directory / TRIALS).glob(f"*{PARTIAL_SUFFIX}"):
        shutil.rmtree(partial, ignore_errors=True)
    return writer, run


def _lock(directory: Path) -> int:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno == errno.EWOULDBLOCK:
            raise UsageError(f"another process is running {directory}; wait until it has ended") from error
        raise WriteError(f"locking {directory}: {error.strerror}") from error
    return descriptor


def read_run(directory: Path) -> Run:
    """Reads a run directory. Raises `StoreError` saying what is missing or damaged."""
    path = directory / MANIFEST
    if not os.path.exists(path):
        raise StoreError(f"{directory} is not a run directory: it has no {MANIFEST}")
    manifest = manifest_from_json(_read_json(path), str(path))
    trials = []
    for trial_path in sorted((directory / TRIALS).glob(f"*/{TRIAL}")):
        if trial_path.parent.name.endswith(PARTIAL_SUFFIX):
            continue
        try:
            trials.append(TrialRecord.from_json(_read_json(trial_path)))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{trial_path}: damaged trial record: {error}") from error
    trials.sort(key=lambda trial: trial.sequence)
    return Run(directory=directory, manifest=manifest, trials=trials)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise StoreError(f"reading {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise StoreError(f"{path}: not a JSON object")
    return data


def write_derived(run: Run, files: dict[str, str]) -> dict[str, Path]:
    """Writes `trials.parquet` and files that others derived from a run, by name, into its directory.

    Returns their paths. Raises `WriteError`.
    """
    from .table import trials_parquet

    contents: dict[str, str | bytes] = dict(files)
    if run.trials:
        contents[TABLE] = trials_parquet(run.trials)
    for name, content in contents.items():
        write_file(run.directory / name, content)
    return {name: run.directory / name for name in contents}

"""Run directories, read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..model.errors import StoreError
from ..model.evidence import evidence_adapter
from ..model.quoting import printable
from ..model.record_json import record_adapter, record_from_json
from ..model.repeats import undue_repeats
from ..model.trial import TrialRecord
from .details import Details
from .folder import MAX_FILE_BYTES, Folder, component, folders_in
from .ledger import hashes_of, read_journal
from .manifest import Manifest
from .manifest_json import manifest_adapter, manifest_from_json
from .record_check import RecordPlan, problems_of
from .run_json import MAX_JSON_BYTES, json_object, read_json

MANIFEST = "manifest.json"
EXPERIMENT = "experiment.yaml"
TRIALS = "trials"
ARRIVED = "arrived"
"""The blocks that came from workers and are not yet among the trials."""
APART = "apart"
"""The blocks that came late or twice."""
TRIAL = "trial.json"
MOST_TRIAL_FILES = 1000
"""A few, and one or two for each link."""
SERIES = "series.parquet"
PACKETS = "packets.parquet"
REVERSE_PACKETS = "packets-reverse.parquet"
"""Outcome of the datagrams that the server sent, where a stream has both directions."""
TLS_KEYS = "tls-keys.log"
"""Secrets of the client's sessions of TLS, as Wireshark reads them from SSLKEYLOGFILE, where packets are kept."""
QLOG = "client.sqlog"
"""Events of the client's connections of QUIC, as qvis reads them, where packets are kept."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as it was read: the manifest and the trials in order of execution.

    Attributes:
        problems: trials that are missing, damaged, copied or changed, each with what is wrong. None of them is among
            `trials`.
        folder: its directory, held open as it was read. None: it was not read from a disk.
    """

    directory: Path
    manifest: Manifest
    trials: list[TrialRecord]
    problems: tuple[str, ...] = ()
    folder: Folder | None = field(default=None, repr=False, compare=False)

    @cached_property
    def by_key(self) -> dict[str, TrialRecord]:
        return {trial.key: trial for trial in self.trials}

    def file(self, key: str, name: str, most_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """A file of one trial. None where it has no file of that name, or the run is not on a disk. Raises
        `StoreError` where it cannot be read, or is larger."""
        if self.folder is None and not self.directory.is_dir():
            return None
        inside = self.opened()
        for part in (TRIALS, key):
            if not inside.has(part):
                return None
            inside = inside.folder(part)
        return inside.read(name, most_bytes) if inside.has(name) else None

    def opened(self) -> Folder:
        """Its directory, held open. Raises `StoreError`."""
        return self.folder or opened(self.directory)

    def recorded_file(self, key: str, name: str, most_bytes: int) -> bytes | None:
        """As `file`, and as the run recorded it: else `StoreError`."""
        content = self.file(key, name, most_bytes)
        known = self.manifest.accepted.get(key)  # after a crash the last trial may exist without being recorded
        if content is not None and known is not None and known.get(name) != hashes_of({name: content})[name]:
            wrong = "it was changed after the run recorded it" if name in known else "the run did not record it"
            raise StoreError(f"{printable(str(self.directory / TRIALS / key / name))}: {wrong}")
        return content

    def series(self, key: str) -> dict[str, dict[str, list[float]]]:
        """Interval series of one trial: source, then quantity, to values; `t_ns` among them. Empty where none are.
        Raises `StoreError` where the file is damaged."""
        content = self.file(key, SERIES)
        if content is None:
            return {}
        from .series import read_series

        return read_series(content, str(self.directory / TRIALS / key / SERIES))


def holds_run(directory: Path | Folder) -> bool:
    """True if a run was begun there."""
    try:
        return (Folder.open(directory) if isinstance(directory, Path) else directory).has_file(MANIFEST)
    except OSError:
        return False


def opened(directory: Path | Folder, *, follow_links: bool = True) -> Folder:
    """A run directory, held open. Raises `StoreError`.

    Args:
        follow_links: whether the directory that a path names may be a symbolic link.
    """
    if isinstance(directory, Folder):
        return directory
    try:
        return Folder.open(directory, follow_links=follow_links)
    except OSError as error:
        raise StoreError(f"opening {directory}: {error.strerror}") from error


def prepare_to_read() -> None:
    """Builds what checks manifests and records, which the first `read_run` of a process does otherwise. It takes a
    tenth of a second."""
    for adapter in (manifest_adapter, record_adapter, evidence_adapter):
        adapter()


def read_run(directory: Path | Folder, only: Collection[str] | None = None) -> Run:
    """Reads a run directory. Raises `StoreError` where there is none, or its manifest is damaged. Problems of
    single trials are in `Run.problems`.

    Args:
        only: keys of the trials that are read, of those that the run has; None: all. What one trial must be beside
            others, as repeats, is looked at with all only.
    """
    if isinstance(directory, Path) and not directory.is_dir():
        raise StoreError(f"{directory} is not a run directory: it has no {MANIFEST}")
    folder = opened(directory)
    directory = folder.path
    if not folder.has(MANIFEST):
        raise StoreError(f"{directory} is not a run directory: it has no {MANIFEST}")
    manifest = manifest_from_json(read_json(folder, MANIFEST), printable(str(directory / MANIFEST)))
    manifest = replace(manifest, accepted={**manifest.accepted, **read_journal(folder)})
    planned = RecordPlan.of(manifest.experiment, manifest.workers)
    trials, problems = list[TrialRecord](), list[str]()
    inside = folder.folder(TRIALS) if folder.has(TRIALS) else folder
    if inside is folder:
        names = []
    elif only is not None:
        names = [key for key in only if inside.has(key)]
    else:
        names = list(folders_in(inside))
    details = Details(inside, json_object, TRIAL)
    for name in names:
        try:
            record, wrong = _read_trial(inside, name, manifest, planned, details)
        except StoreError as error:
            problems.append(str(error))
            continue
        if wrong:
            place = printable(str(inside.path / name / TRIAL))
            problems.append(f"{place}: damaged trial record: {wrong}")
        else:
            trials.append(record)
    if only is not None:
        return Run(directory=directory, manifest=manifest, trials=trials, problems=tuple(problems), folder=folder)
    undue = {record.key: wrong for record, wrong in undue_repeats(trials, manifest.experiment.repeats)}
    problems += [
        f"{printable(str(inside.path / key / TRIAL))}: damaged trial record: {wrong}" for key, wrong in undue.items()
    ]
    trials = [trial for trial in trials if trial.key not in undue]
    present = set(names)
    problems += [
        f"{printable(str(inside.path / name))}: missing: the run recorded it"
        for name in manifest.accepted
        if name not in present
    ]
    trials.sort(key=lambda trial: trial.sequence)
    return Run(directory=directory, manifest=manifest, trials=trials, problems=tuple(problems), folder=folder)


def trial_of(files: Mapping[str, bytes], manifest: Manifest, key: str, place: str) -> TrialRecord:
    """The record of a trial that came from elsewhere, checked as one that is read from the run's directory. Raises
    `StoreError`.

    Args:
        files: those of the trial, by name.
        key: the trial that it should be.
        place: where it came from, for messages.
    """
    if len(files) > MOST_TRIAL_FILES:
        raise StoreError(
            f"{printable(place)}: it has {len(files):,} files, and a trial has at most {MOST_TRIAL_FILES:,}"
        )
    for name in files:
        component(name)
    if TRIAL not in files or len(files[TRIAL]) > MAX_JSON_BYTES:
        raise StoreError(f"{printable(place)}: no trial record")
    record = _parse(files[TRIAL], Path(place))
    wrong = next(problems_of(record, key, RecordPlan.of(manifest.experiment, manifest.workers)), None)
    if wrong is not None:
        raise StoreError(f"{printable(place)}: damaged trial record: {wrong}")
    return record


def _read_trial(
    trials: Folder, name: str, manifest: Manifest, planned: RecordPlan, details: Details
) -> tuple[TrialRecord, str | None]:
    """A record and what is wrong with it. Raises `StoreError` where no record can be read."""
    content = trials.read_in(name, TRIAL, MAX_JSON_BYTES)
    record = _parse(content, trials.path, name, TRIAL)
    wrong = next(problems_of(record, name, planned), None)
    known = manifest.accepted.get(name)
    digest = hashes_of({TRIAL: content})[TRIAL]
    if wrong is None and known is not None and known.get(TRIAL) != digest:
        wrong = "it was changed after the run recorded it"
    # After a crash the last trial may exist without being recorded.
    if wrong is None and known is None and manifest.accepted and manifest.state != "running":
        wrong = "the run did not record it"
    return record if wrong else details.lighter(record, name, len(content), digest), wrong


def _parse(content: bytes, path: Path, *names: str) -> TrialRecord:
    """The record in a file. Raises `StoreError` where it is none, with that place."""
    try:
        return record_from_json(json_object(content, path, *names))
    except ValueError as error:
        raise StoreError(f"{printable(str(path.joinpath(*names)))}: damaged trial record: {error}") from error


def others_who_may_write(directory: Path) -> str | None:
    """Others who may change the content of a run directory, in words. None: only this user and root."""
    return opened(directory).others_who_may_write()


def verify_run(run: Run) -> list[str]:
    """All that is wrong with the files of a run's trials: `Run.problems`, and files whose hash is not the one that was
    recorded. Empty: every file is as it was then."""
    texts = list(run.problems)
    recorded = [trial for trial in run.trials if trial.key in run.manifest.accepted]
    if not recorded:
        return texts
    trials = run.opened().folder(TRIALS)
    for trial in recorded:
        known = run.manifest.accepted[trial.key]
        inside = trials.folder(trial.key)
        names = inside.names()
        hashes = hashes_of({name: inside.read(name) for name in names if name in known})
        place = printable(str(inside.path))
        texts += [f"{place}/{printable(name)}: missing: the run recorded it" for name in known if name not in names]
        texts += [
            f"{place}/{printable(name)}: it was changed after the run recorded it"
            for name in hashes
            if hashes[name] != known[name]
        ]
        texts += [f"{place}/{printable(name)}: the run did not record it" for name in names if name not in known]
    return texts

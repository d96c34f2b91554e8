"""Trials of a run in brief: what became of each, without the large parts of its record."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from pathlib import Path

from ..model.errors import StoreError
from ..model.record_json import record_from_json
from ..model.trial import TrialRecord
from .details import PARTS
from .folder import folders_in
from .ledger import hashes_of
from .manifest import Manifest
from .record_check import RecordPlan, problems_of
from .run_directory import TRIAL, TRIALS, Run
from .run_json import MAX_JSON_BYTES, json_object


def read_briefs(run: Run, known: Container[str] = ()) -> Iterator[TrialRecord]:
    """Trials of a run in the order in which they were recorded, without histograms, evidence and agents' results.

    Each is checked as `read_run` checks it, but for these parts; those with a problem are left out. Raises
    `StoreError` where the directory cannot be read.

    Args:
        run: read before, also without its trials.
        known: keys of the trials that are left out.
    """
    folder = run.opened()
    if not folder.has(TRIALS):
        return
    inside = folder.folder(TRIALS)
    planned = RecordPlan.of(run.manifest.experiment, run.manifest.workers)
    new = [name for name in folders_in(inside) if name not in known]
    # A trial's directory is as old as its files, because it is renamed into place when it is complete.
    for name in sorted(new, key=lambda name: (_mtime_ns(name, inside.descriptor), name)):
        try:
            content = inside.read_in(name, TRIAL, MAX_JSON_BYTES)
            data = json_object(content, Path(name))
            brief = record_from_json({key: value for key, value in data.items() if key not in PARTS})
        except (StoreError, ValueError):
            continue
        if _is_as_recorded(run.manifest, name, content) and next(problems_of(brief, name, planned), None) is None:
            yield brief


def _is_as_recorded(manifest: Manifest, name: str, content: bytes) -> bool:
    """True if the run recorded that content. The last trial before a crash is there before it is noted."""
    hashes = manifest.accepted.get(name)
    if hashes is None:
        return not manifest.accepted or manifest.state == "running"
    return hashes.get(TRIAL) == hashes_of({TRIAL: content})[TRIAL]


def _mtime_ns(name: str, descriptor: int) -> int:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0

"""A mark of a run directory, which differs once the run has gone on or was reported."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .folder import Folder
from .ledger import JOURNAL
from .run_directory import MANIFEST, TRIALS
from .run_list import FINDINGS

Mark = tuple[int, int] | None
"""Time of a file's last change, and the identity of the file; None: there is none."""


@dataclass(frozen=True, kw_only=True)
class RunDirectoryState:
    """The state of a run directory by its files. Equal ones were taken of a run that has not changed.

    Attributes:
        directory: its inode.
    """

    manifest: Mark
    journal: Mark
    findings: Mark
    trials: Mark
    directory: int

    @classmethod
    def of(cls, run: Folder) -> RunDirectoryState:
        """The present state."""
        return cls(
            manifest=_mark(run, MANIFEST),
            journal=_mark(run, JOURNAL),
            findings=_mark(run, FINDINGS),
            trials=_mark(run, TRIALS),
            directory=run.identity[1],
        )


def _mark(run: Folder, name: str) -> Mark:
    try:
        there = os.stat(name, dir_fd=run.descriptor, follow_symlinks=False)
    except OSError:
        return None
    return there.st_mtime_ns, there.st_ino

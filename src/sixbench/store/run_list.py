"""The list of runs. None of them is opened to be continued."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path
from typing import Any

from ..model.errors import StoreError, UsageError
from .folder import Folder
from .manifest_check import number_problem
from .run_directory import holds_run, opened
from .run_json import read_json

FINDINGS = "findings.json"


def run_directories(directory: Path) -> list[Path]:
    """The run directories right below a directory, by name; the directory itself where it is one. Links are none.

    Raises `UsageError` where there is no such directory, `StoreError` where it cannot be read.
    """
    try:
        folder = Folder.open(directory)
        return (
            [directory] if holds_run(folder) else [directory / name for name in folder.names() if _holds(folder, name)]
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{directory} is not a directory; name one that contains run directories") from error
    except OSError as error:
        raise StoreError(f"reading {directory}: {error.strerror}") from error


def _holds(folder: Folder, name: str) -> bool:
    try:
        return holds_run(folder.folder(name))
    except StoreError:
        return False


def is_being_run(directory: Path | Folder) -> bool:
    """True if a process is adding trials at this moment. Such a process holds a lock for as long as it lives. Raises
    `StoreError`."""
    folder = opened(directory).reopened()
    try:
        fcntl.flock(folder.descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            return True
        raise StoreError(f"locking {folder.path}: {error.strerror}") from error
    finally:
        folder.close()
    return False


def read_findings(directory: Path | Folder) -> dict[str, Any] | None:
    """The findings of the last report of the run; None if it was never reported. Raises `StoreError`."""
    folder = opened(directory)
    if not folder.has(FINDINGS):
        return None
    findings = read_json(folder, FINDINGS)
    wrong = number_problem(findings)
    if wrong is not None:
        raise StoreError(f"{folder.path / FINDINGS}: damaged findings: {wrong}")
    return findings

"""Interrupting whoever runs a run, found by the lock on its directory.

The kernel knows who has locked a directory. So no record is read that anyone else may have written, and no process is
found by its name. A descriptor of the process (`pidfd`) is taken before it is looked at, so that its number cannot be
another's by the time it is interrupted. The signal is SIGTERM, which ends a run as Ctrl-C does: a shell without job
control ignores SIGINT for what it starts with `&`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

from ..model.errors import UsageError
from ..model.quoting import printable
from .folder import Folder

_LOCKS = Path("/proc/locks")
_FLOCK = re.compile(r"FLOCK\s+ADVISORY\s+WRITE\s+(?P<pid>[1-9][0-9]*)\s")
"""In `/proc/locks` and in `/proc/PID/fdinfo` (proc(5))."""


def interrupt_run(run_directory: Folder) -> None:
    """Interrupts the process that adds trials to a run, as Ctrl-C does. Raises `UsageError` where there is none, or
    only others may."""
    name = printable(run_directory.path.name)
    others = False
    for pid in _who_lock():
        with contextlib.suppress(ProcessLookupError), _process(pid) as process:
            try:
                if _has_locked(pid, run_directory.identity):
                    signal.pidfd_send_signal(process, signal.SIGTERM)
                    return
            except PermissionError:
                others = True
    if others:
        raise UsageError(f"{name} is not run by this user; only root, or the user who runs it, can stop it")
    raise UsageError(f"no process that can be seen from here runs {name}; stop it where it was started")


@contextlib.contextmanager
def _process(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)  # Linux 5.3
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _has_locked(pid: int, identity: tuple[int, int]) -> bool:
    """True if a process has locked the directory of that device and inode. Raises `PermissionError` where this user may
    not know."""
    path = Path(f"/proc/{pid}")
    with contextlib.suppress(FileNotFoundError):  # the process has just ended
        for number in os.listdir(path / "fd"):
            with contextlib.suppress(FileNotFoundError):  # the process has just closed the file
                status = os.stat(path / "fd" / number)
                if (status.st_dev, status.st_ino) == identity and _FLOCK.search((path / "fdinfo" / number).read_text()):
                    return True
    return False


def _who_lock() -> set[int]:
    """The processes that have locked any file for themselves alone."""
    try:
        return {int(match["pid"]) for match in _FLOCK.finditer(_LOCKS.read_text())}
    except OSError:
        return set()

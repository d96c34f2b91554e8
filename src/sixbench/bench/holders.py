"""Holders of sockets: processes of root and of this user count, and those of others do not.

An open socket is a link in its process's folder of descriptors, which root may read of every process, and anybody of
their own (proc_pid_fd(5)). Of a process of root, others see the owner alone. In a user namespace with one user nobody
can tell root from others: there all count.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from .announcements import PROC


def trusted_sockets(holders: Mapping[int, int]) -> set[int]:
    """The sockets that a process of root or of this user holds.

    Args:
        holders: for each socket, by its inode, the process that is said to hold it.
    """
    if is_alone():
        return set(holders)
    trusted = {socket for socket, process in holders.items() if _holds(process, socket)}
    if os.geteuid() == 0 and len(trusted) < len(holders):
        # Processes have other ids in PID namespaces.
        trusted |= _held_by_trusted() & holders.keys()
    return trusted


def is_trusted(user: int) -> bool:
    """True if a process of that user counts."""
    return user in (0, os.geteuid()) or is_alone()


@lru_cache(maxsize=1)
def is_alone() -> bool:
    """True if this process is in a user namespace that has one user."""
    try:
        ranges = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return False
    return sum(int(line.split()[2]) for line in ranges) == 1


def _holds(process: int, socket: int) -> bool:
    """True if a process that counts holds a socket. Root's is believed where this user may not look."""
    try:
        if not is_trusted(os.stat(PROC / str(process)).st_uid):
            return False
        return socket in _sockets(str(process))
    except PermissionError:
        return True
    except OSError:
        return False


def _held_by_trusted() -> set[int]:
    held: set[int] = set()
    for process in filter(str.isdigit, os.listdir(PROC)):
        with contextlib.suppress(OSError):
            if is_trusted(os.stat(PROC / process).st_uid):
                held |= _sockets(process)
    return held


def _sockets(process: str) -> set[int]:
    """The sockets of a process. Raises `OSError`."""
    numbers = set()
    for descriptor in os.listdir(PROC / process / "fd"):
        with contextlib.suppress(OSError):
            kind, _, inode = os.readlink(PROC / process / "fd" / descriptor).partition(":")
            if kind == "socket":
                numbers.add(int(inode.strip("[]")))
    return numbers

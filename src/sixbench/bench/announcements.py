"""Names by which processes of sixbench are known on this machine for as long as they live.

A process holds a socket with a name in the abstract namespace of Linux (unix(7)). The name is gone as soon as its
process is, even after `kill -9`: nothing can be left over, and nobody needs a directory that all users may write in.
Each network namespace has names of its own. /proc shows those of every process (proc_pid_net(5)), so the names of every
user's processes are seen that /proc shows here, in whatever network namespace. Not so from within a container, which
has a /proc of its own. Anybody may take any name, so `holders` says whose a socket is.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

PREFIX = "sixbench/"
"""All names begin with it."""

PROC = Path("/proc")

_SOCKETS = "net/unix"
"""All sockets of a process's network namespace with their names, for everybody to read. `@` stands for the zero byte.
The file's inode is that namespace's own, so it tells the namespaces apart. `ns/net` does not, for other users."""


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """A name that a socket has.

    Attributes:
        name: without `PREFIX`.
        inode: of the socket.
    """

    name: str
    inode: int


def announcements() -> set[Announcement] | None:
    """The names on this machine; None where that cannot be known."""
    looked_at: set[int] = set()
    results = _of_namespace("self", looked_at)
    if results is None:
        return None
    without = _children() | _kernel_threads()
    for process in os.listdir(PROC):
        if process.isdigit() and process not in without:
            results |= _of_namespace(process, looked_at) or set()
    return results


def _of_namespace(process: str, looked_at: set[int]) -> set[Announcement] | None:
    """The names in the network namespace of a process, unless it is one of those that were looked at. None where that
    cannot be known: the process has ended, or is hidden."""
    sockets = f"{PROC}/{process}/{_SOCKETS}"
    try:
        namespace = os.stat(sockets).st_ino
        if namespace in looked_at:
            return set()
        with open(sockets, errors="replace") as file:
            rows = [line.rstrip("\n").split(None, 7) for line in file if f" @{PREFIX}" in line]
    except OSError:
        return None
    looked_at.add(namespace)
    return {
        Announcement(name=row[7].removeprefix(f"@{PREFIX}"), inode=int(row[6]))
        for row in rows
        if len(row) == 8 and row[7].startswith(f"@{PREFIX}") and row[6].isdigit()
    }


def _children() -> set[str]:
    """The agents of this run, each of which may have a network namespace. Empty where the kernel does not tell."""
    with contextlib.suppress(OSError):
        tasks = (PROC / "self" / "task").iterdir()
        return {child for task in tasks for child in (task / "children").read_text().split()}
    return set()


def _kernel_threads() -> set[str]:
    """The threads of the kernel, which announce nothing. Empty where the kernel does not tell, and in a namespace of
    processes, which has none."""
    with contextlib.suppress(OSError):
        if (PROC / "2" / "comm").read_text() == "kthreadd\n":
            return set((PROC / "2" / "task" / "2" / "children").read_text().split())
    return set()

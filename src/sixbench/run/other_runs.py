"""Other runs of sixbench that measure on this machine.

A run that measures holds a socket with a name in the abstract namespace of Linux (unix(7)). The name is gone as soon as
its process is, even after `kill -9`: nothing can be left over, and nobody needs a directory that all users may write
in. Each network namespace has names of its own. /proc shows those of every process (proc_pid_net(5)), so every user's
runs are seen whose processes /proc shows here, in whatever network namespace. Not so from within a container, which has
a /proc of its own. A run that begins tells those that it finds in its own network namespace, so that each of them knows
also of runs that begin and end during one of its trials.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..model.identifiers import NAME, require
from ..model.quoting import listed

PROC = Path("/proc")

_SOCKETS = "net/unix"
"""All sockets of a process's network namespace with their names, for everybody to read. `@` stands for the zero byte.
The file's inode is that namespace's own, so it tells the namespaces apart. `ns/net` does not, for other users."""

POLL_S = 0.5
"""How often a run that waits looks whether the others have ended."""

TURN_S = 5.0
"""How long another run may take to announce itself. Whoever takes longer does not keep others from measuring."""

_TURN = "\0sixbench/turn"
"""The name that a run has while it looks for others and announces itself, so that two do not do so at once."""

_PREFIX = "sixbench/run/"
_TOLD = re.compile(rf"(?P<pid>[0-9]{{1,10}})/(?P<token>[0-9a-f]{{16}})/(?P<name>{NAME.pattern})")
_MAX_TOLD_BYTES = 256


@dataclass(frozen=True, kw_only=True, order=True)
class OtherRun:
    """A run of this machine: its experiment, and its process as that process sees itself."""

    name: str
    pid: int
    token: str

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"

    @property
    def told(self) -> str:
        """The end of its socket's name."""
        return f"{self.pid}/{self.token}/{self.name}"


class Presence:
    """This run, announced for as long as it measures, and the others that it notices."""

    def __init__(self, own: OtherRun, here: socket.socket | None) -> None:
        self._own = own
        self._here = here
        self._seen: set[OtherRun] = set()
        self.next_trial()

    def others(self) -> list[OtherRun] | None:
        """The other runs that measure now; None where that cannot be known."""
        found = None if self._here is None else running()
        return None if found is None else sorted(found - {self._own})

    def next_trial(self) -> None:
        """A trial begins: what was noticed so far does not concern it."""
        self._heard()
        self._seen = set(self.others() or ())

    def during_trial(self) -> list[str] | None:
        """The experiments of the other runs that have measured since the trial began, each once; None where that
        cannot be known."""
        now = self.others()
        if now is None:
            return None
        return sorted({other.name for other in self._seen | self._heard() | set(now)})

    def _heard(self) -> set[OtherRun]:
        """The runs that have begun since this was asked last."""
        heard: set[OtherRun] = set()
        with contextlib.suppress(BlockingIOError):
            while self._here is not None:
                other = _parse(self._here.recv(_MAX_TOLD_BYTES, socket.MSG_DONTWAIT).decode(errors="replace"))
                if other is not None:
                    heard.add(other)
        return heard


@contextlib.contextmanager
def measuring(name: str, *, wait: bool, told: Callable[[str], None]) -> Iterator[Presence]:
    """Announces a run until it ends, and says where others measure meanwhile.

    Args:
        name: of its experiment.
        wait: whether to begin only when no other run measures.
        told: gets a sentence for people: which others measure, or for which it waits.
    """
    require(NAME, name, "an experiment")
    own = OtherRun(name=name, pid=os.getpid(), token=secrets.token_hex(8))
    waits_for: set[OtherRun] = set()
    here, others = _announced(own, only_alone=wait)
    while wait and others:
        if others != waits_for:
            waits_for = others
            told(f"waiting for {_named(others)} to end")
        time.sleep(POLL_S)
        here, others = _announced(own, only_alone=wait)
    if others:
        measure = "measures" if len(others) == 1 else "measure"
        told(
            f"{_named(others)} {measure} on this machine, too; the runs disturb each other, and each trial says so. "
            "Let a run wait for others with --wait"
        )
    try:
        yield Presence(own, here)
    finally:
        if here is not None:
            here.close()


def running() -> set[OtherRun] | None:
    """The runs that measure on this machine; None where that cannot be known."""
    looked_at: set[int] = set()
    found = _of_namespace("self", looked_at)
    if found is None:
        return None
    without = _children() | _kernel_threads()
    for process in os.listdir(PROC):
        if process.isdigit() and process not in without:
            found |= _of_namespace(process, looked_at) or set()
    return found


def _of_namespace(process: str, looked_at: set[int]) -> set[OtherRun] | None:
    """The runs in the network namespace of a process, unless it is one of those that were looked at. None where that
    cannot be known: the process has ended, or is hidden."""
    sockets = f"{PROC}/{process}/{_SOCKETS}"
    try:
        namespace = os.stat(sockets).st_ino
        if namespace in looked_at:
            return set()
        with open(sockets, errors="replace") as lines:
            names = [line.rstrip("\n").split(" ")[-1] for line in lines]
    except OSError:
        return None
    looked_at.add(namespace)
    found = (_parse(name.removeprefix(f"@{_PREFIX}")) for name in names if name.startswith(f"@{_PREFIX}"))
    return {other for other in found if other is not None}


def _children() -> set[str]:
    """The agents of this run, each of which may have a network namespace. Empty where the kernel does not tell."""
    with contextlib.suppress(OSError):
        tasks = (PROC / "self" / "task").iterdir()
        return {child for task in tasks for child in (task / "children").read_text().split()}
    return set()


def _kernel_threads() -> set[str]:
    """The threads of the kernel, which measure nothing. Empty where the kernel does not tell, and in a namespace of
    processes, which has none."""
    with contextlib.suppress(OSError):
        if (PROC / "2" / "comm").read_text() == "kthreadd\n":
            return set((PROC / "2" / "task" / "2" / "children").read_text().split())
    return set()


def _named(others: set[OtherRun]) -> str:
    runs = "another run" if len(others) == 1 else f"{len(others)} other runs"
    return f"{runs} of sixbench, {listed(map(str, sorted(others)))},"


def _announced(own: OtherRun, *, only_alone: bool) -> tuple[socket.socket | None, set[OtherRun]]:
    """The socket of a run, and the others that measure.

    Args:
        only_alone: whether it has no socket yet where there are others.
    """
    with _turn():
        others = running() or set()
        if others and only_alone:
            return None, others
        here = _announce(own, others)
        if here is None or not only_alone:
            return here, others
        # Runs of other network namespaces have turns of their own. Of two that began at once, one goes on.
        others = (running() or set()) - {own}
        if all(own.token < other.token for other in others):
            return here, set()
        here.close()
        return None, others


def _announce(own: OtherRun, others: set[OtherRun]) -> socket.socket | None:
    """A socket of that name, after the others were told of it; None where there are no such names."""
    try:
        here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        return None
    try:
        here.bind(f"\0{_PREFIX}{own.told}")
    except OSError:
        here.close()
        return None
    for other in others:
        with contextlib.suppress(OSError):  # one that has just ended need not know
            here.sendto(own.told.encode(), socket.MSG_DONTWAIT, f"\0{_PREFIX}{other.told}")
    return here


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    """Keeps other runs from announcing themselves meanwhile."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as turn:
        deadline_s = time.monotonic() + TURN_S
        while time.monotonic() < deadline_s:
            try:
                turn.bind(_TURN)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    break
                time.sleep(0.01)
        yield


def _parse(told: str) -> OtherRun | None:
    """Another run, by what it says of itself; None for anything else."""
    match = _TOLD.fullmatch(told)
    return None if match is None else OtherRun(name=match["name"], pid=int(match["pid"]), token=match["token"])

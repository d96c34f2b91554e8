"""Other runs of sixbench that measure on this machine, and pages that look at this one.

A run that measures announces itself by a name (`announcements`), and so does a page of `sixbench ui` for as long as it
is told what a run does. Who begins tells the runs that it finds in its own network namespace, so that each of them
knows also of those that begin and end during one of its trials.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ..lab import registry
from ..lab.locks import lock
from ..model.errors import WriteError
from ..model.identifiers import NAME, require
from ..model.quoting import listed
from ..model.trial import TrialRecord
from .announcements import PREFIX, Announcement, announcements
from .holders import is_trusted, trusted_sockets

POLL_S = 0.5
"""Interval at which a waiting run looks for the end of the others."""

TURN_S = 5.0
"""Longest time that another run may take to announce itself. Whoever takes longer does not keep others from
measuring."""

JUST_NOW_S = 0.1
"""A finding at the end of a trial is not looked for again at the beginning of the next one, if that begins so soon. It
takes some milliseconds on a machine with many processes."""

_TURN = "turn"
"""The lock that a run of this user has while it looks for others and announces itself, so that two do not do so at
once."""

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of who has sent a message (unix(7), `struct ucred`)."""

_RUN = "run/"
_PAGE = "page/"
_TOKEN = "(?P<token>[0-9a-f]{16})"
_RUN_MESSAGE = re.compile(rf"{_RUN}(?P<pid>[0-9]{{1,10}})/{_TOKEN}/(?P<name>{NAME.pattern})")
_PAGE_MESSAGE = re.compile(rf"{_PAGE}(?P<device>[0-9]{{1,20}})-(?P<inode>[0-9]{{1,20}})/{_TOKEN}")
_MAX_MESSAGE_BYTES = 256
_MOST_MESSAGES = 1000
"""Messages that are read at a look: anybody on this machine may send them, and as fast as they are read."""


@dataclass(frozen=True, kw_only=True, order=True)
class OtherRun:
    """A run of this machine: its experiment, and its process as that process sees itself."""

    name: str
    pid: int
    token: str

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"

    @property
    def socket_suffix(self) -> str:
        """The end of its socket's name."""
        return f"{_RUN}{self.pid}/{self.token}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class WatchingPage:
    """A page that looks at a run.

    Attributes:
        directory: of the run, by device and inode: it may be renamed meanwhile.
    """

    directory: tuple[int, int]
    token: str

    @property
    def socket_suffix(self) -> str:
        """The end of its socket's name."""
        device, inode = self.directory
        return f"{_PAGE}{device}-{inode}/{self.token}"


class Presence:
    """This run, announced for as long as it measures, and the others and the pages that it notices."""

    def __init__(self, this_run: OtherRun, here: socket.socket | None) -> None:
        self._this_run = this_run
        self._here = here
        self._seen: set[OtherRun | WatchingPage] = set()
        self._last: set[OtherRun | WatchingPage] | None = None
        self._looked_s = -math.inf
        self.next_trial()

    def others(self) -> list[OtherRun] | None:
        """The other runs that measure now; None where that cannot be known."""
        now = self._now()
        return None if now is None else sorted(item for item in now if isinstance(item, OtherRun))

    def next_trial(self) -> None:
        """A trial begins: what was noticed so far does not concern it, unless it was there just now."""
        heard = self._heard()
        if self._last is not None and time.monotonic() - self._looked_s < JUST_NOW_S:
            self._seen = self._last | heard
        else:
            self._seen = self._now() or set()

    def noted(self, record: TrialRecord, directory: tuple[int, int] | None) -> TrialRecord:
        """The record of the trial that ends, with the other runs that have measured since it began, and whether a page
        looked at this one.

        Args:
            directory: of this run, by device and inode. None: it has none, so no page can look.
        """
        noticed = self._noticed()
        if noticed is None:
            return record
        is_watched = any(isinstance(item, WatchingPage) and item.directory == directory for item in noticed)
        return replace(record, other_runs=_names(noticed), watched=None if directory is None else is_watched)

    def _noticed(self) -> set[OtherRun | WatchingPage] | None:
        """All that were there since the trial began; None where that cannot be known."""
        now = self._now()
        return None if now is None else self._seen | self._heard() | now

    def _now(self) -> set[OtherRun | WatchingPage] | None:
        results = None if self._here is None else _announced_now()
        self._looked_s = time.monotonic()
        self._last = None if results is None else results - {self._this_run}
        return self._last

    def _heard(self) -> set[OtherRun | WatchingPage]:
        """Runs that have begun since the last look."""
        heard: set[OtherRun | WatchingPage] = set()
        here = self._here
        if here is None:
            return heard
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_MESSAGES):
                message, rights, _, _ = here.recvmsg(
                    _MAX_MESSAGE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_DONTWAIT
                )
                result = _parse(message.decode(errors="replace"))
                if isinstance(result, WatchingPage) or (result is not None and _is_from_trusted(rights)):
                    heard.add(result)
        return heard


@contextlib.contextmanager
def measuring(
    name: str, *, wait: bool, report: Callable[[str], None], meanwhile: Callable[[], None] = lambda: None
) -> Iterator[Presence]:
    """Announces a run until it ends, and says where others measure meanwhile.

    Args:
        name: of its experiment.
        wait: whether to begin only when no other run measures.
        report: gets a sentence for people: which others measure, or for which it waits.
        meanwhile: is called now and then while it waits, and may raise to end that.
    """
    require(NAME, name, "an experiment")
    other_run = OtherRun(name=name, pid=os.getpid(), token=secrets.token_hex(8))
    waits_for: set[OtherRun] = set()
    here, others = _announced(other_run, only_alone=wait)
    while wait and others:
        if others != waits_for:
            waits_for = others
            report(f"waiting for {_named(others)} to end")
        time.sleep(POLL_S)
        meanwhile()
        here, others = _announced(other_run, only_alone=wait)
    if others:
        measure = "measures" if len(others) == 1 else "measure"
        report(
            f"{_named(others)} {measure} on this machine, too; the runs disturb each other, and each trial says so. "
            "Let a run wait for others with --wait"
        )
    try:
        yield Presence(other_run, here)
    finally:
        if here is not None:
            here.close()


def running() -> set[OtherRun] | None:
    """The runs that measure on this machine; None where that cannot be known."""
    results = _announced_now()
    return None if results is None else {result for result in results if isinstance(result, OtherRun)}


def announced_page(directory: tuple[int, int]) -> socket.socket | None:
    """Announces a page that looks at the run of a directory, until the socket is closed; None where there are no such
    names."""
    page = WatchingPage(directory=directory, token=secrets.token_hex(8))
    return _announce(page.socket_suffix, running() or set())


def _named(others: set[OtherRun]) -> str:
    runs = "another run" if len(others) == 1 else f"{len(others)} other runs"
    return f"{runs} of sixbench, {listed(map(str, sorted(others)))},"


def _announced(other_run: OtherRun, *, only_alone: bool) -> tuple[socket.socket | None, set[OtherRun]]:
    """The socket of a run, and the others that measure.

    Args:
        only_alone: whether it has no socket yet where there are others.
    """
    with _turn():
        others = running() or set()
        if others and only_alone:
            return None, others
        here = _announce(other_run.socket_suffix, others)
        if here is None or not only_alone:
            return here, others
        # Runs in other network namespaces do not share this lock. Of two runs that started at once, one continues.
        others = (running() or set()) - {other_run}
        if all(other_run.token < other.token for other in others):
            return here, set()
        here.close()
        return None, others


def _announce(text: str, runs: Iterable[OtherRun]) -> socket.socket | None:
    """A socket whose name ends so, after the runs were told of it; None where there are no such names."""
    try:
        here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        return None
    try:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        here.bind(f"\0{PREFIX}{text}")
    except OSError:
        here.close()
        return None
    for run in runs:
        with contextlib.suppress(OSError):  # a run that has just ended need not be informed
            here.sendto(text.encode(), socket.MSG_DONTWAIT, f"\0{PREFIX}{run.socket_suffix}")
    return here


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    """Keeps other runs of this user from announcing themselves meanwhile. Where there can be no lock it does not."""
    held = None
    with contextlib.suppress(OSError, WriteError):
        place = registry.own_directory() / _TURN
        deadline_s = time.monotonic() + TURN_S
        while (held := lock(place)) is None and time.monotonic() < deadline_s:
            time.sleep(0.01)
    try:
        yield
    finally:
        if held is not None:
            held.close()


def _announced_now() -> set[OtherRun | WatchingPage] | None:
    """The runs of root and of this user, and the pages; None where that cannot be known.

    Pages are believed, since their servers are no one who counts: they have given up their rights. A page is a remark
    in the report, and keeps nobody waiting.
    """
    results = announcements()
    return None if results is None else _believed(results)


def _believed(results: Iterable[Announcement]) -> set[OtherRun | WatchingPage]:
    parsed = {result.inode: answer for result in results if (answer := _parse(result.name)) is not None}
    runs = {inode: answers.pid for inode, answers in parsed.items() if isinstance(answers, OtherRun)}
    trusted = trusted_sockets(runs)
    return {answers for inode, answers in parsed.items() if isinstance(answers, WatchingPage) or inode in trusted}


def _is_from_trusted(rights: list[tuple[int, int, bytes]]) -> bool:
    """True if root or this user has sent a message."""
    sent = [data for level, kind, data in rights if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]
    return any(len(data) == _CREDENTIALS.size and is_trusted(_CREDENTIALS.unpack(data)[1]) for data in sent)


def _parse(text: str) -> OtherRun | WatchingPage | None:
    """A run or a page, by what it says of itself; None for anything else."""
    if match := _RUN_MESSAGE.fullmatch(text):
        return OtherRun(name=match["name"], pid=int(match["pid"]), token=match["token"])
    if match := _PAGE_MESSAGE.fullmatch(text):
        return WatchingPage(directory=(int(match["device"]), int(match["inode"])), token=match["token"])
    return None


def _names(noticed: Iterable[OtherRun | WatchingPage]) -> list[str]:
    return sorted({item.name for item in noticed if isinstance(item, OtherRun)})

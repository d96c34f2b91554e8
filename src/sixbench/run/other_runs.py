"""Other runs of sixbench that measure on this machine, and pages that look at this one.

A run that measures announces itself by a name (`announcements`), and so does a page of `sixbench ui` for as long as it
is told what a run does. Who begins tells the runs that it finds in its own network namespace, so that each of them
knows also of those that begin and end during one of its trials.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ..model.identifiers import NAME, require
from ..model.quoting import listed
from ..model.trial import TrialRecord
from .announcements import PREFIX, announced_names

POLL_S = 0.5
"""How often a run that waits looks whether the others have ended."""

TURN_S = 5.0
"""How long another run may take to announce itself. Whoever takes longer does not keep others from measuring."""

JUST_NOW_S = 0.1
"""What was seen at the end of a trial is not looked for again at the beginning of the next one, if that begins so soon.
It takes some milliseconds on a machine with many processes."""

_TURN = f"\0{PREFIX}turn"
"""The name that a run has while it looks for others and announces itself, so that two do not do so at once."""

_RUN = "run/"
_PAGE = "page/"
_TOKEN = "(?P<token>[0-9a-f]{16})"
_TOLD_RUN = re.compile(rf"{_RUN}(?P<pid>[0-9]{{1,10}})/{_TOKEN}/(?P<name>{NAME.pattern})")
_TOLD_PAGE = re.compile(rf"{_PAGE}(?P<device>[0-9]{{1,20}})-(?P<inode>[0-9]{{1,20}})/{_TOKEN}")
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
        return f"{_RUN}{self.pid}/{self.token}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that looks at a run.

    Attributes:
        directory: of the run, by device and inode: it may be renamed meanwhile.
    """

    directory: tuple[int, int]
    token: str

    @property
    def told(self) -> str:
        """The end of its socket's name."""
        device, inode = self.directory
        return f"{_PAGE}{device}-{inode}/{self.token}"


class Presence:
    """This run, announced for as long as it measures, and the others and the pages that it notices."""

    def __init__(self, own: OtherRun, here: socket.socket | None) -> None:
        self._own = own
        self._here = here
        self._seen: set[OtherRun | Page] = set()
        self._last: set[OtherRun | Page] | None = None
        self._looked_s = -math.inf
        self.next_trial()

    def others(self) -> list[OtherRun] | None:
        """The other runs that measure now; None where that cannot be known."""
        now = self._now()
        return None if now is None else sorted(one for one in now if isinstance(one, OtherRun))

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
        is_watched = any(isinstance(one, Page) and one.directory == directory for one in noticed)
        return replace(record, other_runs=_names(noticed), watched=None if directory is None else is_watched)

    def _noticed(self) -> set[OtherRun | Page] | None:
        """All that were there since the trial began; None where that cannot be known."""
        now = self._now()
        return None if now is None else self._seen | self._heard() | now

    def _now(self) -> set[OtherRun | Page] | None:
        names = None if self._here is None else announced_names()
        self._looked_s = time.monotonic()
        self._last = None if names is None else _parsed(names) - {self._own}
        return self._last

    def _heard(self) -> set[OtherRun | Page]:
        """Who has begun since this was asked last."""
        heard: list[str] = []
        with contextlib.suppress(BlockingIOError):
            while self._here is not None:
                heard.append(self._here.recv(_MAX_TOLD_BYTES, socket.MSG_DONTWAIT).decode(errors="replace"))
        return _parsed(heard)


@contextlib.contextmanager
def measuring(
    name: str, *, wait: bool, told: Callable[[str], None], meanwhile: Callable[[], None] = lambda: None
) -> Iterator[Presence]:
    """Announces a run until it ends, and says where others measure meanwhile.

    Args:
        name: of its experiment.
        wait: whether to begin only when no other run measures.
        told: gets a sentence for people: which others measure, or for which it waits.
        meanwhile: is called now and then while it waits, and may raise to end that.
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
        meanwhile()
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
    names = announced_names()
    return None if names is None else {one for one in _parsed(names) if isinstance(one, OtherRun)}


def announced_page(directory: tuple[int, int]) -> socket.socket | None:
    """Announces a page that looks at the run of a directory, until the socket is closed; None where there are no such
    names."""
    page = Page(directory=directory, token=secrets.token_hex(8))
    return _announce(page.told, running() or set())


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
        here = _announce(own.told, others)
        if here is None or not only_alone:
            return here, others
        # Runs of other network namespaces have turns of their own. Of two that began at once, one goes on.
        others = (running() or set()) - {own}
        if all(own.token < other.token for other in others):
            return here, set()
        here.close()
        return None, others


def _announce(told: str, runs: Iterable[OtherRun]) -> socket.socket | None:
    """A socket whose name ends so, after the runs were told of it; None where there are no such names."""
    try:
        here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        return None
    try:
        here.bind(f"\0{PREFIX}{told}")
    except OSError:
        here.close()
        return None
    for run in runs:
        with contextlib.suppress(OSError):  # one that has just ended need not know
            here.sendto(told.encode(), socket.MSG_DONTWAIT, f"\0{PREFIX}{run.told}")
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


def _parsed(names: Iterable[str]) -> set[OtherRun | Page]:
    """The runs and pages of those names, without anything else."""
    found = (_parse(name) for name in names)
    return {one for one in found if one is not None}


def _parse(told: str) -> OtherRun | Page | None:
    """A run or a page, by what it says of itself; None for anything else."""
    if match := _TOLD_RUN.fullmatch(told):
        return OtherRun(name=match["name"], pid=int(match["pid"]), token=match["token"])
    if match := _TOLD_PAGE.fullmatch(told):
        return Page(directory=(int(match["device"]), int(match["inode"])), token=match["token"])
    return None


def _names(noticed: Iterable[OtherRun | Page]) -> list[str]:
    return sorted({one.name for one in noticed if isinstance(one, OtherRun)})

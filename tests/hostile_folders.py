"""Folders of runs and of monitors in which a stranger has put links and special files in the places of files.

All links lead into a tree beside the folder, which nothing may change.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

RUN, OTHER, MONITOR = "run", "other", "monitor"
"""Names in a folder of runs: an interrupted run, one that is whole, and a monitor."""

KEY = "KEY"
"""Stands for the name of the run's first trial."""

PLACES_OF_RUN = (
    RUN,
    f"{RUN}.events.jsonl",
    f"{RUN}/manifest.json",
    f"{RUN}/manifest.json.partial",
    f"{RUN}/experiment.yaml",
    f"{RUN}/accepted.jsonl",
    f"{RUN}/trials",
    f"{RUN}/trials/{KEY}",
    f"{RUN}/trials/{KEY}/trial.json",
    f"{RUN}/trials/{KEY}/series.parquet",
    f"{RUN}/trials/{KEY}/packets.parquet",
    f"{RUN}/trials/{KEY}/h1-r1.pcapng",
    f"{RUN}/trials/b999-c0001-ipv4",
    f"{RUN}/trials/b999-c0001-ipv4.partial",
    f"{RUN}/arrived",
    f"{RUN}/arrived/1",
    f"{RUN}/apart",
    f"{RUN}/apart/1.partial",
    f"{RUN}/findings.json",
    f"{RUN}/findings.json.partial",
    f"{RUN}/report.html",
    f"{RUN}/report.html.partial",
    f"{RUN}/trials.parquet",
    f"{RUN}/trials.parquet.partial",
    f"{RUN}/traceback.txt",
    f"{RUN}/report.md",
    f"{RUN}/figures",
)
PLACES_OF_MONITOR = (
    f"{MONITOR}/monitor.json",
    f"{MONITOR}/monitor.json.partial",
    f"{MONITOR}/occurrences",
    f"{MONITOR}/occurrences/000001.json",
    f"{MONITOR}/occurrences/000002.json",
    f"{MONITOR}/occurrences/000002.json.partial",
    f"{MONITOR}/runs",
    f"{MONITOR}/runs/000001",
    f"{MONITOR}/runs/000001/trials",
    f"{MONITOR}/runs/000002",
    f"{MONITOR}/trials",
    f"{MONITOR}/trials/000000.parquet",
    f"{MONITOR}/trials/000001.parquet",
    f"{MONITOR}/trials/000002.parquet.partial",
    f"{MONITOR}/index.html",
    f"{MONITOR}/index.html.partial",
)


@dataclass(frozen=True, kw_only=True)
class Trap:
    """An entry that a stranger put into the folder: a kind of `KINDS` at a place."""

    place: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}"


Put = Callable[[Path, Path], None]
"""Gets the place and the outer tree."""


def _relative(place: Path, target: Path) -> str:
    return os.path.relpath(target, place.parent)


def _socket(place: Path, _: Path) -> None:
    """Its path is seen from its folder, because the address of a socket is short."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as bound:
        os.chdir(place.parent)
        try:
            bound.bind(place.name)
        finally:
            os.fchdir(here)
            os.close(here)


KINDS: dict[str, Put] = {
    "absolute link to a file": lambda place, outer: place.symlink_to(outer / "file"),
    "relative link to a file": lambda place, outer: place.symlink_to(_relative(place, outer / "file")),
    "link to what is of its kind": lambda place, outer: place.symlink_to(outer / "same" / place.name),
    "absolute link to a directory": lambda place, outer: place.symlink_to(outer / "folder"),
    "relative link to a directory": lambda place, outer: place.symlink_to(_relative(place, outer / "folder")),
    "dangling link": lambda place, outer: place.symlink_to(outer / "nothing"),
    "relative dangling link": lambda place, outer: place.symlink_to(_relative(place, outer / "folder" / "nothing")),
    "link to a link": lambda place, outer: place.symlink_to(outer / "link"),
    "link to itself": lambda place, outer: place.symlink_to(place.name),
    "link to a FIFO": lambda place, outer: place.symlink_to(outer / "fifo"),
    "link to a device": lambda place, outer: place.symlink_to("/dev/zero"),
    "hard link": lambda place, outer: place.hardlink_to(outer / "file"),
    "FIFO": lambda place, outer: os.mkfifo(place),
    "socket": _socket,
    "directory": lambda place, outer: (place / "inside").mkdir(parents=True),
}


LOG = f"{RUN}.events.jsonl"
"""To this the page appends as root."""


def chosen_traps() -> list[Trap]:
    """A trap at each place, with each kind among them, and all kinds in place of the log of events."""
    kinds = itertools.cycle(KINDS)
    once = [Trap(place=place, kind=next(kinds)) for place in (*PLACES_OF_RUN, *PLACES_OF_MONITOR) if place != LOG]
    return [*once, *(Trap(place=LOG, kind=kind) for kind in KINDS)]


def all_traps() -> list[Trap]:
    """All kinds at all places."""
    return [Trap(place=place, kind=kind) for place in (*PLACES_OF_RUN, *PLACES_OF_MONITOR) for kind in KINDS]


def make_outer(outer: Path, stock: Path) -> None:
    """Makes the tree to which links lead. It has whatever could be taken for a file of a run."""
    (outer / "folder").mkdir(parents=True)
    (outer / "folder" / "inside").write_text("of a folder\n")
    (outer / "file").write_text("not of a run\n")
    (outer / "link").symlink_to("file")
    os.mkfifo(outer / "fifo")
    same = outer / "same"
    same.mkdir()
    shutil.copytree(stock, same / "stock")
    for place in (*PLACES_OF_RUN, *PLACES_OF_MONITOR):
        actual_place = _place(same / "stock", place)
        name = same / actual_place.name
        if name.exists():
            continue
        if actual_place.is_dir():
            shutil.copytree(actual_place, name)
        elif actual_place.exists():
            shutil.copyfile(actual_place, name)
        else:
            name.write_text("")


def set_trap(runs: Path, outer: Path, trap: Trap) -> None:
    """Puts it into a folder of runs, in place of what is there."""
    place = _place(runs, trap.place)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    KINDS[trap.kind](place, outer)


def _place(runs: Path, place: str) -> Path:
    key = min(os.listdir(runs / RUN / "trials")) if KEY in place else ""
    return runs / place.replace(KEY, key)


def state_of(tree: Path) -> dict[str, tuple[object, ...]]:
    """All that is in a tree, each with its content and what the kernel knows of it, but for the times of access."""
    return dict(_state_of(tree))


def _state_of(tree: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    lstat = tree.lstat()
    content: bytes | str | Sequence[str] | None = None
    if stat.S_ISREG(lstat.st_mode):
        content = tree.read_bytes()
    elif stat.S_ISLNK(lstat.st_mode):
        content = os.readlink(tree)
    elif stat.S_ISDIR(lstat.st_mode):
        content = sorted(os.listdir(tree))
    kept = (lstat.st_mode, lstat.st_uid, lstat.st_ino, lstat.st_size, lstat.st_mtime_ns)
    yield str(tree), (content, *kept)
    if stat.S_ISDIR(lstat.st_mode):
        for name in sorted(os.listdir(tree)):
            yield from _state_of(tree / name)

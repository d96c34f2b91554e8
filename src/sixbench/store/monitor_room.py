"""Keeps the directory of a monitor within its bound on the disk.

What goes first is what is largest and needed least: the captures of the oldest runs, then the oldest runs, and last the
oldest files of the data set. The records of the occurrences always stay, and they say what was removed. A part is
recorded as removed before it is. Everything is reached from descriptors. Links are removed and never followed. What the
monitor did not make, what is on another file system, and what is deeper than any run stays where it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..model.errors import StoreError
from ..model.monitoring import Occurrence, Part, Removed
from ..model.quoting import printable
from .data_set import file_of
from .folder import Folder
from .monitor import RUNS, TABLES, MonitorWriter, run_name
from .run_directory import PACKETS, REVERSE_PACKETS, TRIALS

MAX_DEPTH = 8
"""Directories in one another below that of a monitor: runs, a run, its trials, a trial, and those of workers."""

BLOCK_BYTES = 512
"""The unit of `st_blocks` (inode(7))."""

_CAPTURES = (".pcapng", ".pcap", PACKETS, REVERSE_PACKETS)


@dataclass(kw_only=True)
class Room:
    """The outcome for the bound.

    Attributes:
        used_bytes: what the directory takes on the disk now.
        removed: what was removed, by the number of its occurrence.
        kept: why something was not removed, in words.
    """

    used_bytes: int
    removed: list[tuple[int, Removed]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def make_room(
    writer: MonitorWriter, occurrences: tuple[Occurrence, ...], most_bytes: int, now_realtime_ns: int
) -> Room:
    """Removes what is oldest until the directory takes no more than this. Raises `WriteError`.

    Args:
        occurrences: all of them, in order.
    """
    room = Room(used_bytes=used_bytes(writer.folder))
    by_number = {occurrence.number: occurrence for occurrence in occurrences}
    parts: tuple[Part, ...] = ("captures", "run", "table")
    for part in parts:
        for number in list(by_number):
            if room.used_bytes <= most_bytes:
                return room
            by_number[number] = _remove(writer, by_number[number], part, room, now_realtime_ns)
    return room


def used_bytes(folder: Folder) -> int:
    """Room that a directory takes on the disk with all that is in it; not what links name, what has another name
    elsewhere, and what is on other file systems."""
    return _size(folder, folder.identity[0], 0)


def _size(folder: Folder, device: int, depth: int) -> int:
    total = os.fstat(folder.descriptor).st_blocks * BLOCK_BYTES
    for name, status in _entries(folder):
        if not stat.S_ISDIR(status.st_mode):
            total += _size_of_file(status)
        elif status.st_dev == device and depth < MAX_DEPTH:
            inside = folder.folder(name)
            total += _size(inside, device, depth + 1)
            inside.close()
    return total


def _entries(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    for name in folder.names():
        try:
            yield name, os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            continue


def _remove(writer: MonitorWriter, occurrence: Occurrence, part: Part, room: Room, now_realtime_ns: int) -> Occurrence:
    """Removes a part of an occurrence, if it is there."""
    name = file_of(occurrence.number) if part == "table" else run_name(occurrence.number)
    parent = TABLES if part == "table" else RUNS
    try:
        if not writer.folder.has(parent) or not (within := writer.folder.folder(parent)).has(name):
            return occurrence
        freed = _freed(within, name, part)
    except StoreError as error:
        if str(error) not in room.kept:
            room.kept.append(str(error))
        return occurrence
    if freed is None:
        return occurrence
    removed = Removed(part=part, at_realtime_ns=now_realtime_ns, removed_bytes=freed)
    occurrence = writer.note_removed(occurrence, removed)
    if part == "captures":
        _remove_captures(within, name)
    else:
        within.remove(name)
    room.used_bytes -= freed
    room.removed.append((occurrence.number, removed))
    return occurrence


def _freed(within: Folder, name: str, part: Part) -> int | None:
    """Room that removing a part frees; None where there is nothing of it. Raises `StoreError` where something of it is
    not what a run has."""
    status = os.stat(name, dir_fd=within.descriptor, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        return None if part == "captures" else _size_of_file(status)
    if part == "table":
        raise StoreError(f"{printable(str(within.path / name))} is a directory, and no file of a data set; remove it")
    run = within.folder(name)
    _check(run, within.identity[0], 2)
    if part == "run":
        return _size(run, within.identity[0], 2)
    sizes = [_size_of_file(of_file) for _, _, of_file in _captures(run)]
    return sum(sizes) if sizes else None


def _remove_captures(within: Folder, name: str) -> None:
    for trial, file, _ in _captures(within.folder(name)):
        trial.remove(file)


def _captures(run: Folder) -> Iterator[tuple[Folder, str, os.stat_result]]:
    """Each capture in a run, with the directory of its trial, which is open until the next."""
    trials = run.folder(TRIALS) if run.has(TRIALS) else None
    for key, of_key in [] if trials is None else _entries(trials):
        if trials is not None and stat.S_ISDIR(of_key.st_mode):
            trial = trials.folder(key)
            for file, of_file in _entries(trial):
                if file.endswith(_CAPTURES) and not stat.S_ISDIR(of_file.st_mode):
                    yield trial, file, of_file
            trial.close()


def _size_of_file(status: os.stat_result) -> int:
    """Room that removing a file frees: nothing, where it has another name as well."""
    return status.st_blocks * BLOCK_BYTES if status.st_nlink == 1 else 0


def _check(folder: Folder, device: int, depth: int) -> None:
    """Raises `StoreError` where a directory holds others that no run has."""
    place = printable(str(folder.path))
    if folder.identity[0] != device:
        raise StoreError(f"{place} is another file system, which is not removed; unmount it")
    if depth > MAX_DEPTH:
        raise StoreError(f"{place} is deeper than anything of a run, and is not removed; remove it by hand")
    for name, status in _entries(folder):
        if stat.S_ISDIR(status.st_mode):
            inside = folder.folder(name)
            _check(inside, device, depth + 1)
            inside.close()

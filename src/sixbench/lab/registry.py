"""The labs that are up, as files, so that `lab exec`, `capture`, `down` and `clean` find what `lab up` made.

A file names processes by number *and* start time, so that a number that was given to another program since is never
touched.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ..model.errors import UsageError, WriteError
from .locks import Lock, lock


@dataclass(frozen=True, kw_only=True)
class ProcessId:
    """A process that cannot be confused with another: its number and when it started (field 22 of /proc/PID/stat, in
    ticks since boot)."""

    pid: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        """True if that very process still runs."""
        return start_ticks(self.pid) == self.start_ticks


@dataclass(frozen=True, kw_only=True)
class LabRecord:
    """A lab that is up: the process that holds it, and its nodes' processes."""

    name: str
    holder: ProcessId
    nodes: dict[str, ProcessId]
    links: dict[str, list[list[str]]]
    """Link name to its two ends, each node and interface."""
    user_namespace: bool


_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""The errors of reading a file that is not one of a lab."""


_ETC_SUFFIX, _CLAIM_SUFFIX = ".etc", ".claim"


def start_ticks(pid: int) -> int | None:
    """Start time of a process; None where there is none (or only its exit code is left)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def process(pid: int) -> ProcessId:
    """Identifies a running process. Raises `ProcessLookupError`."""
    started = start_ticks(pid)
    if started is None:
        raise ProcessLookupError(pid)
    return ProcessId(pid=pid, start_ticks=started)


def directory() -> Path:
    """Directory of the files: for root /run/sixbench, else in the user's runtime directory."""
    if _outer_uid() == "0":
        return Path("/run/sixbench")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "sixbench" if runtime else Path(f"/tmp/sixbench-{_outer_uid()}")


def _outer_uid() -> str:
    """The user outside of the user namespace that sixbench makes for itself."""
    return os.environ.get("SIXBENCH_OUTER_UID") or str(os.getuid())


def claim(name: str) -> Lock:
    """Takes the name of a lab until the lock is closed, so that of two that come up at once only one has it.

    Raises `UsageError` where another process of this user has it, and `WriteError` where there can be no lock.
    """
    path = own_directory() / f"{name}{_CLAIM_SUFFIX}"
    try:
        taken = lock(path)
    except OSError as error:
        raise WriteError(f"locking {path}: {error.strerror}") from error
    if taken is None:
        raise UsageError(f'a lab "{name}" is up already; take it down with: sixbench lab down --lab {name}')
    return taken


def own_directory() -> Path:
    """The directory, which is made where it is not there. Raises `WriteError` where others may write in it."""
    place = directory()
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise WriteError(f"making {place}: {error.strerror}") from error
    if not _is_ours(place):
        raise WriteError(
            f"writing in {place}: it is not a directory that only this user may write in; remove it, or set "
            "XDG_RUNTIME_DIR to one that is"
        )
    return place


def save(record: LabRecord, etc: Mapping[str, str] | None = None) -> Path:
    """Writes the file of a lab. Raises `WriteError`.

    Args:
        etc: the texts of files that commands in its nodes see in place of the machine's, by name (`etc_of`).
    """
    own_directory()
    path = _path(record.name)
    try:
        if etc:
            _etc(record.name).mkdir(mode=0o755, exist_ok=True)
        for name, text in (etc or {}).items():
            file = _etc(record.name) / name
            file.write_text(text, encoding="utf-8")
            file.chmod(0o644)  # commands in a node may run as anybody
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(record)), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise WriteError(f"writing {path}: {error.strerror}") from error
    return path


def remove(name: str) -> None:
    """Removes the files of a lab, if there are any."""
    _path(name).unlink(missing_ok=True)
    shutil.rmtree(_etc(name), ignore_errors=True)


def etc_of(name: str, node: str) -> dict[str, str]:
    """The files that a command in a node of a lab sees, by the machine's files in whose place they are.

    `resolv.conf` is the node's own one, `resolv.conf@NODE`, and so is `hosts` where there is one; the others are the
    same in every node.
    """
    files = {file: _etc(name) / file for file in ("hosts", "nsswitch.conf")}
    paths = {file: _etc(name) / own_file(file, node) for file in ("hosts", "resolv.conf")}
    files |= {file: path for file, path in paths.items() if path.exists()}
    return {f"/etc/{file}": str(path) for file, path in files.items() if path.exists()}


def own_file(file: str, node: str) -> str:
    """The name under which a file of one node is saved."""
    return f"{file}@{node}"


def _etc(name: str) -> Path:
    return directory() / f"{name}{_ETC_SUFFIX}"


def all_labs() -> list[LabRecord]:
    """Every lab that has a file, up or not; damaged files are left out."""
    labs = []
    for path in _files("*.json"):
        try:
            labs.append(_read(path))
        except _DAMAGED:
            continue
    return labs


def find(name: str | None) -> LabRecord:
    """The lab of that name, or the only one. Raises `UsageError`."""
    labs = [lab for lab in all_labs() if lab.holder.alive]
    if name is not None:
        labs = [lab for lab in labs if lab.name == name]
        if not labs:
            raise UsageError(f'no lab "{name}" is up; see: sixbench lab list')
    if not labs:
        raise UsageError("no lab is up; start one with: sixbench lab up TOPOLOGY")
    if len(labs) > 1:
        raise UsageError(f"several labs are up ({', '.join(lab.name for lab in labs)}); choose with --lab NAME")
    return labs[0]


def clean() -> list[str]:
    """Removes what a crash left: files of labs whose holder is gone, and half-written ones. Returns their names."""
    removed = []
    for path in _files("*.json") + _files("*.partial"):
        try:
            stale = path.suffix == ".partial" or not _read(path).holder.alive
        except _DAMAGED:
            stale = True
        if stale:
            path.unlink(missing_ok=True)
            removed.append(str(path))
    for path in _files(f"*{_CLAIM_SUFFIX}"):
        left = lock(path)
        if left is not None:
            left.close()
            removed.append(str(path))
    for path in _files(f"*{_ETC_SUFFIX}"):
        if not path.with_suffix(".json").exists():
            shutil.rmtree(path, ignore_errors=True)
            removed.append(str(path))
    return removed


def _path(name: str) -> Path:
    return directory() / f"{name}.json"


def _files(pattern: str) -> list[Path]:
    """The files of labs. There are none where the directory is someone else's, who could name processes that are not
    labs."""
    place = directory()
    return sorted(place.glob(pattern)) if _is_ours(place) else []


def _is_ours(place: Path) -> bool:
    """True if it is a directory of this user in which nobody else may write. A link is not one, wherever it leads."""
    try:
        status = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022


def _read(path: Path) -> LabRecord:
    data = json.loads(path.read_text(encoding="utf-8"))
    return LabRecord(
        name=data["name"],
        holder=_process_id(data["holder"]),
        nodes={name: _process_id(node) for name, node in data["nodes"].items()},
        links=data["links"],
        user_namespace=data["user_namespace"],
    )


def _process_id(data: dict[str, int]) -> ProcessId:
    return ProcessId(pid=int(data["pid"]), start_ticks=int(data["start_ticks"]))

"""The labs that are up, as files: so that `lab exec`, `capture`, `down` and `clean` find what `lab up` made.

A file names processes by number *and* start time, so that a number that was given to another program since is never
touched.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from ..model.errors import UsageError, WriteError


@dataclass(frozen=True, kw_only=True)
class ProcessId:
    """A process, for good: its number and when it started (field 22 of /proc/PID/stat, in ticks since boot)."""

    pid: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
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
"""What reading a file raises that is not a lab's."""


def start_ticks(pid: int) -> int | None:
    """When a process started; None where there is none (or only its exit code is left)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def process(pid: int) -> ProcessId:
    """Names a running process. Raises `ProcessLookupError`."""
    started = start_ticks(pid)
    if started is None:
        raise ProcessLookupError(pid)
    return ProcessId(pid=pid, start_ticks=started)


def directory() -> Path:
    """Where the files are: for root /run/sixbench, else in the user's runtime directory."""
    outer_uid = os.environ.get("SIXBENCH_OUTER_UID") or str(os.getuid())
    if outer_uid == "0":
        return Path("/run/sixbench")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "sixbench" if runtime else Path(f"/tmp/sixbench-{outer_uid}")


def save(record: LabRecord) -> Path:
    """Writes the file of a lab. Raises `WriteError`."""
    path = _path(record.name)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(path.parent):
            raise WriteError(f"writing {path}: {path.parent} belongs to someone else; remove it")
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(record)), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise WriteError(f"writing {path}: {error.strerror}") from error
    return path


def remove(name: str) -> None:
    """Removes the file of a lab, if there is one."""
    _path(name).unlink(missing_ok=True)


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
    return removed


def _path(name: str) -> Path:
    return directory() / f"{name}.json"


def _files(pattern: str) -> list[Path]:
    """Files of ours; none where the directory is someone else's, who could name processes that are not labs."""
    place = directory()
    return sorted(place.glob(pattern)) if _is_ours(place) else []


def _is_ours(place: Path) -> bool:
    try:
        return place.stat().st_uid in (os.getuid(), 0)
    except OSError:
        return False


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

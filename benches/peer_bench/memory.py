"""The most memory that processes had: VmHWM of proc_pid_status(5)."""

from __future__ import annotations

import contextlib
from pathlib import Path

_RESET_PEAK = "5"
"""Value that `clear_refs` takes to begin the high water mark anew (Linux 4.0, proc_pid_clear_refs(5))."""


def children(pid: int) -> list[int]:
    """All descendants of a process, as far as they still run."""
    collected: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                collected += [child, *children(child)]
    return collected


def high_water_bytes(pid: int) -> int | None:
    """The most memory that was resident; None where the process is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


def restart_high_water(pid: int) -> None:
    """Lets the mark begin anew at what is resident now."""
    Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)


class Most:
    """The highest mark of any of some processes, looked at while they run: the mark of a process goes with it."""

    def __init__(self) -> None:
        self.bytes: int | None = None

    def look(self, pids: list[int]) -> None:
        """Looks once."""
        marks = [mark for pid in pids if (mark := high_water_bytes(pid)) is not None]
        if marks:
            self.bytes = max(self.bytes or 0, *marks)

"""Resources of programs under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..form import MAX_ITEMS, Kept, Name, Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramUse(Kept):
    """Resources that a program of others used in a trial (`bench.proof.programs`): one under test, one that was an end
    of the trial, or the emulator of a machine under test.

    Attributes:
        cpu_ns: the CPU time of all its processes.
        peak_memory_bytes: the most that each of them had resident, added up.
        processes: how many there were at the end.
        listening: where sockets in its namespace waited for others, such as `tcp 0.0.0.0:53`.
        emulator: the emulator whose processes these are. What the machine in it used, nobody knows. None: they are the
            program's own.
        ran_ns: the time that an end of the trial ran; None: it is no end.
        exit: the exit code of a client that ended by itself; None: it did not.
    """

    cpu_ns: Natural
    peak_memory_bytes: Natural
    processes: Natural
    listening: Annotated[tuple[Name, ...], Field(max_length=MAX_ITEMS)] = ()
    emulator: Name | None = None
    ran_ns: Natural | None = None
    exit: int | None = None

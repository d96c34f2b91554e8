"""Clocks of machines that are set wrong and drift (`wrong_clock.c`)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("wrong_clock.c")


@dataclass(frozen=True, kw_only=True)
class WrongClock:
    """A machine's clocks. The kernel has namespaces for those that count from its start, and none for the time of day.

    Attributes:
        ahead_ns: how far the realtime clock is ahead at a moment.
        fast_ppm: by how many millionths it is too fast.
        since_ns: that moment, in nanoseconds since 1970 of the true clock.
        up_s: how much longer the machine seems to be up, which is what its monotonic clock is ahead.
    """

    ahead_ns: int
    fast_ppm: int
    since_ns: int
    up_s: int

    def environment(self, scratch: Path) -> str:
        """Environment of a program, so that the clock is its clock."""
        library = scratch / f"{SOURCE.stem}.so"
        flags = ("-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror")
        subprocess.run(["cc", *flags, "-o", library, SOURCE, "-ldl"], check=True)
        return f"LD_PRELOAD={library} SIXBENCH_WRONG_CLOCK={self.ahead_ns},{self.fast_ppm},{self.since_ns}"

    def error_ns(self, realtime_ns: int) -> int:
        """Time by which it is ahead at a moment of the true clock."""
        return self.ahead_ns + (realtime_ns - self.since_ns) * self.fast_ppm // 10**6

"""Resources of programs under test over the trials of a path."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from ..model.evidence.devices import ProgramUse


@dataclass(frozen=True, kw_only=True)
class ProgramSum:
    """A program over the trials of one workload.

    Attributes:
        traffic: the workload, or the test by an RFC.
        cpu_ns: the CPU time of each trial.
        cores: that time by the trial's own: how many processors it kept busy.
        peak_memory_bytes: the most that its processes had resident in a trial.
        processes: the most that there were.
        listening: where it waited for others.
        emulator: what emulated the machine, of which nothing but that is known; None: it is no machine.
    """

    node: str
    traffic: str
    cpu_ns: tuple[int, ...] = ()
    cores: tuple[float, ...] = ()
    peak_memory_bytes: int = 0
    processes: int = 0
    listening: dict[str, None] = field(default_factory=dict)
    emulator: str | None = None

    @property
    def median_cpu_ns(self) -> float:
        """The CPU time of a trial."""
        return statistics.median(self.cpu_ns)

    @property
    def most_cores(self) -> float | None:
        """The most processors that it kept busy. None: no trial says how long it was."""
        return max(self.cores, default=None)

    def with_trial(self, used: ProgramUse, elapsed_ns: int) -> ProgramSum:
        """The same sum with one more trial, in which the program used this."""
        return ProgramSum(
            node=self.node,
            traffic=self.traffic,
            cpu_ns=(*self.cpu_ns, used.cpu_ns),
            cores=(*self.cores, *([used.cpu_ns / elapsed_ns] if elapsed_ns else [])),
            peak_memory_bytes=max(self.peak_memory_bytes, used.peak_memory_bytes),
            processes=max(self.processes, used.processes),
            listening=self.listening | dict.fromkeys(used.listening),
            emulator=used.emulator or self.emulator,
        )

"""Resources of programs under test over the trials of a path."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from ...model.evidence.programs import ProgramUse
from ...model.json_object import JsonObject
from ...model.procedure import TEST_LEVEL
from ...model.trial import TrialRecord
from .. import words
from ..tables import ColumnOf, Table, number_column, table_of, words_column
from .evidence_sum import EvidenceSection, EvidenceSum, PathSums


@dataclass(frozen=True, kw_only=True)
class ProgramTotal:
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
    def node_text(self) -> str:
        """The node, and what emulated it."""
        return self.node if self.emulator is None else f"{self.node}, of its emulator ({self.emulator})"

    @property
    def median_cpu_ns(self) -> float:
        """The CPU time of a trial."""
        return statistics.median(self.cpu_ns)

    @property
    def most_cores(self) -> float | None:
        """The most processors that it kept busy. None: no trial says how long it was."""
        return max(self.cores, default=None)

    def with_trial(self, used: ProgramUse, elapsed_ns: int) -> ProgramTotal:
        """The same sum with one more trial, in which the program used this."""
        return ProgramTotal(
            node=self.node,
            traffic=self.traffic,
            cpu_ns=(*self.cpu_ns, used.cpu_ns),
            cores=(*self.cores, *([used.cpu_ns / elapsed_ns] if elapsed_ns else [])),
            peak_memory_bytes=max(self.peak_memory_bytes, used.peak_memory_bytes),
            processes=max(self.processes, used.processes),
            listening=self.listening | dict.fromkeys(used.listening),
            emulator=used.emulator or self.emulator,
        )


class ProgramSum(EvidenceSum):
    """The programs under test in each workload, added up one trial at a time."""

    def __init__(self) -> None:
        """No program was seen so far."""
        self._programs: dict[tuple[str, str], ProgramTotal] = {}

    def add(self, trial: TrialRecord) -> None:
        traffic = str(trial.levels.get(TEST_LEVEL, trial.workload))
        for node, used in (trial.evidence.programs or {}).items():
            running = self._programs.get((node, traffic)) or ProgramTotal(node=node, traffic=traffic)
            self._programs[node, traffic] = running.with_trial(used, trial.elapsed_ns)

    @property
    def programs(self) -> list[ProgramTotal]:
        """The programs in the order of the records."""
        return list(self._programs.values())

    def to_json(self) -> JsonObject:
        return {"programs": [asdict(program) for program in self.programs]}


_COLUMNS: tuple[ColumnOf[tuple[PathSums, ProgramTotal]], ...] = (
    words_column("path", lambda item: item[0].path),
    words_column("node", lambda item: item[1].node_text),
    words_column("in", lambda item: item[1].traffic),
    number_column("trials", lambda item: str(len(item[1].cpu_ns))),
    number_column("CPU time", lambda item: words.quantity(item[1].median_cpu_ns, "ns")),
    number_column("cores", lambda item: words.MISSING if item[1].most_cores is None else f"{item[1].most_cores:.2f}"),
    number_column("memory", lambda item: words.quantity(item[1].peak_memory_bytes, "B")),
    number_column("processes", lambda item: str(item[1].processes)),
    words_column("listens at", lambda item: ", ".join(item[1].listening)),
)


def programs_under_test_table(paths: Sequence[PathSums]) -> Table | None:
    """A row for each program under test and workload; None where there is none."""
    items = [(sums, program) for sums in paths for program in sums.of(ProgramSum).programs]
    return table_of("Resources of programs under test", _COLUMNS, items)


ProgramSum.section = EvidenceSection(
    name="programs-under-test",
    table=lambda data: programs_under_test_table(data.paths),
    entries="programs under test",
    about="CPU time is that of all processes of a program in a trial (the median over trials). Cores is the "
    "highest number of cores that it kept busy, averaged over a trial with its set-up. Memory is the largest "
    "resident size of its processes. The kernel's work on its packets is not included.",
)

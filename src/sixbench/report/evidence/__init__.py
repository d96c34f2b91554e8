"""Evidence over the trials of each path: a kind of evidence is a file here, and a line in `SUMS`. Emulation is a file
alone: it is summed by link.

Evidence is what the run layer stored with each trial (`model.evidence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model.evidence import NO_EVIDENCE
from ...model.trial import TrialRecord
from ...store import Run
from ..once import once_a_run
from .evidence_sum import EvidenceSection, EvidenceSum, PathSums
from .fragments import FragmentSum
from .losses import LossSum
from .packets import LinkEvidence, OnLinks, PacketSum, Stack
from .programs import ProgramSum
from .sessions import SessionSum
from .translators import TranslatorSum
from .tunnels import TunnelSum

__all__ = [
    "EVIDENCE_SECTIONS",
    "SUMS",
    "EvidenceSection",
    "EvidenceSum",
    "LinkEvidence",
    "OnLinks",
    "PacketSum",
    "PathSums",
    "Stack",
    "by_path",
    "placements",
]

SUMS: tuple[type[EvidenceSum], ...] = (
    PacketSum,
    TunnelSum,
    TranslatorSum,
    SessionSum,
    ProgramSum,
    FragmentSum,
    LossSum,
)
"""All kinds of evidence that are added up, in the order in which reports tell of them."""

EVIDENCE_SECTIONS = tuple(kind.section for kind in SUMS if kind.section is not None)
"""The sections on them."""


def by_path(run: Run) -> list[PathSums]:
    """One for each path of the experiment, over its trials that are `ok` (over all of them where none is)."""
    return _summed(run)[0]


def placements(run: Run) -> list[tuple[str, Mapping[str, Sequence[int]]]]:
    """The workload and the processors by node of each trial that is `ok` and tells them; those that are alike once."""
    return _summed(run)[1]


@once_a_run
def _summed(run: Run) -> tuple[list[PathSums], list[tuple[str, Mapping[str, Sequence[int]]]]]:
    """`by_path` and `placements`. Evidence is read from the disk again for them, so that is done once for both."""
    placed: dict[tuple[str, str], tuple[str, Mapping[str, Sequence[int]]]] = {}
    with_valid = {trial.path for trial in run.trials if trial.status == "ok"}
    paths = {path.name: _Adding() for path in run.manifest.experiment.paths}
    for trial in run.trials:
        adding = paths.get(trial.path)
        if adding is not None and (trial.status == "ok" or trial.path not in with_valid):
            adding.add(trial)
        processors = trial.evidence.processors if trial.status == "ok" else None
        if processors:
            placed.setdefault((trial.workload, repr(processors)), (trial.workload, processors))
    sums = [
        PathSums(
            path=path.name,
            mechanism=path.mechanism,
            engines=list(paths[path.name].engines),
            trials=paths[path.name].trials,
            are_valid=path.name in with_valid,
            sums=paths[path.name].sums,
        )
        for path in run.manifest.experiment.paths
    ]
    return sums, [*placed.values()]


class _Adding:
    """The sums of a path, to which trials are added."""

    def __init__(self) -> None:
        self.engines: dict[str, None] = {}
        self.trials = 0
        self.sums = [kind() for kind in SUMS]

    def add(self, trial: TrialRecord) -> None:
        if trial.engine:
            self.engines.setdefault(trial.engine)
        if trial.evidence == NO_EVIDENCE:
            return
        self.trials += 1
        for item in self.sums:
            item.add(trial)

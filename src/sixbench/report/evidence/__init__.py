"""Evidence over the trials of each path: a kind of evidence is a file here, and a line in `SUMS`; one that is no sum of
a path is a line in `EVIDENCE_SECTIONS`.

Evidence is what the run layer stored with each trial (`model.evidence`).
"""

from __future__ import annotations

from ...model.evidence import NO_EVIDENCE
from ...model.trial import TrialRecord
from ...store import Run
from ..once import once_a_run
from . import emulation
from .evidence_sum import BriefTable, EvidenceData, EvidenceSection, EvidenceSum, PathSums
from .fragments import FragmentSum
from .losses import LossSum
from .moves import MoveSum
from .packets import LinkEvidence, OnLinks, PacketSum, Stack
from .processors import ProcessorSum
from .programs import ProgramSum
from .sessions import SessionSum
from .transactions import TransactionSum
from .translators import TranslatorSum
from .tunnels import TunnelSum

__all__ = [
    "EVIDENCE_SECTIONS",
    "SUMS",
    "BriefTable",
    "EvidenceData",
    "EvidenceSection",
    "EvidenceSum",
    "LinkEvidence",
    "OnLinks",
    "PacketSum",
    "PathSums",
    "Stack",
    "by_path",
]

SUMS: tuple[type[EvidenceSum], ...] = (
    PacketSum,
    TunnelSum,
    TranslatorSum,
    SessionSum,
    TransactionSum,
    ProgramSum,
    FragmentSum,
    LossSum,
    MoveSum,
    ProcessorSum,
)
"""All kinds of evidence that are added up, in the order in which reports tell of them."""

EVIDENCE_SECTIONS: tuple[EvidenceSection, ...] = (
    *(kind.section for kind in SUMS if kind.section is not None),
    emulation.SECTION,
)
"""The sections on evidence, in their order."""


@once_a_run
def by_path(run: Run) -> list[PathSums]:
    """One for each path of the experiment, over its trials that are `ok` (over all of them where none is)."""
    with_valid = {trial.path for trial in run.trials if trial.status == "ok"}
    paths = {path.name: _Adding() for path in run.manifest.experiment.paths}
    for trial in run.trials:
        adding = paths.get(trial.path)
        if adding is not None and (trial.status == "ok" or trial.path not in with_valid):
            adding.add(trial)
    return [
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

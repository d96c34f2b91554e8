"""Processors on which the nodes of a path were, over its valid trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.trial import TrialRecord
from .evidence_sum import EvidenceSum


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The processors of each node in a trial.

    Attributes:
        sequence: of the first trial that was placed so.
    """

    sequence: int
    workload: str
    processors: Mapping[str, Sequence[int]]


class ProcessorSum(EvidenceSum):
    """The placements of valid trials that tell them; those that are alike once for each workload."""

    def __init__(self) -> None:
        """No trial was placed so far."""
        self._placements: dict[tuple[str, str], Placement] = {}

    def add(self, trial: TrialRecord) -> None:
        processors = trial.evidence.processors if trial.status == "ok" else None
        if processors:
            placement = Placement(sequence=trial.sequence, workload=trial.workload, processors=processors)
            self._placements.setdefault((trial.workload, repr(processors)), placement)

    @property
    def placements(self) -> list[Placement]:
        """The placements in the order of the trials."""
        return [*self._placements.values()]

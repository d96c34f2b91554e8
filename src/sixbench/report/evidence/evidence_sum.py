"""The type of a sum: one kind of evidence, added up over the trials of a path, and its table in a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from ..tables import Table

AnySum = TypeVar("AnySum", bound="EvidenceSum")


@dataclass(frozen=True, kw_only=True)
class EvidenceSection:
    """The section of a report on one kind of evidence.

    Attributes:
        name: a place in the page.
        table: a row for each thing that was counted; None: there is none.
        entries: what the rows are, for lists that have too many.
        about: a sentence or two for those who read the page.
        remark: what stands below the table; empty: nothing.
    """

    name: str
    table: Callable[[Sequence[PathSums]], Table | None]
    entries: str
    about: str
    remark: Callable[[Sequence[PathSums]], str] = lambda _: ""


class EvidenceSum:
    """One kind of evidence, added up one trial at a time: they are too many to be in memory at once.

    Attributes:
        section: None: the report tells of it in another way, or not at all.
    """

    section: ClassVar[EvidenceSection | None] = None

    def add(self, trial: TrialRecord) -> None:
        """Adds a trial that carries evidence."""
        raise NotImplementedError

    def to_json(self) -> JsonObject:
        """Its keys in the report for programs (`report.json`)."""
        return {}


@dataclass(frozen=True, kw_only=True)
class PathSums:
    """The evidence of the trials of one path.

    Attributes:
        engines: those that records name.
        trials: how many carry evidence.
        are_valid: whether these are the valid trials; else no trial is, and they are all there are.
        sums: each kind of evidence.
    """

    path: str
    mechanism: str
    engines: list[str]
    trials: int
    are_valid: bool
    sums: Sequence[EvidenceSum]

    def of(self, form: type[AnySum]) -> AnySum:
        """The sum of that kind."""
        return next(item for item in self.sums if isinstance(item, form))

    def to_json(self) -> JsonObject:
        """Its form in the report for programs."""
        data: JsonObject = {"path": self.path, "trials": self.trials, "are_valid": self.are_valid}
        for item in self.sums:
            data |= item.to_json()
        return data

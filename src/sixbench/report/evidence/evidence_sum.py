"""The type of a sum: one kind of evidence, added up over the trials of a path, and its table in a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ...model.finding import Analysis
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from ...store import Run
from ..tables import Table

AnySum = TypeVar("AnySum", bound="EvidenceSum")


@dataclass(frozen=True, kw_only=True)
class EvidenceData:
    """Sources of the sections on evidence.

    Attributes:
        paths: the evidence of each path.
        headers: of the packets of each path, in words.
    """

    run: Run
    analysis: Analysis
    paths: Sequence[PathSums]
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class BriefTable:
    """A table for narrow pages.

    Attributes:
        about: what it counts, and over which trials.
        remarks: on some of its lines.
        note: on what does not mean anything; empty: nothing.
        folded: the column whose cells may take two lines; empty: none.
    """

    table: Table
    about: str
    remarks: Sequence[str] = ()
    note: str = ""
    folded: str = ""


@dataclass(frozen=True, kw_only=True)
class EvidenceSection:
    """The section of a report on one kind of evidence.

    Attributes:
        name: a place in the page.
        table: a row for each thing that was counted; None: there is none.
        brief: the same for narrow pages; None: the table is narrow enough.
        entries: what the rows are, for lists that have too many.
        trials: those of which the table tells.
        about: a sentence or two for those who read the page.
        remark: what stands below the table; empty: nothing.
    """

    name: str
    table: Callable[[EvidenceData], Table | None]
    brief: Callable[[EvidenceData], BriefTable | Table | None] | None = None
    entries: str
    trials: str = "all valid trials"
    about: str
    remark: Callable[[EvidenceData], str] = lambda _: ""


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

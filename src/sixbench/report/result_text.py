"""The type of a text in place of the metrics of a workload whose results a list of metrics does not show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..model.trial import TrialRecord


@dataclass(frozen=True, kw_only=True)
class ResultText:
    """The text of a workload's results.

    Attributes:
        workload: its name.
        table: the results of trials that have not failed, one of each path.
        notes_in_table: the notes of a trial that its table has, too.
    """

    workload: str
    table: Callable[[Sequence[TrialRecord]], str]
    notes_in_table: Callable[[TrialRecord], Sequence[str]]
